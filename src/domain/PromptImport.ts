/**
 * Conversations made of histories that somebody else wrote, with a list of every repair it took.
 *
 * 1. Every prompt has a conversation, and it is legal.
 * 2. Nothing that was said is lost: it is in the conversation, in `systemMessage`, or in the repair that dropped it.
 * 3. A prompt that `toPrompt` made needs no repair, behind one system message too, and comes out the same.
 *
 * @since 0.1.0
 */
import type * as Prompt from "effect/ai/Prompt"
import { withUniqueIds } from "./CallIds.ts"
import * as ImportedCall from "./ImportedCall.ts"
import { fileOf, jsonOf, metadataOf, reasoningOf, textOf } from "./ImportedPart.ts"
import * as Pairing from "./Pairing.ts"
import type * as Part from "./Part.ts"
import type { Repair, Report } from "./Repair.ts"
import type { Assistant, AssistantPart, Call, Conversation, User } from "./StateSchema.ts"

export { Repair } from "./Repair.ts"

/**
 * What became of a prompt: its conversation, the text of its system messages, and every repair in the order of the
 * messages.
 *
 * @category models
 * @since 0.1.0
 */
export interface Imported {
  readonly conversation: Conversation
  readonly systemMessage?: string
  readonly repairs: ReadonlyArray<Repair>
}

const userParts = (
  parts: ReadonlyArray<Prompt.Part>,
  message: number,
  report: Report
): ReadonlyArray<Part.UserPart> =>
  parts.flatMap((part): ReadonlyArray<Part.UserPart> => {
    switch (part.type) {
      case "text":
        return [textOf(part, message, report)]
      case "file":
        return [fileOf(part, message, report)]
      case "reasoning":
      case "tool-call":
        dropPart(part, message, report)
        return []
      case "tool-result":
      case "tool-approval-request":
      case "tool-approval-response":
        return []
    }
  })

const assistantParts = (
  parts: ReadonlyArray<Prompt.Part>,
  message: number,
  nextCall: () => ReadonlyArray<Call>,
  report: Report
): ReadonlyArray<AssistantPart> =>
  parts.flatMap((part): ReadonlyArray<AssistantPart> => {
    switch (part.type) {
      case "text":
        return [textOf(part, message, report)]
      case "reasoning":
        return [reasoningOf(part, message, report)]
      case "file":
        return [fileOf(part, message, report)]
      case "tool-call":
        return nextCall()
      case "tool-result":
      case "tool-approval-request":
      case "tool-approval-response":
        return []
    }
  })

const dropPart = (part: Prompt.Part, message: number, report: Report): void =>
  report({ _tag: "PartDropped", message, part: jsonOf(part, { message, field: "part" }, report) })

/** Reports the parts of a tool message that are neither results nor answers. */
const dropMisplaced = (parts: ReadonlyArray<Prompt.Part>, message: number, report: Report): void => {
  for (const part of parts) {
    switch (part.type) {
      case "text":
      case "reasoning":
      case "file":
      case "tool-call":
        dropPart(part, message, report)
        break
      case "tool-result":
      case "tool-approval-request":
      case "tool-approval-response":
        break
    }
  }
}

/** Gives the turns of the messages; their calls have ids of their own, but no results yet. */
const draftTurns = (
  messages: ReadonlyArray<Prompt.Message>,
  pairing: Pairing.Pairing,
  agent: string,
  report: Report
): ReadonlyArray<User | Assistant> => {
  const calls = pairing.calls.values()
  const taken = new Set<string>()
  const nextCall = () => calls.next().value
  return messages.flatMap((each, message): ReadonlyArray<User | Assistant> => {
    const { metadata } = metadataOf(each.options, { message }, report)
    if (metadata !== undefined) report({ _tag: "MessageOptionsDropped", message, options: metadata })
    if (each.role === "system") return []
    const content = Pairing.partsOf(each)
    if (content.length === 0) report({ _tag: "EmptyMessageDropped", message, role: each.role })
    switch (each.role) {
      case "user": {
        const parts = userParts(content, message, report)
        return parts.length === 0 ? [] : [{ _tag: "User", parts }]
      }
      case "assistant": {
        const drafts = assistantParts(content, message, () => {
          const call = nextCall()
          return call === undefined ? [] : [ImportedCall.draft(call)]
        }, report)
        const parts = withUniqueIds(drafts, taken)
        return parts.length === 0 ? [] : [{ _tag: "Assistant", agent, parts, usage: {}, finishReason: "unknown" }]
      }
      case "tool":
        dropMisplaced(content, message, report)
        return []
    }
  })
}

/** Gives drafted turns the results and approvals of their calls. */
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

/** Gives the texts of the system messages as one; reports each that stood elsewhere than alone at the beginning. */
const systemMessageOf = (
  messages: ReadonlyArray<Prompt.Message>,
  report: Report
): Pick<Imported, "systemMessage"> => {
  const texts = messages.flatMap((each, message) => {
    if (each.role !== "system") return []
    if (message > 0) report({ _tag: "SystemMessageMoved", message, text: each.content })
    return [each.content]
  })
  return texts.length === 0 ? {} : { systemMessage: texts.join("\n\n") }
}

/**
 * Makes a conversation of any prompt, however broken, and tells every repair that it took.
 *
 * System messages aren't turns: their text comes back as `systemMessage`, for `AgentState.make`. One at the beginning is
 * where a prompt has it and isn't a repair; each other one is.
 *
 * A call without a result is settled as `Interrupted`, because nobody knows whether it ran. Only one of the last
 * assistant turn that waits for approval, or was approved, stays open; a denied one is settled as `Denied`. Results that
 * several tool messages in a row hold, and messages of one role in a row, are legal and stay as they are.
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
export const fromPrompt = (prompt: Prompt.Prompt, options?: { readonly agent?: string }): Imported => {
  const repairs: Array<Repair> = []
  const report: Report = (repair) => {
    repairs.push(repair)
  }
  const messages = prompt.content
  const pairing = Pairing.make(messages)
  const system = systemMessageOf(messages, report)
  const drafts = draftTurns(messages, pairing, options?.agent ?? "assistant", report)
  const turns = finishTurns(drafts, pairing, report)
  for (const result of pairing.orphaned) ImportedCall.dropResult("OrphanedResultDropped", result, report)
  for (const result of pairing.doubled) ImportedCall.dropResult("DoubledResultDropped", result, report)
  for (const asked of pairing.requests) ImportedCall.dropApproval(asked, report)
  for (const response of pairing.responses) ImportedCall.dropResponse(response, report)
  return { conversation: { turns }, ...system, repairs: repairs.sort((one, other) => one.message - other.message) }
}
