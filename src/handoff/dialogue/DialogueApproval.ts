/**
 * Calls in a dialogue that await approval: those of the agent whose turn it is.
 *
 * @since 0.1.0
 */
import { dual } from "effect/Function"
import type * as Result from "effect/Result"
import * as Approval from "../../domain/Approval.ts"
import type { AgentState } from "../../domain/StateSchema.ts"
import type { DialogueState } from "./DialogueState.ts"
import * as WaitingTurn from "./WaitingTurn.ts"

/**
 * Returns the calls that await approval, in the agent whose turn it is and in those that it called.
 *
 * @category getters
 * @since 0.1.0
 */
export const pendingApprovals = (self: DialogueState): ReadonlyArray<Approval.PendingApproval> => {
  const speaker = WaitingTurn.speakerOf(self)
  return speaker === undefined ? [] : Approval.pendingApprovals(speaker.state)
}

type Resolved<A> = Result.Result<A, Approval.NotAwaitingApproval>

const resolve = (
  self: DialogueState,
  callId: string,
  answer: (state: AgentState) => Resolved<AgentState>
): Resolved<DialogueState> =>
  WaitingTurn.resolve(
    self,
    answer,
    (found, awaiting) => new Approval.NotAwaitingApproval({ callId, found, awaiting })
  )

/**
 * Approves a call: it runs when its agent's turn continues. Approving it twice changes nothing.
 *
 * Fails with `NotAwaitingApproval` if the agent whose turn it is has no such call that awaits approval.
 *
 * @category combinators
 * @since 0.1.0
 */
export const approve: {
  (callId: string): (self: DialogueState) => Resolved<DialogueState>
  (self: DialogueState, callId: string): Resolved<DialogueState>
} = dual(2, (self: DialogueState, callId: string) => resolve(self, callId, Approval.approve(callId)))

/**
 * Denies a call: it doesn't run, and its model reads the reason when the turn continues. Denying it again changes nothing: the first reason
 * stays.
 *
 * Fails with `NotAwaitingApproval` if the agent whose turn it is has no such call that awaits approval.
 *
 * @category combinators
 * @since 0.1.0
 */
export const deny: {
  (callId: string, reason: string): (self: DialogueState) => Resolved<DialogueState>
  (self: DialogueState, callId: string, reason: string): Resolved<DialogueState>
} = dual(
  3,
  (self: DialogueState, callId: string, reason: string) => resolve(self, callId, Approval.deny(callId, reason))
)
