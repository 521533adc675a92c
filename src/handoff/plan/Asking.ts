/**
 * Asking an agent within a plan, and the error of an agent that gives no answer.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { NoOutput, output } from "../../domain/AgentOutput.ts"
import { showShortly, StateErrorClass } from "../../domain/ErrorClass.ts"
import { fromInput } from "../../domain/PartCopy.ts"
import type { AgentState, User } from "../../domain/StateSchema.ts"
import * as Wanted from "../../domain/Wanted.ts"
import * as Runnable from "../Runnable.ts"

const isState = (u: unknown): u is AgentState =>
  Predicate.hasProperty(u, "conversation") && Predicate.hasProperty(u, "status")

/**
 * Error for an agent whose run stopped without an answer that its node can return.
 *
 * Most often calls await approval or a result. Once they have it, `Agent.resume` continues the `state`, and `Plan.complete` puts the answer
 * into the results of the plan. If a stop condition ended the run before an answer of the agent's `output`, the state is `Complete`.
 *
 * @category errors
 * @since 0.1.0
 */
export class NoAnswer extends StateErrorClass<NoAnswer>("troupe/handoff/Plan")("NoAnswer", {
  state: Schema.declare(isState, { identifier: "AgentState" }),
  reason: NoOutput
}, ({ reason }) => reason.message) {
  constructor(fields: { readonly state: AgentState; readonly reason: NoOutput }, options?: Schema.MakeOptions) {
    super(fields, options)
    showShortly(this, "`state` is the agent's; calls may wait in it (`AgentState.pendingApprovals`, `pendingResults`)")
  }
}

/** Asks an agent or a group, or another in its place, and returns the answer. `wordsOf` makes the question from the node's input. */
export const ask = (
  own: Runnable.Any,
  wordsOf: (input: unknown) => string | User["parts"] = (input) => input as string
): (input: unknown, agent?: Runnable.Any) => Effect.Effect<unknown, unknown, unknown> =>
  Effect.fnUntraced(function*(input, agent = own) {
    const state = yield* Runnable.run(agent, {
      state: undefined,
      input: fromInput(Wanted.input(`\`input\` of agent "${own.name}"`, wordsOf(input)))
    })
    return yield* Effect.fromResult(
      Result.mapError(output(agent, state), (reason) => new NoAnswer({ state, reason }))
    )
  })
