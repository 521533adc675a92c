/**
 * Random messages that break one rule and no other.
 *
 * @since 0.1.0
 */
import * as Prompt from "effect/ai/Prompt"
import * as Arbitrary from "effect/Arbitrary"
import type { Policy } from "../rules/Policy.ts"
import type { Kind, Message } from "../rules/Violation.ts"
import { below, between } from "./Choice.ts"

/**
 * Messages that break one rule, and the fields of the policy that the rule needs: pass both to `ConversationRules.check`.
 *
 * @category models
 * @since 0.1.0
 */
export interface Violating {
  readonly messages: ReadonlyArray<Message>
  readonly policy: Partial<Policy>
}

/** Where to break something, and how much of it there is. */
interface Dice {
  readonly at: number
  readonly calls: number
  readonly chosen: number
}

type Break = (messages: ReadonlyArray<Prompt.Message>, dice: Dice) => Violating

const name = "look"
const textOf = (text: string) => Prompt.textPart({ text })
const say = (text: string): Prompt.Message => Prompt.assistantMessage({ content: [textOf(text)] })
const callOf = (id: string, of = name) => Prompt.toolCallPart({ id, name: of, params: {}, providerExecuted: false })
const resultOf = (id: string, of = name) =>
  Prompt.toolResultPart({ id, name: of, isFailure: false, result: null, providerExecuted: false })
const asks = (...content: ReadonlyArray<Prompt.AssistantMessagePart>): Prompt.Message =>
  Prompt.assistantMessage({ content })
const answers = (...content: ReadonlyArray<Prompt.ToolMessagePart>): Prompt.Message => Prompt.toolMessage({ content })
const user: Prompt.Message = Prompt.userMessage({ content: [textOf("And?")] })

/** Ids of calls that no conversation has yet. */
const idsOf = (count: number): ReadonlyArray<string> =>
  Array.from({ length: count }, (_, index) => `broken-${index + 1}`)

/** Puts messages somewhere behind the first user, never between calls and their results. */
const insert = (
  messages: ReadonlyArray<Prompt.Message>,
  at: number,
  ...inserted: ReadonlyArray<Message>
): ReadonlyArray<Message> => {
  const first = messages.findIndex(({ role }) => role === "user")
  const places = [...messages.keys(), messages.length].filter((place) =>
    place > first && messages[place]?.role !== "tool"
  )
  const place = places[at % places.length] ?? messages.length
  return [...messages.slice(0, place), ...inserted, ...messages.slice(place)]
}

/** Puts messages in front of the first that isn't a system message. */
const begin = (
  messages: ReadonlyArray<Prompt.Message>,
  ...inserted: ReadonlyArray<Message>
): ReadonlyArray<Message> => {
  const first = messages.findIndex(({ role }) => role !== "system")
  const place = first < 0 ? messages.length : first
  return [...messages.slice(0, place), ...inserted, ...messages.slice(place)]
}

const withoutUsers = (messages: ReadonlyArray<Prompt.Message>): ReadonlyArray<Prompt.Message> =>
  messages.filter(({ role }) => role !== "user")

/** Drops each message that has the role of the message before it, with the results of its calls. */
const alternating = (messages: ReadonlyArray<Prompt.Message>): ReadonlyArray<Prompt.Message> => {
  const kept: Array<Prompt.Message> = []
  let isDropped = false
  for (const message of messages) {
    if (message.role !== "tool") isDropped = message.role === kept[kept.length - 1]?.role
    if (!isDropped) kept.push(message)
  }
  return kept
}

/** Makes a message with calls and one with their results by `change`, which gets the ids of the calls and one of them. */
const group = (
  { calls, chosen }: Dice,
  change: (ids: ReadonlyArray<string>, id: string) => ReadonlyArray<Message>
): ReadonlyArray<Message> => {
  const ids = idsOf(calls)
  return change(ids, ids[chosen % ids.length]!)
}

const grouped =
  (change: (ids: ReadonlyArray<string>, id: string) => ReadonlyArray<Message>, policy: Partial<Policy> = {}): Break =>
  (messages, dice) => ({ messages: insert(messages, dice.at, ...group(dice, change)), policy })

const called = (ids: ReadonlyArray<string>): Prompt.Message => asks(...ids.map((id) => callOf(id)))
const answered = (ids: ReadonlyArray<string>): Prompt.Message => answers(...ids.map((id) => resultOf(id)))

const breaks: { readonly [K in Kind]: Break } = {
  AssistantBeforeUser: (messages) => ({ messages: begin(messages, say("Hello.")), policy: {} }),
  RepeatedRole: (messages, { at }) => {
    const once = alternating(messages)
    const users = [...once.keys()].filter((index) => once[index]?.role === "user")
    const place = users[at % users.length] ?? 0
    return { messages: [...once.slice(0, place), user, ...once.slice(place)], policy: { allowRepeatedRoles: false } }
  },
  MissingToolResponses: grouped((ids, id) => [called(ids), answered(ids.filter((other) => other !== id))]),
  UnknownToolResponse: grouped((ids) => [called(ids), answered([...ids, "unknown"])]),
  DuplicateToolResponse: grouped((ids, id) => [called(ids), answered([...ids, id])]),
  ToolResponsesOutOfOrder: grouped((ids) => [called([...ids, "last"]), answered(["last", ...ids])]),
  SystemNotFirst: (messages, { at }) => ({
    messages: insert(messages, at, Prompt.systemMessage({ content: "Be brief." })),
    policy: {}
  }),
  UnsupportedMessageType: (messages, { at, chosen }) => ({
    messages: insert(messages, at, { role: chosen === 0 ? "developer" : "function", content: "Be brief." }),
    policy: {}
  }),
  EmptyMessage: (messages, { at, chosen }) => ({
    messages: insert(
      messages,
      at,
      chosen === 0 ? asks() : Prompt.userMessage({ content: chosen === 1 ? [] : [textOf(" ")] })
    ),
    policy: {}
  }),
  DuplicateToolCallIds: (messages, dice) =>
    grouped((ids, id) =>
      dice.chosen === 0
        ? [called([...ids, id]), answered([...ids, id])]
        : [called(ids), answered(ids), called([id]), answered([id])]
    )(messages, dice),
  EmptyToolCallId: grouped((ids) => [called([...ids, ""]), answered(ids)]),
  EmptyToolResponseId: grouped((ids) => [called(ids), answered([...ids, ""])]),
  ToolBeforeAssistant: (messages) => ({ messages: begin(messages, answered(["lost"])), policy: {} }),
  ToolResponsesNotContiguous: grouped((ids) => [called(ids), user, answered(ids)], {
    enforceContiguousToolResponses: true
  }),
  NoUserMessage: (messages) => ({
    messages: withoutUsers(messages),
    policy: { requireUserPresent: true, requireUserFirst: false, isHandoff: () => false }
  }),
  ReasoningSeparated: grouped((ids) => [
    asks(Prompt.reasoningPart({ text: "Hm.", options: { provider: { signature: "signed" } } })),
    called(ids),
    answered(ids)
  ]),
  UnknownApproval: (messages, dice) =>
    grouped((ids) =>
      dice.chosen === 0
        ? [
          asks(
            ...ids.map((id) => callOf(id)),
            Prompt.toolApprovalRequestPart({ approvalId: "lost", toolCallId: "unknown" })
          ),
          answered(ids)
        ]
        : [
          called(ids),
          answers(
            Prompt.toolApprovalResponsePart({ approvalId: "lost", approved: true }),
            ...ids.map((id) => resultOf(id))
          )
        ]
    )(messages, dice),
  HandoffWithoutUser: (messages, { chosen }) => {
    const rest = withoutUsers(messages)
    const tool = "hand_over"
    return chosen === 0
      ? { messages: rest, policy: { requireUserFirst: false, isHandedOver: true } }
      : {
        messages: [...rest, asks(callOf("broken-1", tool)), answers(resultOf("broken-1", tool))],
        policy: { requireUserFirst: false, isHandoff: (name) => name === tool }
      }
  }
}

/** Random messages that break a rule, made of random ones that break none. */
export const violatingOf = (
  kind: Kind,
  messages: Arbitrary.Arbitrary<ReadonlyArray<Prompt.Message>>
): Arbitrary.Arbitrary<Violating> =>
  Arbitrary.map(
    Arbitrary.all({ messages, at: below(8), calls: between(1, 3), chosen: below(3) }),
    ({ messages, ...dice }) => breaks[kind](messages, dice)
  )
