/**
 * When a run stops before its model has nothing more to do.
 *
 * A condition is data. `maxSteps` and the budgets `tokens`, `cost`, `toolCalls` and `duration` are limits: meeting one fails the run
 * with its reason, and `AgentState.reopen` goes on from there with a larger one; with `onExhausted: "finish"` the model answers once
 * more instead. The other conditions finish the run: it ends `Complete`.
 *
 * Conditions are looked at before each request to the model; those that finish a run only once the model has answered.
 *
 * An agent's limits count from when it got control of the run: from its input, or from the handoff to it. What the agents spend that it
 * calls counts, and its budgets go on to hold, and to count, when it hands over.
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import type { Price, Prices } from "../domain/Spending.ts"
import type { AgentState } from "../domain/StateSchema.ts"
import type { Limit, StopWhen } from "./definition/StopCondition.ts"

export type { Price } from "../domain/Spending.ts"
export * from "./definition/StopCondition.ts"
export { evaluate, type Verdict } from "./rules/StopVerdict.ts"

/**
 * How a limit ends a run; `"fail"` by default.
 *
 * With `"finish"` the model is told that the limit was met, gets no tools but that of its final answer, and answers once: the run is
 * `Complete` then. Where it asks for more all the same, the run fails.
 *
 * @category models
 * @since 0.1.0
 */
export interface LimitOptions {
  readonly onExhausted?: "fail" | "finish" | undefined
}

const exhausted = (options: LimitOptions | undefined): Limit =>
  options?.onExhausted === "finish" ? { onExhausted: "finish" } : {}

/**
 * Fails a run with `StepLimitReached` when its model, and the agents that it called, answered `steps` times.
 *
 * A step is one answer of the model and the calls in it; the last step's calls are run.
 *
 * @category constructors
 * @since 0.1.0
 */
export const maxSteps = (steps: number, options?: LimitOptions): StopWhen => ({
  _tag: "MaxSteps",
  steps,
  ...exhausted(options)
})

/**
 * Fails a run with `BudgetExceeded` when its known input and output tokens reach `tokens`. What a provider doesn't
 * report can't be counted.
 *
 * @category budgets
 * @since 0.1.0
 */
export const tokens = (tokens: number, options?: LimitOptions): StopWhen => ({
  _tag: "Tokens",
  tokens,
  ...exhausted(options)
})

/**
 * Fails a run with `BudgetExceeded` when what its models cost reaches `limit`, in the currency of the prices.
 *
 * `prices` are by the names that providers give their models in their responses, for a million tokens each; `otherwise` is the price of
 * every other model. A request that has no price, or whose tokens weren't reported, costs an unknown amount, never nothing: the run
 * ends then too, before it asks again, and `unpriced` says how many those are.
 *
 * @category budgets
 * @since 0.1.0
 */
export const cost = (
  options: LimitOptions & {
    readonly limit: number
    readonly prices: Prices["models"]
    readonly otherwise?: Price | undefined
  }
): StopWhen => ({
  _tag: "Cost",
  limit: options.limit,
  prices: { models: options.prices, otherwise: options.otherwise },
  ...exhausted(options)
})

/**
 * Fails a run with `BudgetExceeded` when so many calls have their results: of the tool `name`, or of all. Calls that the model's last
 * answer still made are run.
 *
 * @category budgets
 * @since 0.1.0
 */
export const toolCalls: {
  (calls: number, options?: LimitOptions): StopWhen
  (name: string, calls: number, options?: LimitOptions): StopWhen
} = (first: string | number, second?: number | LimitOptions, third?: LimitOptions): StopWhen => {
  const [name, calls, options] = typeof first === "string" ? [first, second, third] : [undefined, first, second]
  return {
    _tag: "ToolCalls",
    name,
    calls: typeof calls === "number" ? calls : Number.NaN,
    ...(typeof options === "object" ? exhausted(options) : undefined)
  }
}

/**
 * Fails a run with `BudgetExceeded` when it has run for a time, not counting the time in which it was stopped.
 *
 * @category budgets
 * @since 0.1.0
 */
export const duration = (duration: Duration.Input, options?: LimitOptions): StopWhen => ({
  _tag: "Duration",
  millis: Duration.toMillis(duration),
  ...exhausted(options)
})

/**
 * Finishes a run when the model's last answer called the tool `name`, once the call is settled.
 *
 * @category constructors
 * @since 0.1.0
 */
export const toolCalled = (name: string): StopWhen => ({ _tag: "ToolCalled", name })

/**
 * Finishes a run when the model's last answer called no tool.
 *
 * A run ends then anyway; within `all` it says that a limit counts only once the model has nothing more to call.
 *
 * @category constructors
 * @since 0.1.0
 */
export const noToolCalls: StopWhen = Object.freeze({ _tag: "NoToolCalls" })

/**
 * Finishes a run when its state satisfies a predicate.
 *
 * @category constructors
 * @since 0.1.0
 */
export const satisfies = (predicate: (state: AgentState) => boolean): StopWhen => ({ _tag: "Satisfies", predicate })

/**
 * Stops a run as soon as one of the conditions does; the first one says how.
 *
 * @category combinators
 * @since 0.1.0
 */
export const any = (...conditions: ReadonlyArray<StopWhen>): StopWhen => ({ _tag: "Any", conditions })

/**
 * Stops a run when all of the conditions do; it fails if one of them is a limit. None at all never stop a run.
 *
 * @category combinators
 * @since 0.1.0
 */
export const all = (...conditions: ReadonlyArray<StopWhen>): StopWhen => ({ _tag: "All", conditions })

/**
 * The condition of an agent that was given none: 20 steps.
 *
 * @category constants
 * @since 0.1.0
 */
export const defaultCondition: StopWhen = Object.freeze({ _tag: "MaxSteps", steps: 20 })
