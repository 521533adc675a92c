/**
 * Answers to calls of a dialogue that wait for somebody: those of the agent whose turn it is.
 *
 * @since 0.1.0
 */
import * as Result from "effect/Result"
import type { AgentState } from "../../domain/StateSchema.ts"
import { type DialogueState, participantOf, withParticipant } from "./DialogueState.ts"

/** Returns the agent whose turn is under way, with its state. */
export const speakerOf = (self: DialogueState): { readonly name: string; readonly state: AgentState } | undefined => {
  if (self.status._tag !== "Speaking") return undefined
  const participant = participantOf(self, self.status.speaker)
  return participant?.state === undefined ? undefined : { name: participant.name, state: participant.state }
}

/** Why a call can't be answered: the state of the call, and which calls can be. */
interface Refusal {
  readonly found: string
  readonly awaiting: ReadonlyArray<string>
}

type Answer<E> = (state: AgentState) => Result.Result<AgentState, E>

/**
 * Answers a call that isn't the speaker's. Participants' calls have different ids, so it belongs to a turn that is over. Giving the same
 * answer again changes nothing.
 */
const resolveElsewhere = <E extends Refusal>(
  self: DialogueState,
  refusal: E,
  answer: Answer<E>,
  refuse: (found: E["found"], awaiting: ReadonlyArray<string>) => E
): Result.Result<DialogueState, E> => {
  for (const { state } of refusal.found === "Unknown" ? self.participants : []) {
    const resolved = state === undefined ? undefined : answer(state)
    if (resolved === undefined) continue
    if (Result.isSuccess(resolved)) {
      if (resolved.success === state) return Result.succeed(self)
    } else if (resolved.failure.found !== "Unknown") {
      return Result.fail(refuse(resolved.failure.found, refusal.awaiting))
    }
  }
  return Result.fail(refusal)
}

/** Answers a call of the agent whose turn it is. `refuse` makes the error of a call that can't be answered. */
export const resolve = <E extends Refusal>(
  self: DialogueState,
  answer: Answer<E>,
  refuse: (found: E["found"], awaiting: ReadonlyArray<string>) => E
): Result.Result<DialogueState, E> => {
  const speaker = speakerOf(self)
  const resolved: Result.Result<DialogueState, E> = speaker === undefined
    ? Result.fail(refuse("Unknown", []))
    : Result.map(answer(speaker.state), (state) => withParticipant(self, speaker.name, { state }))
  return Result.isFailure(resolved) ? resolveElsewhere(self, resolved.failure, answer, refuse) : resolved
}
