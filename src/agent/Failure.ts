/**
 * What a state keeps of whatever ended its run.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Result from "effect/Result"
import { isAgentError } from "../domain/AgentError.ts"
import type { Failure } from "../domain/AgentStatus.ts"
import { messageOf, tagOf } from "../handoff/Described.ts"
import { Halt } from "./Halt.ts"
import type { Loop } from "./Loop.ts"

/** Says what ended a run, as plain data: the reason of an `AgentError`, an error of a tool's own, or a defect. */
export const fromCause = (loop: Loop, cause: Cause.Cause<unknown>): Failure => {
  const at = { agent: loop.definition.name, step: loop.step }
  const error = Cause.findError(cause)
  if (Result.isFailure(error)) return { tag: "Defect", message: messageOf(Cause.squash(cause)), ...at }
  const value = error.success instanceof Halt || isAgentError(error.success) ? error.success.reason : error.success
  return { tag: tagOf(value) ?? "Failure", message: messageOf(value), ...at }
}
