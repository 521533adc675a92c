/**
 * Conversations made from foreign histories, with a list of every repair.
 *
 * 1. Every prompt has a conversation, and it is legal.
 * 2. Nothing that was said is lost: it is in the conversation, in `systemMessage`, or in the repair that dropped it.
 * 3. A prompt that `toPrompt` made needs no repair, even if one system message was put before it, and comes out the same.
 *
 * @since 0.1.0
 */
import type * as Prompt from "effect/ai/Prompt"
import * as Predicate from "effect/Predicate"
import { withUniqueIds } from "./CallIds.ts"
import * as ImportedCall from "./ImportedCall.ts"
import { fileOf, jsonOf, metadataOf, spokenOf } from "./ImportedPart.ts"
import { textNamed } from "./InvalidName.ts"
import * as Pairing from "./Pairing.ts"
import type * as Part from "./Part.ts"
import type { Repair, Report } from "./Repair.ts"
import type { Assistant, AssistantPart, Call, Conversation, User } from "./StateSchema.ts"
import * as Wanted from "./Wanted.ts"

export { Repair } from "./Repair.ts"

/**
 * The import of a prompt: its conversation, the text of its system messages, and every repair in the order of the messages.
 *
 * @category models
 * @since 0.1.0
 */
export interface Imported {
  readonly conversation: Conversation
  readonly systemMessage?: string
  readonly repairs: ReadonlyArray<Repair>
}

const roles: ReadonlyArray<unknown> = ["user", "assistant", "tool"]

const isPart = (u: unknown): boolean => Predicate.hasProperty(u, "type")

const isMessage = (u: unknown): boolean =>
  Predicate.hasProperty(u, "role") && Predicate.hasProperty(u, "content") &&
  (u.role === "system" || (roles.includes(u.role) && Array.isArray(u.content) && u.content.every(isPart)))

/** Returns the messages of a prompt, or throws if an untyped program gave something else, such as the messages alone. */
const messagesOf = (prompt: Prompt.Prompt): ReadonlyArray<Prompt.Message> => {
  const wrong = (what: string) =>
    new TypeError(`${what}: \`Prompt.make\` makes a prompt of a text or a list of messages`)
  if (!Predicate.hasProperty(prompt, "content") || !Array.isArray(prompt.content)) {
    throw wrong("`Conversation.fromPrompt` got no prompt")
  }
  const { content: messages } = prompt
  const at = messages.findIndex((message) => !isMessage(message))
  if (at >= 0) throw wrong(`Message ${at} of a prompt isn't a message`)
  return messages
}

/** Reports a part that its message can't have. Results and approvals aren't reported here, since they are paired with their calls. */
const drop = (part: Prompt.Part, message: number, report: Report): readonly [] => {
  const isPaired = part.type === "tool-result" || part.type === "tool-approval-request" ||
    part.type === "tool-approval-response"
  if (!isPaired) report({ _tag: "PartDropped", message, part: jsonOf(part, { message, field: "part" }, report) })
  return []
}

const userPart = (part: Prompt.Part, message: number, report: Report): ReadonlyArray<Part.UserPart> => {
  switch (part.type) {
    case "text":
      return [spokenOf("Text", part, message, report)]
    case "file":
      return [fileOf(part, message, report)]
    default:
      return drop(part, message, report)
  }
}

const assistantPart = (
  part: Prompt.Part,
  message: number,
  nextCall: () => ReadonlyArray<Call>,
  report: Report
): ReadonlyArray<AssistantPart> => {
  switch (part.type) {
    case "reasoning":
      return [spokenOf("Reasoning", part, message, report)]
    case "tool-call":
      return nextCall()
    default:
      return userPart(part, message, report)
  }
}

/** Returns the turns of the messages. Their calls have unique ids, but no results yet. */
const draftTurns = (
  messages: ReadonlyArray<Prompt.Message>,
  pairing: Pairing.Pairing,
  agent: string,
  report: Report
): ReadonlyArray<User | Assistant> => {
  const calls = pairing.calls.values()
  const taken = new Set<string>()
  const nextCall = (): ReadonlyArray<Call> => {
    const call = calls.next().value
    return call === undefined ? [] : [ImportedCall.draft(call)]
  }
  return messages.flatMap((each, message): ReadonlyArray<User | Assistant> => {
    const { metadata } = metadataOf(each.options, { message }, report)
    if (metadata !== undefined) report({ _tag: "MessageOptionsDropped", message, options: metadata })
    if (each.role === "system") return []
    const content = Pairing.partsOf(each)
    if (content.length === 0) report({ _tag: "EmptyMessageDropped", message, role: each.role })
    switch (each.role) {
      case "user": {
        const parts = content.flatMap((part) => userPart(part, message, report))
        return parts.length === 0 ? [] : [{ _tag: "User", parts }]
      }
      case "assistant": {
        const drafts = content.flatMap((part) => assistantPart(part, message, nextCall, report))
        const parts = withUniqueIds(drafts, taken)
        return parts.length === 0 ? [] : [{ _tag: "Assistant", agent, parts, usage: {}, finishReason: "unknown" }]
      }
      case "tool":
        return content.flatMap((part) => drop(part, message, report))
    }
  })
}

/** Completes drafted turns with the results and approvals of their calls. */
const finishTurns = (
  drafts: ReadonlyArray<User | Assistant>,
  pairing: Pairing.Pairing,
  report: Report
): ReadonlyArray<User | Assistant> => {
  const calls = pairing.calls.values()
  const last = drafts.findLast((turn) => turn._tag === "Assistant")
  return drafts.map((turn) =>
    turn._tag === "User" ? turn : {
      ...turn,
      parts: turn.parts.map((part) => {
        const call = part._tag === "Call" ? calls.next().value : undefined
        return part._tag === "Call" && call !== undefined
          ? ImportedCall.finish(part, call, turn === last, report)
          : part
      })
    }
  )
}

/** Joins the texts of the system messages, and reports each one that isn't the first message of the prompt. */
const systemMessageOf = (
  messages: ReadonlyArray<Prompt.Message>,
  report: Report
): Pick<Imported, "systemMessage"> => {
  const texts = messages.flatMap((each, message) => {
    if (each.role !== "system") return []
    if (message > 0) report({ _tag: "SystemMessageMoved", message, text: each.content })
    return [Wanted.textGiven("The text of a system message", each.content)]
  })
  return texts.length === 0 ? {} : { systemMessage: texts.join("\n\n") }
}

/**
 * Makes a conversation from any prompt, even a broken one, and lists every repair. Throws a `TypeError` for what isn't a prompt, such as a
 * list of messages.
 *
 * System messages aren't turns: their text is returned as `systemMessage`, for `AgentState.make`. Each one that isn't the first message is
 * reported as a repair.
 *
 * A call without a result is settled as `Interrupted`, because nobody knows whether it ran, or as `Denied` if it was denied. It stays
 * open only if it is in the last assistant turn, and waits for approval or was approved. If the provider itself runs the tool and asked for
 * an approval, an answer settles the call in any turn; without one, the call waits only in the last assistant turn. If a message has several
 * calls of one id and fewer requests to approve them, an approval doesn't count: a call without a result waits again. Several messages of one
 * role in a row need no repair, and neither do results that are spread over several tool messages in a row.
 *
 * Every assistant turn is of `agent`, which is `"assistant"` unless given: a prompt doesn't say who spoke.
 *
 * **Example** (A result without a call)
 *
 * ```ts
 * import { Prompt } from "effect/ai"
 * import { Conversation } from "troupe"
 *
 * const { conversation, repairs } = Conversation.fromPrompt(
 *   Prompt.make([
 *     { role: "user", content: "How warm is Paris?" },
 *     { role: "tool", content: [{ type: "tool-result", id: "c1", name: "weather", isFailure: false, result: 22 }] }
 *   ])
 * )
 *
 * Conversation.count(conversation) // => 1
 * repairs // => [{ _tag: "OrphanedResultDropped", message: 1, id: "c1", name: "weather", isFailure: false, result: 22 }]
 * ```
 *
 * @category conversions
 * @since 0.1.0
 */
export const fromPrompt = (prompt: Prompt.Prompt, options?: { readonly agent?: string | undefined }): Imported => {
  const repairs: Array<Repair> = []
  const report: Report = (repair) => {
    repairs.push(repair)
  }
  const messages = messagesOf(prompt)
  const agent = textNamed("agent", options?.agent ?? "assistant")
  const pairing = Pairing.make(messages)
  const system = systemMessageOf(messages, report)
  const drafts = draftTurns(messages, pairing, agent, report)
  const turns = finishTurns(drafts, pairing, report)
  for (const result of pairing.orphaned) ImportedCall.dropResult("OrphanedResultDropped", result, report)
  for (const result of pairing.doubled) ImportedCall.dropResult("DoubledResultDropped", result, report)
  for (const asked of pairing.requests) ImportedCall.dropApproval(asked, report)
  for (const response of pairing.responses) ImportedCall.dropResponse(response, report)
  return { conversation: { turns }, ...system, repairs: repairs.sort((one, other) => one.message - other.message) }
}
