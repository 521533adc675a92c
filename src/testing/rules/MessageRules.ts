/**
 * The rules of messages: who speaks when, and what belongs together.
 *
 * @since 0.1.0
 */
import type * as Prompt from "effect/ai/Prompt"
import { hasWords } from "../../domain/conversation/Sending.ts"
import type { Policy } from "./Policy.ts"
import { type Message, quoted, type Violation, violation } from "./Violation.ts"

type Rule = (messages: ReadonlyArray<Message>, policy: Policy) => ReadonlyArray<Violation>

const systemNotFirst: Rule = (messages, { allowSystemAnywhere }) => {
  const first = messages.findIndex(({ role }) => role !== "system")
  return allowSystemAnywhere || first < 0 ?
    [] :
    messages.flatMap(({ role }, index) =>
      role === "system" && index > first
        ? [violation("SystemNotFirst", index, [], `The system message ${index} comes after message ${first}`)]
        : []
    )
}

const assistantBeforeUser: Rule = (messages, { requireUserFirst }) => {
  const index = messages.findIndex(({ role }) => role === "user" || role === "assistant")
  return !requireUserFirst || messages[index]?.role !== "assistant"
    ? []
    : [violation("AssistantBeforeUser", index, [], `The assistant speaks in message ${index}, before any user`)]
}

/** Tool messages may follow each other: each holds results of one turn. */
const repeatedRoles: Rule = (messages, { allowRepeatedRoles }) =>
  allowRepeatedRoles ? [] : messages.flatMap(({ role }, index) => {
    if (role === "tool" || messages[index + 1]?.role !== role || messages[index - 1]?.role === role) return []
    let end = index + 1
    while (messages[end]?.role === role) end++
    return [
      violation(
        "RepeatedRole",
        index,
        [],
        `The role "${role}" comes ${end - index} times in a row from message ${index}`
      )
    ]
  })

const noUser: Rule = (messages, { requireUserPresent }) =>
  !requireUserPresent || messages.some(({ role }) => role === "user")
    ? []
    : [violation("NoUserMessage", 0, [], "There is no user message")]

const unsupported: Rule = (messages, { allowDeveloperAndFunction }) =>
  allowDeveloperAndFunction ? [] : messages.flatMap(({ role }, index) =>
    role === "developer" || role === "function"
      ? [violation("UnsupportedMessageType", index, [], `Message ${index} has the role "${role}"`)]
      : []
  )

/** A part with provider options says something even without words, such as an empty text with a signature of Gemini. */
const isSaid = (part: Prompt.UserMessagePart | Prompt.AssistantMessagePart): boolean =>
  (part.type !== "text" && part.type !== "reasoning") || hasWords(part.text) || Object.keys(part.options).length > 0

const emptyMessage: Rule = (messages, { allowEmptyMessages }) =>
  allowEmptyMessages ?
    [] :
    messages.flatMap((message, index) =>
      (message.role === "user" || message.role === "assistant") && !message.content.some(isSaid)
        ? [violation("EmptyMessage", index, [], `Message ${index} of the role "${message.role}" says nothing`)]
        : []
    )

const isSigned = (part: Prompt.AssistantMessagePart): boolean =>
  part.type === "reasoning" && Object.keys(part.options).length > 0

/** A provider that signs its reasoning accepts it back only in the same message as its call. */
const reasoningSeparated: Rule = (messages) =>
  messages.flatMap((message, index) => {
    const next = messages[index + 1]
    if (message.role !== "assistant" || next?.role !== "assistant") return []
    const last = message.content.at(-1)
    const [first] = next.content
    return last === undefined || !isSigned(last) || first?.type !== "tool-call" ? [] : [
      violation(
        "ReasoningSeparated",
        index,
        [first.id],
        `The reasoning at the end of message ${index} is separated from its call "${first.id}" in message ${index + 1}`
      )
    ]
  })

/** An answer belongs to a request for approval, or to a call that the provider runs and that has no result: its request isn't sent back. */
const unknownApprovals: Rule = (messages) => {
  const calls = new Set<string>()
  const requests = new Set<string>()
  const theirs = new Set<string>()
  return messages.flatMap((message, index): ReadonlyArray<Violation> => {
    if (message.role !== "assistant" && message.role !== "tool") return []
    for (const part of message.content) {
      if (part.type === "tool-call") calls.add(part.id)
      if (part.type === "tool-call" && part.providerExecuted) theirs.add(part.id)
      if (part.type === "tool-result") theirs.delete(part.id)
    }
    return message.content.flatMap((part) => {
      if (part.type === "tool-approval-request") {
        requests.add(part.approvalId)
        return calls.has(part.toolCallId) ? [] : [
          violation(
            "UnknownApproval",
            index,
            [part.approvalId],
            `The approval "${part.approvalId}" in message ${index} is for "${part.toolCallId}", which nobody called`
          )
        ]
      }
      if (part.type !== "tool-approval-response" || requests.has(part.approvalId)) return []
      for (const id of theirs) {
        theirs.delete(id)
        return []
      }
      return [
        violation(
          "UnknownApproval",
          index,
          [part.approvalId],
          `Message ${index} answers the approval "${part.approvalId}", which nobody asked for`
        )
      ]
    })
  })
}

const handoffWithoutUser: Rule = (messages, { isHandedOver, isHandoff }) => {
  if (messages.some(({ role }) => role === "user")) return []
  for (const [index, message] of messages.entries()) {
    if (message.role !== "tool") continue
    const result = message.content.find((part) =>
      part.type === "tool-result" && !part.isFailure && isHandoff(part.name)
    )
    if (result?.type === "tool-result") {
      return [
        violation(
          "HandoffWithoutUser",
          index,
          [result.id],
          `The handoff ${quoted([result.id])} in message ${index} leads to a target that no user spoke to`
        )
      ]
    }
  }
  return isHandedOver
    ? [violation("HandoffWithoutUser", 0, [], "The target of the handoff receives no user message")]
    : []
}

/** Returns what breaks the rules of messages. */
export const checkMessages: Rule = (messages, policy) =>
  [
    systemNotFirst,
    assistantBeforeUser,
    repeatedRoles,
    noUser,
    unsupported,
    emptyMessage,
    reasoningSeparated,
    unknownApprovals,
    handoffWithoutUser
  ].flatMap((rule) => rule(messages, policy))
