/**
 * The state in the cause of a run's failure.
 *
 * An `AgentError` holds its state itself. A tool's own error, an error of instructions and a defect are passed on unchanged, so the state
 * is an annotation of the cause.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Option from "effect/Option"
import { isAgentError } from "../domain/AgentError.ts"
import type { AgentState } from "../domain/StateSchema.ts"

class FailedState extends Context.Service<FailedState, AgentState>()("troupe/handoff/FailedState") {}

/** Annotates the cause with the state that a run failed in. */
export const annotate = <E>(cause: Cause.Cause<E>, state: AgentState): Cause.Cause<E> =>
  // The type of a cause's annotations names no services.
  Cause.annotate(cause, Context.make(FailedState, state) as Context.Context<never>)

/**
 * Returns the state that a run failed in, for any failure: an `AgentError`, a tool's own error, or a defect.
 *
 * An interruption has none: observe the `RunInterrupted` event, which holds the state, by `Agent.observe`.
 *
 * **Example** (What was done before a handler broke)
 *
 * ```ts
 * import { Effect, Exit, Option } from "effect"
 * import { Tool, Toolkit } from "effect/ai"
 * import { Agent, AgentState } from "troupe"
 * import { MockModel, MockResponse } from "troupe/testing"
 *
 * const Tools = Toolkit.make(Tool.make("explode"))
 * const clerk = Agent.make("clerk", { toolkit: Tools })
 *
 * const exit = await Agent.run(clerk, "Do it").pipe(
 *   Effect.provide(Tools.toLayer({ explode: () => Effect.die("boom") })),
 *   Effect.provide(MockModel.layer(MockModel.queue(MockResponse.toolCall("explode", {})))),
 *   Effect.runPromiseExit
 * )
 *
 * Exit.isFailure(exit) ? Option.map(Agent.failedState(exit.cause), (state) => state.initialQuery) : undefined
 * // => Option.some("Do it")
 * ```
 *
 * @category getters
 * @since 0.1.0
 */
export const failedState = (cause: Cause.Cause<unknown>): Option.Option<AgentState> => {
  const error = Cause.findErrorOption(cause)
  return Option.isSome(error) && isAgentError(error.value)
    ? Option.some(error.value.state)
    // The type of a cause's annotations names no services.
    : Context.getOption(Cause.annotations(cause) as Context.Context<FailedState>, FailedState)
}
