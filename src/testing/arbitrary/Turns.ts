/**
 * Random turns, and how any turns become a legal conversation.
 *
 * @since 0.1.0
 */
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import * as Struct from "effect/Struct"
import * as Conversation from "../../domain/Conversation.ts"
import { isAnswered } from "../../domain/conversation/Sending.ts"
import { below, between, ofSchema, one, oneOf, pick } from "./Choice.ts"

/**
 * Options of random turns.
 *
 * **Details**
 *
 * - `minTurns` and `maxTurns` bound the turns, 0 and 6 by default; a user's turn at the beginning is one of them. A smaller `maxTurns` than
 *   `minTurns` is raised to that.
 * - `maxCalls` bounds the calls of one assistant turn, 3 by default.
 * - `tools` are the names that calls have, any names by default; `agents` are the names that assistant turns have, `"triage"` and
 *   `"billing"` by default.
 * - `turns` and `parts` are the kinds of turns and of an assistant's parts that there may be, all by default.
 * - With `anyOrder`, turns and parts come in any order. By default, `false`, a user speaks first, whatever `turns` says, and a model thinks
 *   before it speaks.
 *
 * @category models
 * @since 0.1.0
 */
export interface TurnOptions {
  readonly minTurns?: number
  readonly maxTurns?: number
  readonly maxCalls?: number
  readonly tools?: readonly [string, ...Array<string>]
  readonly agents?: readonly [string, ...Array<string>]
  readonly turns?: ReadonlyArray<Conversation.Turn["_tag"]>
  readonly parts?: ReadonlyArray<Conversation.AssistantPart["_tag"]>
  readonly anyOrder?: boolean
}

const { Assistant, Feedback, Summary, User } = Conversation.Turn.cases

const callFields = ofSchema(Conversation.Call.mapFields(Struct.omit(["state", "approvalId"])))
const assistantFields = ofSchema(
  Schema.Struct(Struct.pick(Assistant.fields, ["usage", "finishReason", "counted", "pinned"]))
)

const settled = one<Conversation.CallState>({ _tag: "Settled", outcome: "Succeeded", result: "done" })

const callStates: ReadonlyArray<Arbitrary.Arbitrary<Conversation.CallState>> = [
  ofSchema(Conversation.CallState.cases.Settled),
  settled,
  oneOf<Conversation.CallState>(
    ofSchema(Conversation.CallState.cases.AwaitingApproval),
    one({ _tag: "AwaitingResult" })
  ),
  oneOf<Conversation.CallState>(
    ofSchema(Conversation.CallState.cases.Approved),
    ofSchema(Conversation.CallState.cases.Answered)
  )
]

/** Called agents in the midst of their work, if there may be some. */
export type Children = Arbitrary.Arbitrary<Conversation.CallState> | undefined

const callOf = ({ tools }: TurnOptions, children: Children): Arbitrary.Arbitrary<Conversation.Call> =>
  Arbitrary.map(
    Arbitrary.all({
      fields: callFields,
      name: tools === undefined ? one(undefined) : pick<string | undefined>(...tools),
      state: oneOf<Conversation.CallState>(
        one<Conversation.CallState>({ _tag: "Pending" }),
        ...callStates,
        ...(children === undefined ? [] : [children, children])
      )
    }),
    // Only a call that was approved may have other parameters than were asked for.
    ({ fields: { asked, ...fields }, name, state }) => ({
      ...fields,
      name: name ?? fields.name,
      state,
      ...(asked === undefined || state._tag === "Pending" || state._tag === "AwaitingApproval" ? undefined : { asked })
    })
  )

const others = {
  Text: ofSchema(Conversation.Text),
  Reasoning: ofSchema(Conversation.Reasoning),
  File: ofSchema(Conversation.File),
  Source: ofSchema(Conversation.Source)
}

/** Puts reasoning before all other parts. If it led to no answer, the provider's metadata is removed from it. */
const inOrder = (parts: ReadonlyArray<Conversation.AssistantPart>): ReadonlyArray<Conversation.AssistantPart> => {
  const thoughts = parts.filter((part) => part._tag === "Reasoning")
  const rest = parts.filter((part) => part._tag !== "Reasoning")
  return rest.some(isAnswered)
    ? [...thoughts, ...rest]
    : [...thoughts.map(({ text }): Conversation.AssistantPart => ({ _tag: "Reasoning", text })), ...rest]
}

/** Random turns of an assistant, with at least `minCalls` calls. */
export const assistantOf = (
  options: TurnOptions,
  children: Children,
  minCalls = 0
): Arbitrary.Arbitrary<Conversation.Turn> => {
  const { agents = ["triage", "billing"] as const, maxCalls = 3, parts } = options
  const has = (tag: Conversation.AssistantPart["_tag"]): boolean => parts === undefined || parts.includes(tag)
  const most = has("Call") ? maxCalls : 0
  const call = callOf(options, children)
  const [first, ...rest] = [
    ...(["Text", "Reasoning", "File", "Source"] as const).filter(has).map((
      tag
    ): Arbitrary.Arbitrary<Conversation.AssistantPart> => others[tag]),
    ...(most > 0 ? [call] : [])
  ]
  return Arbitrary.map(
    Arbitrary.all({
      calls: Arbitrary.array(call, { minLength: Math.min(minCalls, most), maxLength: most }),
      others: first === undefined ? one([]) : Arbitrary.array(oneOf(first, ...rest), { maxLength: 4 }),
      fields: assistantFields,
      agent: pick(...agents)
    }),
    ({ agent, calls, fields, others }): Conversation.Turn => {
      let count = 0
      const kept = [...others, ...calls].filter((part) => part._tag !== "Call" || ++count <= most)
      return { _tag: "Assistant", agent, parts: options.anyOrder === true ? kept : inOrder(kept), ...fields }
    }
  )
}

const user: Arbitrary.Arbitrary<Conversation.Turn> = ofSchema(User)

/** Random turns, legal in themselves or not. */
export const turnOf = (options: TurnOptions): Arbitrary.Arbitrary<Conversation.Turn> => {
  const { turns } = options
  const assistant = assistantOf(options, undefined)
  const all: ReadonlyArray<readonly [Conversation.Turn["_tag"], Arbitrary.Arbitrary<Conversation.Turn>]> = [
    ["User", user],
    ["Summary", ofSchema(Summary)],
    ["Feedback", ofSchema(Feedback)],
    ["Assistant", assistant],
    ["Assistant", assistant]
  ]
  const [first, ...rest] = all.flatMap(([tag, turn]) => turns === undefined || turns.includes(tag) ? [turn] : [])
  return oneOf(first ?? user, ...rest)
}

/** A user's turn whose text isn't blank. */
const question: Arbitrary.Arbitrary<Conversation.Turn> = Arbitrary.map(
  ofSchema(Schema.String),
  (text): Conversation.Turn => ({ _tag: "User", parts: [{ _tag: "Text", text: text.trim() || "?" }] })
)

/** Random turns, often followed by an assistant's turn with calls, which a user's turn may follow. */
export const turnsOf = (
  options: TurnOptions,
  children: Children
): Arbitrary.Arbitrary<ReadonlyArray<Conversation.Turn>> => {
  const { anyOrder = false, turns } = options
  const minTurns = options.minTurns ?? 0
  const maxTurns = Math.max(minTurns, options.maxTurns ?? 6)
  const hasAssistant = turns === undefined || turns.includes("Assistant")
  const hasUser = turns === undefined || turns.includes("User")
  return Arbitrary.flatMap(between(minTurns, maxTurns), (count) => {
    const begins = !anyOrder && count > 0
    const room = count - (begins ? 1 : 0)
    return Arbitrary.flatMap(
      Arbitrary.all({ ends: below(4), waits: below(2) }),
      ({ ends, waits }) => {
        const called = ends > 0 && hasAssistant && room > 0 ? 1 : 0
        const behind = called > 0 && waits > 0 && hasUser && room > 1 ? 1 : 0
        const before = room - called - behind
        return Arbitrary.map(
          Arbitrary.all({
            first: Arbitrary.array(question, { minLength: begins ? 1 : 0, maxLength: begins ? 1 : 0 }),
            before: Arbitrary.array(turnOf(options), { minLength: before, maxLength: before }),
            last: Arbitrary.array(assistantOf(options, children, 1), { minLength: called, maxLength: called }),
            after: Arbitrary.array(user, { minLength: behind, maxLength: behind })
          }),
          ({ after, before, first, last }) => [...first, ...before, ...last, ...after]
        )
      }
    )
  })
}

/** Makes the state of a called agent consistent; `prefix` stands in front of the ids of its calls. */
export type Legalize = (
  child: Extract<Conversation.CallState, { readonly _tag: "Delegated" }>["child"],
  prefix: string
) => Extract<Conversation.CallState, { readonly _tag: "Delegated" }>["child"]

/** Gives each call an id of `prefix` and a number, settles calls that can't be open, and does the same in called agents. */
export const legalized = (
  turns: ReadonlyArray<Conversation.Turn>,
  prefix: string,
  legalize: Legalize
): Conversation.Conversation => {
  const last = turns.findLastIndex((turn) => turn._tag === "Assistant")
  let calls = 0
  return {
    turns: turns.map((turn, index) =>
      turn._tag !== "Assistant" ? turn : {
        ...turn,
        parts: turn.parts.map((part): Conversation.AssistantPart => {
          if (part._tag !== "Call") return part
          const id = `${prefix}call-${++calls}`
          const canBeOpen = index === last && part.providerExecuted === undefined
          if (part.state._tag === "Settled") return { ...part, id }
          if (!canBeOpen) return { ...part, id, state: { _tag: "Settled", outcome: "Interrupted", result: null } }
          return part.state._tag === "Delegated"
            ? { ...part, id, state: { _tag: "Delegated", child: legalize(part.state.child, `${id}/`) } }
            : { ...part, id }
        })
      }
    )
  }
}
