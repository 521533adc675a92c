/**
 * Calls in a dialogue that await approval: those of the agent whose turn it is.
 *
 * @since 0.1.0
 */
import { dual } from "effect/Function"
import * as Result from "effect/Result"
import * as Approval from "../../domain/Approval.ts"
import type { AgentState } from "../../domain/StateSchema.ts"
import { type DialogueState, participantOf, withParticipant } from "./DialogueState.ts"

/** Returns the agent whose turn is under way, with its state. */
const speakerOf = (self: DialogueState): { readonly name: string; readonly state: AgentState } | undefined => {
  if (self.status._tag !== "Speaking") return undefined
  const participant = participantOf(self, self.status.speaker)
  return participant?.state === undefined ? undefined : { name: participant.name, state: participant.state }
}

/**
 * Returns the calls that await approval, in the agent whose turn it is and in those that it called.
 *
 * @category getters
 * @since 0.1.0
 */
export const pendingApprovals = (self: DialogueState): ReadonlyArray<Approval.PendingApproval> => {
  const speaker = speakerOf(self)
  return speaker === undefined ? [] : Approval.pendingApprovals(speaker.state)
}

type Resolved<A> = Result.Result<A, Approval.NotAwaitingApproval>

type Answer = (state: AgentState) => Resolved<AgentState>

/**
 * Answers a call that isn't the speaker's. Participants' calls have different ids, so it belongs to a turn that is over. Giving the same
 * answer again changes nothing.
 */
const resolveElsewhere = (
  self: DialogueState,
  { awaiting, callId, found }: Approval.NotAwaitingApproval,
  answer: Answer
): Resolved<DialogueState> => {
  for (const { state } of found === "Unknown" ? self.participants : []) {
    const resolved = state === undefined ? undefined : answer(state)
    if (resolved === undefined) continue
    if (Result.isSuccess(resolved)) {
      if (resolved.success === state) return Result.succeed(self)
    } else if (resolved.failure.found !== "Unknown") {
      return Result.fail(new Approval.NotAwaitingApproval({ callId, found: resolved.failure.found, awaiting }))
    }
  }
  return Result.fail(new Approval.NotAwaitingApproval({ callId, found, awaiting }))
}

const resolve = (self: DialogueState, callId: string, answer: Answer): Resolved<DialogueState> => {
  const speaker = speakerOf(self)
  const resolved: Resolved<DialogueState> = speaker === undefined
    ? Result.fail(new Approval.NotAwaitingApproval({ callId, found: "Unknown", awaiting: [] }))
    : Result.map(answer(speaker.state), (state) => withParticipant(self, speaker.name, { state }))
  return Result.isFailure(resolved) ? resolveElsewhere(self, resolved.failure, answer) : resolved
}

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
 * Denies a call: it doesn't run, and its model reads the reason when the turn continues.
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
