/**
 * The own error of a fatal tool, for a run that continues after its call was settled: it is read from the result of the call.
 *
 * A result may say less than the error did: it was cut, or the error didn't fit its schema. Then the run fails with `ToolFailed`.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Equal from "effect/Equal"
import * as Exit from "effect/Exit"
import * as Struct from "effect/Struct"
import { ToolFailed } from "../../../domain/AgentError.ts"
import { find } from "../../../domain/WaitingCall.ts"
import { describe } from "../../journal/Failure.ts"
import type * as Loop from "../../journal/Loop.ts"
import { Fail, type FailByTool } from "../../rules/Decision.ts"
import { ownOf } from "./OwnResult.ts"

/** Fails with the error of the call that ends the run. */
export const failByTool = (
  { definition, state }: Loop.Loop,
  { callId, name, ...failure }: FailByTool
): Effect.Effect<never, unknown> => {
  const error = Struct.pick(failure, ["tag", "message"])
  const lost = Cause.fail(new Fail(new ToolFailed({ agent: definition.name, tool: name, callId, error })))
  const call = find(state, callId)
  const entry = definition.tools.get(name)
  if (call?.state._tag !== "Settled" || entry?._tag !== "Handled") return Effect.failCause(lost)
  return Effect.flatMap(ownOf(entry, call.state), ({ own }) => {
    const cause = own !== undefined && Exit.isFailure(own) ? own.cause : lost
    const isSame = Equal.equals(describe(Cause.squash(cause)), error)
    return Effect.failCause(isSame ? cause : lost)
  })
}
