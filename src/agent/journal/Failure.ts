/**
 * What ended a run: what its state keeps of that, and what it fails with.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Result from "effect/Result"
import { AgentError, isAgentError } from "../../domain/AgentError.ts"
import * as AgentStatus from "../../domain/AgentStatus.ts"
import { messageOf, tagOf } from "../../domain/Described.ts"
import type { AgentState } from "../../domain/StateSchema.ts"
import { annotate } from "../../handoff/FailedState.ts"
import { Halt } from "./Halt.ts"
import type { Loop } from "./Loop.ts"

/** Says what ended a run, as plain data: the reason of an `AgentError`, an error of a tool's own, or a defect. */
export const fromCause = (loop: Loop, cause: Cause.Cause<unknown>): AgentStatus.Failure => {
  const at = { agent: loop.definition.name, step: loop.step }
  const error = Cause.findError(cause)
  if (Result.isFailure(error)) return { tag: "Defect", message: messageOf(Cause.squash(cause)), ...at }
  const value = error.success instanceof Halt || isAgentError(error.success) ? error.success.reason : error.success
  return { tag: tagOf(value) ?? "Failure", message: messageOf(value), ...at }
}

/** Gives the state of a loop that something has ended. */
export const failedBy = (loop: Loop, cause: Cause.Cause<unknown>): AgentState => ({
  ...loop.state,
  status: AgentStatus.failed(fromCause(loop, cause))
})

/** Fails with an `AgentError`, or with an error as it was thrown and the state beside it. */
export const withState = ({ state }: Pick<Loop, "state">, error: unknown): Cause.Cause<unknown> =>
  error instanceof Halt || isAgentError(error)
    ? Cause.fail(new AgentError({ state, reason: error.reason }))
    : annotate(Cause.fail(error), state)

/** Gives all that a run failed with, in its order: what a set-up failed with comes before what its clean-up did. */
export const withStates = (loop: Loop, { reasons }: Cause.Cause<unknown>): Cause.Cause<unknown> =>
  reasons
    .map((reason) =>
      Cause.isFailReason(reason) ? withState(loop, reason.error) : annotate(Cause.fromReasons([reason]), loop.state)
    )
    .reduce(Cause.combine)
