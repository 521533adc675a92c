/**
 * What a conversation is made of for those who look at it: what was said, what was called, who took over.
 *
 * Like the view it imports nothing of the service but types, and nothing in it is HTML.
 */
import * as Predicate from "effect/Predicate"
import type { View } from "../api/Conversations.ts"

type ReadView = typeof View.Encoded
type Turn = ReadView["state"]["conversation"]["turns"][number]
type Part = Extract<Turn, { readonly _tag: "Assistant" }>["parts"][number]
type Call = Extract<Part, { readonly _tag: "Call" }>
type UserParts = Extract<Turn, { readonly _tag: "User" }>["parts"]
type Approval = ReadView["approvals"][number]
type Change = ReadView["changes"][number]

/** How a call stands. */
export type CallStanding = "Pending" | "Awaiting" | "Running" | "Succeeded" | "Failed" | "Denied" | "Interrupted"

/** What the user said. `remark` says why it isn't what was typed. */
export interface Said {
  readonly kind: "said"
  readonly key: string
  readonly text: string
  readonly remark?: string
}

/** What an agent said; more of it may come while it is open. */
export interface Answer {
  readonly kind: "answer"
  readonly key: string
  readonly agent: string
  readonly text: string
  readonly isOpen: boolean
}

/** A call of an agent, and what became of it. */
export interface ToolCall {
  readonly kind: "call"
  readonly key: string
  readonly callId: string
  readonly agent: string
  readonly name: string
  readonly params: unknown
  readonly standing: CallStanding
  readonly result?: unknown
}

/** Control goes from one agent to another. */
export interface Handoff {
  readonly kind: "handoff"
  readonly key: string
  readonly from: string
  readonly to: string
  readonly reason?: string
  readonly isDone: boolean
}

/** What is only told while it happens. */
export interface Remark {
  readonly kind: "remark"
  readonly key: string
  readonly text: string
}

export type Item = Said | Answer | ToolCall | Handoff | Remark

/** What the user said, as text. */
export const textOf = (parts: UserParts): string =>
  parts.flatMap((part) => part._tag === "Text" ? [part.text] : [`[${part._tag.toLowerCase()}]`]).join("\n")

const withheld = "[withheld]"

const standingOf = (call: Call): CallStanding => {
  switch (call.state._tag) {
    case "Pending":
    case "Approved":
      return "Pending"
    case "AwaitingApproval":
      return "Awaiting"
    case "AwaitingResult":
    case "Answered":
    case "Delegated":
      return "Running"
    case "Settled":
      return call.state.outcome === "HandedOff" ? "Succeeded" : call.state.outcome
  }
}

/** The key of a call's item. */
export const keyOf = (callId: string): string => `call ${callId}`

const callItem = (agent: string, call: Call): ToolCall | Handoff => {
  if (call.state._tag === "Settled" && call.state.outcome === "HandedOff") {
    const result = Predicate.isObject(call.state.result) ? call.state.result : {}
    return handoffItem(keyOf(call.id), agent, {
      target: String(result["handoff"] ?? ""),
      ...(typeof result["reason"] === "string" ? { reason: result["reason"] } : undefined)
    }, true)
  }
  return {
    kind: "call",
    key: keyOf(call.id),
    callId: call.id,
    agent,
    name: call.name,
    params: call.params,
    standing: standingOf(call),
    ...(call.state._tag === "Settled" ? { result: call.state.result } : undefined)
  }
}

/** Control that goes to another agent, or is to. */
export const handoffItem = (
  key: string,
  from: string,
  request: { readonly target: string; readonly reason?: string },
  isDone: boolean
): Handoff => ({
  kind: "handoff",
  key,
  from,
  to: request.target,
  ...(request.reason === undefined ? undefined : { reason: request.reason }),
  isDone
})

/** What an agent's turn shows: its texts, and its calls. */
export const partItems = (agent: string, parts: ReadonlyArray<Part>, key: string): ReadonlyArray<Item> =>
  parts.flatMap((part, index): ReadonlyArray<Item> =>
    part._tag === "Call"
      ? [callItem(agent, part)]
      : part._tag === "Text" && part.text !== ""
      ? [{ kind: "answer", key: `${key}.${index}`, agent, text: part.text, isOpen: false }]
      : []
  )

/** What the user said, or why nothing of it is there, or it isn't what was typed. */
export const saidItem = (
  key: string,
  parts: UserParts,
  blocked: string | undefined,
  changed?: Pick<Change, "guardrail" | "reason">
): Said => {
  if (blocked !== undefined) return { kind: "said", key, text: withheld, remark: blocked }
  const said: Said = { kind: "said", key, text: textOf(parts) }
  return changed === undefined ? said : { ...said, remark: `${changed.guardrail}: ${changed.reason ?? "changed"}` }
}

/** What a turn shows. */
export const turnItems = (turn: Turn, index: number, changes: ReadonlyArray<Change>): ReadonlyArray<Item> => {
  switch (turn._tag) {
    case "User": {
      const changed = changes.find((change) => change.turn === index)
      return turn.mode === undefined ? [saidItem(`turn ${index}`, turn.parts, turn.blocked?.reason, changed)] : []
    }
    case "Assistant":
      return partItems(turn.agent, turn.parts, `turn ${index}`)
    case "Summary":
    case "Feedback":
      return []
  }
}

/** What a call of an agent below the one in control shows: that it waits. */
export const below = ({ callId, name, params, path }: Approval): ToolCall => ({
  kind: "call",
  key: keyOf(callId),
  callId,
  agent: path.at(-1) ?? "",
  name,
  params,
  standing: "Awaiting"
})
