/**
 * Why a step of a story fails.
 *
 * @since 0.1.0
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"

/** Kinds of reasons why a step fails. */
export const ProblemReason = Schema.Literals([
  "CommandUnanswered",
  "CommandDiffers",
  "DecisionUnanswered",
  "DecisionDiffers",
  "StateDiffers",
  "EventUnasked",
  "EventIgnored",
  "NotCalled",
  "ChangeRefused"
])

/** Why a step fails. */
export interface Problem {
  readonly reason: typeof ProblemReason.Type
  readonly issue: string
}

/** Fails a step. */
export const problem = (reason: Problem["reason"], issue: string): Result.Result<never, Problem> =>
  Result.fail({ reason, issue })
