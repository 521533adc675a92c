/**
 * The failure that ended a run: what the state keeps of it, and the error of the run.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Result from "effect/Result"
import { AgentError, isAgentError, ToolFailed } from "../../domain/AgentError.ts"
import * as AgentStatus from "../../domain/AgentStatus.ts"
import { messageOf, tagOf } from "../../domain/Described.ts"
import * as RunRecord from "../../domain/RunRecord.ts"
import type { AgentState } from "../../domain/StateSchema.ts"
import { annotate } from "../../handoff/FailedState.ts"
import { Fail } from "../rules/Decision.ts"
import type { Loop } from "./Loop.ts"

/** Describes an error, as plain data. For a `ToolFailed`, returns the description of the tool's own error in it. */
export const describe = (error: unknown): Pick<AgentStatus.Failure, "tag" | "message"> => {
  const value = error instanceof Fail || isAgentError(error) ? error.reason : error
  return value instanceof ToolFailed ? value.error : { tag: tagOf(value) ?? "Failure", message: messageOf(value) }
}

/** Describes what a run failed with, as plain data: the reason of an `AgentError`, a program's own error, or a defect. */
export const failureOf = (cause: Cause.Cause<unknown>): Pick<AgentStatus.Failure, "tag" | "message"> => {
  const error = Cause.findError(cause)
  return Result.isFailure(error)
    ? { tag: "Defect", message: messageOf(Cause.squash(cause)) }
    : describe(error.success)
}

/** Describes what ended a run in a step, as plain data. */
export const fromCause = (
  { definition, step }: Pick<Loop, "definition" | "step">,
  cause: Cause.Cause<unknown>
): AgentStatus.Failure => ({ ...failureOf(cause), agent: definition.name, step })

/** Returns the state of a loop that a failure has ended. */
export const failedBy = (loop: Loop, cause: Cause.Cause<unknown>): AgentState => ({
  ...loop.state,
  run: RunRecord.withoutFatal(loop.state.run),
  status: AgentStatus.failed(fromCause(loop, cause))
})

/** Makes an `AgentError` from a reason to fail during a run. Any other error stays as it is. */
export const asAgentError = ({ state }: Loop, error: unknown): unknown =>
  error instanceof Fail ? new AgentError({ state, reason: error.reason }) : error

/** Makes an `AgentError` from a reason to fail. A program's own error stays as it is, and its cause is annotated with the state. */
export const withState = (state: AgentState, error: unknown): Cause.Cause<unknown> =>
  error instanceof Fail || isAgentError(error)
    ? Cause.fail(new AgentError({ state, reason: error.reason }))
    : annotate(Cause.fail(error), state)

/** Returns everything that a run failed with, in order: the failure of a set-up comes before that of its clean-up. */
export const withStates = (state: AgentState, { reasons }: Cause.Cause<unknown>): Cause.Cause<unknown> =>
  reasons
    .map((reason) =>
      Cause.isFailReason(reason) ? withState(state, reason.error) : annotate(Cause.fromReasons([reason]), state)
    )
    .reduce(Cause.combine)
