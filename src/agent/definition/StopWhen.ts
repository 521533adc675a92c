/**
 * Conditions under which a run stops, as data. `rules/StopVerdict.ts` evaluates them for a state.
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import { amountOf, countOf, durationOf, finiteOf, InvalidLimit } from "../../domain/InvalidLimit.ts"
import { named } from "../../domain/InvalidName.ts"
import type { Price, Prices } from "../../domain/Spending.ts"
import type { AgentState } from "../../domain/StateSchema.ts"

export { InvalidLimit }
export type { Price } from "../../domain/Spending.ts"

/** A condition that fails the run when it is reached, unless the model may answer once more. */
export interface Limit {
  readonly onExhausted?: "finish"
}
/** Is reached when the run took `steps` steps; with `counts: "Unreported"`, when it took so many whose tokens no provider reported. */
export interface MaxSteps extends Limit {
  readonly _tag: "MaxSteps"
  readonly steps: number
  readonly counts?: "Unreported"
}
/** Is reached when the run used `tokens` input and output tokens, as far as providers reported them. */
export interface Tokens extends Limit {
  readonly _tag: "Tokens"
  readonly tokens: number
}
/** Is reached when the run's cost reaches `limit`, or can't be computed. */
export interface Cost extends Limit {
  readonly _tag: "Cost"
  readonly limit: number
  readonly prices: Prices
}
/** Is reached when `calls` calls of the run have their results: of the tool `name`, or of all. */
export interface ToolCalls extends Limit {
  readonly _tag: "ToolCalls"
  readonly calls: number
  readonly name: string | undefined
}
/** Is reached when the run ran for `millis` milliseconds. */
export interface MaxDuration extends Limit {
  readonly _tag: "Duration"
  readonly millis: number
}
/** Finishes a run when the model's last answer called the tool `name`, and the call is settled. */
export interface ToolCalled {
  readonly _tag: "ToolCalled"
  readonly name: string
}
/** Finishes a run when the model's last answer called no tool. */
export interface NoToolCalls {
  readonly _tag: "NoToolCalls"
}
/** Finishes a run when its state satisfies a predicate. */
export interface Satisfies {
  readonly _tag: "Satisfies"
  readonly predicate: (state: AgentState) => boolean
}
/** Stops a run as soon as one of the conditions does. */
export interface Any {
  readonly _tag: "Any"
  readonly conditions: ReadonlyArray<StopWhen>
}
/** Stops a run when all of the conditions do. */
export interface All {
  readonly _tag: "All"
  readonly conditions: ReadonlyArray<StopWhen>
}

/**
 * A condition under which a run stops.
 *
 * @category models
 * @since 0.1.0
 */
export type StopWhen =
  | MaxSteps
  | Tokens
  | Cost
  | ToolCalls
  | MaxDuration
  | ToolCalled
  | NoToolCalls
  | Satisfies
  | Any
  | All

/**
 * How a limit ends a run; `"fail"` by default.
 *
 * With `"finish"` the model is told that the limit was reached, gets no tools except `final_answer` (if its agent has an `output`), and
 * answers once more. Then the run is `Complete`. But it fails if the model still calls a tool, if the answer doesn't fit `output`, or if a
 * guardrail wants another answer.
 *
 * @category models
 * @since 0.1.0
 */
export interface LimitOptions {
  readonly onExhausted?: "fail" | "finish" | undefined
}

const limited = (limit: Extract<StopWhen, Limit>, options: LimitOptions | undefined): StopWhen =>
  options?.onExhausted === "finish" ? { ...limit, onExhausted: "finish" } : limit

/**
 * Fails a run with `StepLimitReached` if the agent's model, and those of the agents that it calls, have answered `steps` times and the run
 * isn't done.
 *
 * A step is one answer of the model and the calls in it; the last step's calls are run. Throws `InvalidLimit` unless `steps` is a whole
 * number from 0 on, or `Infinity`, which sets no limit.
 *
 * @category constructors
 * @since 0.1.0
 */
export const maxSteps = (steps: number, options?: LimitOptions): StopWhen =>
  limited({ _tag: "MaxSteps", steps: countOf("maxSteps", steps, 0) }, options)

/**
 * Fails a run with `BudgetExceeded` when its known input and output tokens reach `tokens`.
 *
 * Tokens that a provider doesn't report can't be counted. An agent without another limit fails with `StepLimitReached` after 20 answers
 * without reported tokens. Throws `InvalidLimit` unless `tokens` is a whole number from 0 on or `Infinity`.
 *
 * @category budgets
 * @since 0.1.0
 */
export const tokens = (tokens: number, options?: LimitOptions): StopWhen =>
  limited({ _tag: "Tokens", tokens: countOf("tokens", tokens, 0) }, options)

/** Throws `InvalidLimit` unless a price is a finite number from 0 on. With any other, the cost could be negative or no number. */
const checkPrice = (option: string, price: Price): void => {
  for (const kind of ["input", "output", "cached", "reasoning"] as const) {
    const limit = price?.[kind]
    const isOptional = kind === "cached" || kind === "reasoning"
    if (limit !== undefined || !isOptional) finiteOf(`${option}.${kind}`, limit)
  }
}

/**
 * Fails a run with `BudgetExceeded` when what its models cost reaches `limit`, in the currency of the prices.
 *
 * `prices` has the price of a million tokens of each model, by the name in the provider's responses; `otherwise` is the price of all other
 * models, and of those that don't say their name. If a request has no price, or its tokens weren't reported and aren't free, its cost is
 * unknown. Then the run fails too, before it asks again, and `unpriced` of the error counts such requests. If one of the prices is 0 for
 * all tokens, the default condition applies too: a run of that model never costs anything.
 *
 * Throws `InvalidLimit` unless `limit` is a number from 0 on, and each price a finite number from 0 on.
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
): StopWhen => {
  const prices = { models: options.prices, otherwise: options.otherwise }
  for (const [model, price] of Object.entries(prices.models)) checkPrice(`prices.${model}`, price)
  if (prices.otherwise !== undefined) checkPrice("otherwise", prices.otherwise)
  return limited({ _tag: "Cost", limit: amountOf("cost", options.limit), prices }, options)
}

/**
 * Fails a run with `BudgetExceeded` when `calls` calls of the tool `name`, or of all tools, have their results. Handoffs that are carried
 * out, denied calls, and calls that the provider runs without an approval don't count. The calls of the model's last answer are still run.
 *
 * Throws `InvalidName` if the name is empty, and `InvalidLimit` unless `calls` is a whole number from 0 on or `Infinity`.
 *
 * @category budgets
 * @since 0.1.0
 */
export const toolCalls: {
  (calls: number, options?: LimitOptions): StopWhen
  (name: string, calls: number, options?: LimitOptions): StopWhen
} = (first: string | number, second?: number | LimitOptions, third?: LimitOptions): StopWhen => {
  const [name, calls, options] = typeof first === "string" ? [first, second, third] : [undefined, first, second]
  const count = countOf("toolCalls", typeof calls === "number" ? calls : Number.NaN, 0)
  const limit = { _tag: "ToolCalls", name: name === undefined ? undefined : named("tool", name), calls: count } as const
  return limited(limit, typeof options === "object" ? options : undefined)
}

/**
 * Fails a run with `BudgetExceeded` when it has run for `duration`. The time in which it was stopped doesn't count. A request or a
 * handler that takes longer isn't ended.
 *
 * Throws `InvalidLimit` for a negative or an invalid duration.
 *
 * @category budgets
 * @since 0.1.0
 */
export const duration = (duration: Duration.Input, options?: LimitOptions): StopWhen =>
  limited({ _tag: "Duration", millis: Duration.toMillis(durationOf("duration", duration, "from 0 on")) }, options)

/**
 * Finishes a run when the model's last answer called the tool `name`, once the call is settled. Throws `InvalidName` if the name is empty.
 *
 * @category constructors
 * @since 0.1.0
 */
export const toolCalled = (name: string): StopWhen => ({ _tag: "ToolCalled", name: named("tool", name) })

/**
 * Finishes a run when the model's last answer called no tool.
 *
 * A run ends then anyway. In `all` it keeps the limits beside it from stopping a run while the model calls tools.
 *
 * @category constructors
 * @since 0.1.0
 */
export const noToolCalls: StopWhen = Object.freeze({ _tag: "NoToolCalls" })

/**
 * Finishes a run when its state satisfies a predicate, which isn't asked before the model has answered in the run. A predicate that returns
 * no boolean is a defect of the run.
 *
 * @category constructors
 * @since 0.1.0
 */
export const satisfies = (predicate: (state: AgentState) => boolean): StopWhen => ({ _tag: "Satisfies", predicate })

/**
 * Stops a run as soon as one of the conditions does. If several do, the first of them says how.
 *
 * @category combinators
 * @since 0.1.0
 */
export const any = (...conditions: ReadonlyArray<StopWhen>): StopWhen => ({ _tag: "Any", conditions })

/**
 * Stops a run when all of the conditions do. If some of them are limits, the first of these says how. No conditions at all never stop a
 * run.
 *
 * @category combinators
 * @since 0.1.0
 */
export const all = (...conditions: ReadonlyArray<StopWhen>): StopWhen => ({ _tag: "All", conditions })

/**
 * The default condition of an agent: 20 steps. It applies too if an agent's condition has no limit that every run must reach at some time;
 * beside `tokens`, it counts only the answers whose tokens weren't reported.
 *
 * @category constants
 * @since 0.1.0
 */
export const defaultCondition: MaxSteps = Object.freeze({ _tag: "MaxSteps", steps: 20 })
