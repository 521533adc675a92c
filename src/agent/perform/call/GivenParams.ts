/**
 * Parameters that a person gave in the place of the model's. Guardrails judge them as they are given, so that only what passed is kept.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type * as Schema from "effect/Schema"
import type { Call } from "../../../domain/StateSchema.ts"
import * as Loop from "../../journal/Loop.ts"
import { guardAt } from "../guard/Guard.ts"

/** Asks the guardrails about a call with the parameters that a person gave. Returns those that pass, or why none do. */
export const judge = (
  loop: Loop.Loop,
  call: Call,
  params: Schema.Json
): Effect.Effect<Result.Result<Schema.Json, string>, never, unknown> =>
  Effect.suspend(() => {
    const guard = guardAt(loop.definition, "toolCall")
    if (guard === undefined) return Effect.succeed(Result.succeed(params))
    // A copy, because the state doesn't hold these parameters yet: what replaces them goes into the event of the approval.
    const approved = { ...Loop.foresee(loop, { _tag: "CallApproved", callId: call.id, name: call.name, params }) }
    return guard.judgeParams(loop, { ...call, params }, approved)
  })
