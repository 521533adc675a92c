/**
 * Calls that wait for somebody outside of the run: for a yes or no, or for their result.
 *
 * @since 0.1.0
 */
import type * as Schema from "effect/Schema"
import { callsOf, lastAssistant, openCalls } from "./conversation/Turns.ts"
import type { AgentState, Call, CallState } from "./StateSchema.ts"
import * as Wanted from "./Wanted.ts"

/** A call that waits: the agents that lead to it, the calls that lead to it, and what the tool was asked for. */
export interface WaitingCall {
  /** The agents that lead to the call, the outermost first; the last one is the agent whose call it is. */
  readonly path: readonly [string, ...Array<string>]
  /** The ids of the calls by which each agent in `path` called the next; one fewer than `path` has names. */
  readonly calls: ReadonlyArray<string>
  /** The id by which the call is answered. */
  readonly callId: string
  /** The name of the tool. */
  readonly name: string
  /** The parameters of the call, as JSON. */
  readonly params: Schema.Json
}

/** Returns the calls that wait, in this agent and in those that it called, in the order of its calls. */
export const waitingIn = (
  self: AgentState,
  state: "AwaitingApproval" | "AwaitingResult",
  path: WaitingCall["path"] = [self.agent],
  calls: WaitingCall["calls"] = []
): ReadonlyArray<WaitingCall> =>
  openCalls(self.conversation).flatMap((call): ReadonlyArray<WaitingCall> => {
    if (call.state._tag === state) return [{ path, calls, callId: call.id, name: call.name, params: call.params }]
    if (call.state._tag !== "Delegated") return []
    const { child } = call.state
    return waitingIn(child, state, [...path, child.agent], [...calls, call.id])
  })

/**
 * Checks whether a call stays open whatever ends its run: it waits for somebody, or has been given its result. What it waits for is done
 * outside of the run, so the end of the run doesn't cut it short.
 */
export const outlastsRun = ({ _tag }: CallState): boolean =>
  _tag === "AwaitingApproval" || _tag === "AwaitingResult" || _tag === "Answered"

/** Checks whether a state has a call that stays open whatever ends its run, in this agent or in those that it called. */
export const hasLasting = (self: AgentState): boolean =>
  openCalls(self.conversation).some(({ state }) =>
    outlastsRun(state) || (state._tag === "Delegated" && hasLasting(state.child))
  )

/** A call, and what leads to its agent. */
export interface Located extends Pick<WaitingCall, "path" | "calls"> {
  readonly call: Call
}

/**
 * Finds the call of this id that can be answered, or was, among the calls that may still run.
 *
 * Of several calls with this id the first counts: a second answer mustn't reach a call that nobody has seen.
 */
export const locate = (
  self: AgentState,
  callId: string,
  isAnswerable: (call: Call) => boolean,
  path: Located["path"] = [self.agent],
  calls: Located["calls"] = []
): Located | undefined => {
  Wanted.textGiven("The id of a call", callId)
  for (const part of lastAssistant(self.conversation)?.parts ?? []) {
    if (part._tag !== "Call") continue
    if (part.id === callId && isAnswerable(part)) return { path, calls, call: part }
    if (part.state._tag !== "Delegated") continue
    const { child } = part.state
    const inner = locate(child, callId, isAnswerable, [...path, child.agent], [...calls, part.id])
    if (inner !== undefined) return inner
  }
  return undefined
}

/** Finds a call by id, whatever its state: first in this agent, then in the agents that it called. */
export const find = (self: AgentState, callId: string): Call | undefined => {
  for (const turn of self.conversation.turns) {
    if (turn._tag !== "Assistant") continue
    const own = callsOf(turn).find((call) => call.id === callId)
    if (own !== undefined) return own
  }
  for (const call of openCalls(self.conversation)) {
    const found = call.state._tag === "Delegated" ? find(call.state.child, callId) : undefined
    if (found !== undefined) return found
  }
  return undefined
}

/** What happened to a call that waited, before it has its run, sequence number and time. */
export type Untimed<Event> = Omit<Event, "run" | "step" | "sequence" | "at">
