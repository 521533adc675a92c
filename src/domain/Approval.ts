/**
 * Calls that wait for somebody's yes or no, at any depth, found and resolved by call id.
 *
 * 1. `approve` and `deny` take any subset in any order; the same answer twice changes nothing.
 * 2. Resolving a call only ever goes forward: an approved call isn't denied later, nor the other way round.
 * 3. A call in an agent that was called by an agent is found like any other, by its own id.
 * 4. A run that has ended stays ended: `AgentState.reopen` lets it go on with what was answered.
 *
 * @since 0.1.0
 */
import { dual } from "effect/Function"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { isTerminal } from "./AgentStatus.ts"
import { callsOf, lastAssistant, openCalls, updateCall } from "./Conversation.ts"
import { withConversation } from "./ImpliedStatus.ts"
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
 * Gives the calls that wait for approval, in this agent and in those that it called, in the order of its calls.
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

/** A call that awaits approval, or was answered, and the calls that lead to its agent. */
interface Located {
  readonly calls: ReadonlyArray<string>
  readonly call: Call
}

const isAnswerable = (call: Call): boolean =>
  call.state._tag === "AwaitingApproval" || call.state._tag === "Approved" ||
  (call.state._tag === "Settled" && call.state.outcome === "Denied")

/**
 * Finds the call of this id that awaits approval or was answered, among those that may still run.
 *
 * The first one counts though others of its id wait: a second answer mustn't reach a call that nobody looked at.
 */
const locate = (self: AgentState, callId: string, calls: ReadonlyArray<string>): Located | undefined => {
  for (const part of lastAssistant(self.conversation)?.parts ?? []) {
    if (part._tag !== "Call") continue
    if (part.id === callId && isAnswerable(part)) return { calls, call: part }
    const inner = part.state._tag === "Delegated" ? locate(part.state.child, callId, [...calls, part.id]) : undefined
    if (inner !== undefined) return inner
  }
  return undefined
}

/** Finds a call by id in whatever state, in this agent first, then in those that it called. */
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

const resolve = (
  self: AgentState,
  [outer, ...inner]: ReadonlyArray<string>,
  callId: string,
  state: CallState
): AgentState => {
  if (outer === undefined) return withCall(self, callId, state)
  const call = openCalls(self.conversation).find((call) => call.id === outer)
  return call?.state._tag === "Delegated"
    ? withCall(self, outer, { _tag: "Delegated", child: resolve(call.state.child, inner, callId, state) })
    : self
}

/** A run that has ended isn't reopened by an answer. */
const withCall = (self: AgentState, callId: string, state: CallState): AgentState => {
  const conversation = updateCall(self.conversation, callId, state)
  return isTerminal(self.status) ? { ...self, conversation } : withConversation(self, conversation)
}

const resolveOr = (
  self: AgentState,
  callId: string,
  state: CallState,
  isSame: (call: Call) => boolean
): Result.Result<AgentState, NotAwaitingApproval> => {
  const located = locate(self, callId, [])
  if (located?.call.state._tag === "AwaitingApproval") {
    return Result.succeed(resolve(self, located.calls, callId, state))
  }
  const found = located?.call ?? find(self, callId)
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
