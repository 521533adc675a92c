/**
 * Calls that wait for somebody's yes or no, at any depth, found and resolved by call id.
 *
 * 1. `approve` and `deny` take any subset in any order; the same answer twice changes nothing.
 * 2. Resolving a call only ever goes forward: an approved call isn't denied later, nor the other way round.
 * 3. A call in an agent that was called by an agent is found like any other, by its own id.
 *
 * @since 0.1.0
 */
import { dual } from "effect/Function"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { callsOf, isOpen, lastAssistant, openCalls, updateCall } from "./Conversation.ts"
import { statusOf } from "./Reducer.ts"
import type { AgentState, Call, CallState } from "./StateSchema.ts"

/**
 * A call that waits for approval: the agents that lead to it, the calls that lead to it, and what would run.
 *
 * @category models
 * @since 0.1.0
 */
export interface PendingApproval {
  readonly path: readonly [string, ...Array<string>]
  readonly calls: ReadonlyArray<string>
  readonly callId: string
  readonly name: string
  readonly params: Schema.Json
}

/**
 * Error for an approval or a denial of a call that doesn't wait for one.
 *
 * `found` says where the call stands; `Unknown` means that no agent in the state has a call of this id.
 *
 * @category errors
 * @since 0.1.0
 */
export class NotAwaitingApproval
  extends Schema.TaggedError<NotAwaitingApproval>("troupe/domain/Approval/NotAwaitingApproval")("NotAwaitingApproval", {
    callId: Schema.String,
    found: Schema.Literals(["Unknown", "Pending", "Approved", "Delegated", "Settled"]),
    awaiting: Schema.Array(Schema.String)
  })
{
  override get message(): string {
    const awaiting = this.awaiting.length === 0 ? "none" : this.awaiting.map((id) => `"${id}"`).join(", ")
    return this.found === "Unknown"
      ? `No call has the id "${this.callId}"; awaiting approval: ${awaiting}`
      : `Call "${this.callId}" doesn't await approval, it is ${this.found}; awaiting approval: ${awaiting}`
  }
}

/**
 * Gives the calls that wait for approval, in this agent and in those that it called, outermost first.
 *
 * @category getters
 * @since 0.1.0
 */
export const pendingApprovals = (self: AgentState): ReadonlyArray<PendingApproval> => collect(self, [self.agent], [])

const collect = (
  self: AgentState,
  path: readonly [string, ...Array<string>],
  calls: ReadonlyArray<string>
): ReadonlyArray<PendingApproval> =>
  openCalls(self.conversation).flatMap((call): ReadonlyArray<PendingApproval> => {
    switch (call.state._tag) {
      case "AwaitingApproval":
        return [{ path, calls, callId: call.id, name: call.name, params: call.params }]
      case "Delegated":
        return collect(call.state.child, [...path, call.state.child.agent], [...calls, call.id])
      case "Pending":
      case "Approved":
      case "Settled":
        return []
    }
  })

/** Finds a call by id, in this agent first, then in those that it called. */
const find = (self: AgentState, callId: string): Call | undefined => {
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

/** Sets the state of the call of this id that awaits approval, wherever it is. Other calls of this id stay. */
const resolve = (self: AgentState, callId: string, state: CallState): AgentState | undefined => {
  for (const call of lastAssistant(self.conversation)?.parts ?? []) {
    if (call._tag !== "Call" || !isOpen(call)) continue
    const next = call.state._tag === "AwaitingApproval" && call.id === callId
      ? state
      : call.state._tag === "Delegated"
      ? delegated(resolve(call.state.child, callId, state))
      : undefined
    if (next !== undefined) {
      const conversation = updateCall(self.conversation, call.id, next)
      return { ...self, conversation, status: statusOf(conversation) }
    }
  }
  return undefined
}

const delegated = (child: AgentState | undefined): CallState | undefined =>
  child === undefined ? undefined : { _tag: "Delegated", child }

const resolveOr = (
  self: AgentState,
  callId: string,
  state: CallState,
  isSame: (call: Call) => boolean
): Result.Result<AgentState, NotAwaitingApproval> => {
  const resolved = resolve(self, callId, state)
  if (resolved !== undefined) return Result.succeed(resolved)
  const found = find(self, callId)
  if (found !== undefined && isSame(found)) return Result.succeed(self)
  return Result.fail(
    new NotAwaitingApproval({
      callId,
      found: found === undefined || found.state._tag === "AwaitingApproval" ? "Unknown" : found.state._tag,
      awaiting: pendingApprovals(self).map((approval) => approval.callId)
    })
  )
}

/**
 * Lets a call run when its run goes on. Approving it twice is approving it once.
 *
 * Fails with `NotAwaitingApproval` when no call has the id, or the one that has it doesn't wait for approval.
 *
 * @category combinators
 * @since 0.1.0
 */
export const approve: {
  (callId: string): (self: AgentState) => Result.Result<AgentState, NotAwaitingApproval>
  (self: AgentState, callId: string): Result.Result<AgentState, NotAwaitingApproval>
} = dual(
  2,
  (self: AgentState, callId: string): Result.Result<AgentState, NotAwaitingApproval> =>
    resolveOr(self, callId, { _tag: "Approved" }, (call) => call.state._tag === "Approved")
)

/**
 * Keeps a call from running; the model reads the reason. Denying it twice is denying it once.
 *
 * Fails with `NotAwaitingApproval` when no call has the id, or the one that has it doesn't wait for approval.
 *
 * @category combinators
 * @since 0.1.0
 */
export const deny: {
  (callId: string, reason: string): (self: AgentState) => Result.Result<AgentState, NotAwaitingApproval>
  (self: AgentState, callId: string, reason: string): Result.Result<AgentState, NotAwaitingApproval>
} = dual(
  3,
  (self: AgentState, callId: string, reason: string): Result.Result<AgentState, NotAwaitingApproval> =>
    resolveOr(
      self,
      callId,
      { _tag: "Settled", outcome: "Denied", result: `This call was denied: ${reason}` },
      (call) => call.state._tag === "Settled" && call.state.outcome === "Denied"
    )
)
