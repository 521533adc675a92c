/**
 * Calls in a dialogue that await their results: those of the agent whose turn it is.
 *
 * @since 0.1.0
 */
import { dual } from "effect/Function"
import type * as Result from "effect/Result"
import type * as Schema from "effect/Schema"
import * as DeferredResult from "../../domain/DeferredResult.ts"
import type { AgentState } from "../../domain/StateSchema.ts"
import type { DialogueState } from "./DialogueState.ts"
import * as WaitingTurn from "./WaitingTurn.ts"

/**
 * Returns the calls that await their results, in the agent whose turn it is and in those that it called.
 *
 * @category getters
 * @since 0.1.0
 */
export const pendingResults = (self: DialogueState): ReadonlyArray<DeferredResult.PendingResult> => {
  const speaker = WaitingTurn.speakerOf(self)
  return speaker === undefined ? [] : DeferredResult.pendingResults(speaker.state)
}

type Given<A> = Result.Result<A, DeferredResult.NotAwaitingResult>

const resolve = (
  self: DialogueState,
  callId: string,
  answer: (state: AgentState) => Given<AgentState>
): Given<DialogueState> =>
  WaitingTurn.resolve(
    self,
    answer,
    (found, awaiting) => new DeferredResult.NotAwaitingResult({ callId, found, awaiting })
  )

/**
 * Gives a call the result that it awaits, as JSON: its model reads it when the turn continues. Giving it twice changes nothing.
 *
 * Fails with `NotAwaitingResult` if the agent whose turn it is has no such call that awaits its result.
 *
 * @category combinators
 * @since 0.1.0
 */
export const giveResult: {
  (callId: string, result: Schema.Json): (self: DialogueState) => Given<DialogueState>
  (self: DialogueState, callId: string, result: Schema.Json): Given<DialogueState>
} = dual(
  3,
  (self: DialogueState, callId: string, result: Schema.Json) =>
    resolve(self, callId, DeferredResult.giveResult(callId, result))
)

/**
 * Gives a call the reason why it failed, instead of the result that it awaits: its model reads the reason when the turn continues. Giving
 * the same reason again changes nothing.
 *
 * Fails with `NotAwaitingResult` if the agent whose turn it is has no such call that awaits its result.
 *
 * @category combinators
 * @since 0.1.0
 */
export const giveFailure: {
  (callId: string, reason: string): (self: DialogueState) => Given<DialogueState>
  (self: DialogueState, callId: string, reason: string): Given<DialogueState>
} = dual(
  3,
  (self: DialogueState, callId: string, reason: string) =>
    resolve(self, callId, DeferredResult.giveFailure(callId, reason))
)
