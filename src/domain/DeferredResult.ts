/**
 * Results that come later: a handler ended without one, and somebody outside of the run gives it by call id.
 *
 * 1. `giveResult` and `giveFailure` take any subset in any order; the same result twice changes nothing.
 * 2. A result that was given stays: another one for the same call is refused.
 * 3. A call in an agent that was called by an agent is found like any other, by its own id.
 * 4. The result is read by the tool's schema, judged by guardrails and told to the model when the run continues. A session does the first
 *    two at once, so that it keeps only what passed.
 * 5. Giving a result is an event, `ResultGiven`, and changes a state as any event does.
 *
 * @since 0.1.0
 */
import * as Equal from "effect/Equal"
import { dual } from "effect/Function"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type { ResultGiven } from "./AgentEvent.ts"
import { listOf } from "./Described.ts"
import { ErrorClass } from "./ErrorClass.ts"
import * as JsonValue from "./JsonValue.ts"
import { reduce } from "./Reducer.ts"
import type { AgentState, Answered, Call } from "./StateSchema.ts"
import * as TakenIds from "./TakenIds.ts"
import { find, locate, type Located, type Untimed, type WaitingCall, waitingIn } from "./WaitingCall.ts"
import * as Wanted from "./Wanted.ts"

/**
 * A call that awaits its result: the agents that lead to it, the calls that lead to it, and what the tool was asked for.
 *
 * @category models
 * @since 0.1.0
 */
export interface PendingResult extends WaitingCall {}

/**
 * Error for a result of a call that doesn't await one.
 *
 * `found` is the state of the call; `Unknown` means that no agent in the state has a call of this id. `awaiting` has the ids of the calls
 * that await results.
 *
 * @category errors
 * @since 0.1.0
 */
export class NotAwaitingResult extends ErrorClass<NotAwaitingResult>("troupe/domain/DeferredResult")(
  "NotAwaitingResult",
  {
    callId: Schema.String,
    found: Schema.Literals(["Unknown", "Pending", "AwaitingApproval", "Approved", "Answered", "Delegated", "Settled"]),
    awaiting: Schema.Array(Schema.String)
  },
  ({ awaiting, callId, found }) => {
    const what = found === "Unknown"
      ? `No call has the id "${callId}"`
      : `Call "${callId}" doesn't await a result, it is ${found}`
    return `${what}; awaiting results: ${listOf(awaiting)}`
  }
) {}

/**
 * Returns the calls that await their results, in this agent and in those that it called, in the order of its calls.
 *
 * @category getters
 * @since 0.1.0
 */
export const pendingResults = (self: AgentState): ReadonlyArray<PendingResult> => waitingIn(self, "AwaitingResult")

/**
 * What somebody gives for a call: its result as JSON, or words that say why there is none. If guardrails have judged it, what passed and
 * what the model reads instead.
 */
export type Given = Omit<Answered, "_tag">

/**
 * Finds the call of an id if a session reads and judges a result for it as soon as it is given. The call awaits a result, or was given one
 * that was judged.
 */
export const locateJudged = (self: AgentState, callId: string): Located | undefined =>
  locate(
    self,
    callId,
    ({ state }) => state._tag === "AwaitingResult" || (state._tag === "Answered" && state.judged !== undefined)
  )

const isGivable = ({ state }: Call): boolean =>
  state._tag === "AwaitingResult" || state._tag === "Answered" || state._tag === "Settled"

const isSame = ({ state }: Call, { outcome, result }: Given): boolean =>
  (state._tag === "Answered" || state._tag === "Settled") && state.outcome === outcome &&
  Equal.equals(state.result, result)

/** Returns the event of a result that is given. There is none if the call already has the same one. */
export const giving = (
  self: AgentState,
  callId: string,
  given: Given
): Result.Result<Untimed<ResultGiven> | undefined, NotAwaitingResult> => {
  const located = locate(self, callId, isGivable)
  if (located?.call.state._tag === "AwaitingResult") {
    const { call: { name }, calls, path } = located
    return Result.succeed({ _tag: "ResultGiven", path, calls, callId, name, ...given })
  }
  const found = located?.call ?? find(self, callId)
  if (found !== undefined && isSame(found, given)) return Result.succeed(undefined)
  return Result.fail(
    new NotAwaitingResult({
      callId,
      found: found === undefined || found.state._tag === "AwaitingResult"
        ? TakenIds.of(self).names.has(callId) ? "Settled" : "Unknown"
        : found.state._tag,
      awaiting: pendingResults(self).map((pending) => pending.callId)
    })
  )
}

/** Makes what is given of a result. A Promise or an Effect is refused: the model would read it as an empty object. */
export const successOf = (result: Schema.Json): Given => ({
  outcome: "Succeeded",
  result: JsonValue.frozen(Wanted.valueGiven("`result` of `giveResult`", result))
})

/** Makes what is given of a failure. */
export const failureOf = (reason: string): Given => ({
  outcome: "Failed",
  result: Wanted.textGiven("The reason why a call failed", reason)
})

const give = (self: AgentState, callId: string, given: Given): Result.Result<AgentState, NotAwaitingResult> =>
  Result.map(
    giving(self, callId, given),
    (event) => event === undefined ? self : reduce(self, { ...event, run: "", step: 0, sequence: 0, at: 0 })
  )

/**
 * Gives a call its result, as JSON. The model reads it when the run continues. Giving the same result again changes nothing.
 *
 * The tool's success schema reads the result when the run continues; if it doesn't fit, the model reads that the call failed. A session and
 * a conversation of a cluster check it at once.
 *
 * Fails with `NotAwaitingResult` if no call has the id, or if the call doesn't await a result.
 *
 * **Example** (A result from outside)
 *
 * ```ts
 * import { Result } from "effect"
 * import { AgentState, Conversation } from "troupe"
 * import { Story } from "troupe/testing"
 *
 * const waiting = Story.tellOrThrow(
 *   AgentState.make("clerk"),
 *   Story.userSays("Ship order 7."),
 *   Story.modelAnswers([Conversation.call("c1", "ship", { order: 7 })]),
 *   Story.resultComesLater("c1")
 * )
 *
 * AgentState.pendingResults(waiting).map(({ callId, name }) => [callId, name]) // => [["c1", "ship"]]
 *
 * const given = AgentState.giveResult(waiting, "c1", "Shipped.")
 *
 * Result.map(given, (state) => AgentState.next(state)) // => Result.succeed({ _tag: "RunCalls", callIds: ["c1"] })
 * ```
 *
 * @category combinators
 * @since 0.1.0
 */
export const giveResult: {
  (callId: string, result: Schema.Json): (self: AgentState) => Result.Result<AgentState, NotAwaitingResult>
  (self: AgentState, callId: string, result: Schema.Json): Result.Result<AgentState, NotAwaitingResult>
} = dual(3, (self: AgentState, callId: string, result: Schema.Json) => give(self, callId, successOf(result)))

/**
 * Says that a call failed whose result was to come later. The model reads the reason when the run continues. The run doesn't end, even if
 * the tool is in `fatal`. Giving the same reason again changes nothing.
 *
 * Fails with `NotAwaitingResult` if no call has the id, or if the call doesn't await a result.
 *
 * @category combinators
 * @since 0.1.0
 */
export const giveFailure: {
  (callId: string, reason: string): (self: AgentState) => Result.Result<AgentState, NotAwaitingResult>
  (self: AgentState, callId: string, reason: string): Result.Result<AgentState, NotAwaitingResult>
} = dual(3, (self: AgentState, callId: string, reason: string) => give(self, callId, failureOf(reason)))
