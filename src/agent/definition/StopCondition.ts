/**
 * Conditions under which a run stops, as data.
 *
 * @since 0.1.0
 */
import type { Prices } from "../../domain/Spending.ts"
import type { AgentState } from "../../domain/StateSchema.ts"

/** What a limit that is met does: it fails the run, unless the model may answer once more. */
export interface Limit {
  readonly onExhausted?: "finish"
}
/** Ends the run that took `steps` steps. */
export interface MaxSteps extends Limit {
  readonly _tag: "MaxSteps"
  readonly steps: number
}
/** Ends the run that used `tokens` tokens. */
export interface Tokens extends Limit {
  readonly _tag: "Tokens"
  readonly tokens: number
}
/** Ends the run that cost `limit`, or whose cost isn't known. */
export interface Cost extends Limit {
  readonly _tag: "Cost"
  readonly limit: number
  readonly prices: Prices
}
/** Ends the run that called a tool, or any, `calls` times. */
export interface ToolCalls extends Limit {
  readonly _tag: "ToolCalls"
  readonly calls: number
  readonly name: string | undefined
}
/** Ends the run that ran for `millis` milliseconds. */
export interface MaxDuration extends Limit {
  readonly _tag: "Duration"
  readonly millis: number
}
/** Finishes the run whose last turn called a tool of this name. */
export interface ToolCalled {
  readonly _tag: "ToolCalled"
  readonly name: string
}
/** Finishes the run whose last turn called no tool. */
export interface NoToolCalls {
  readonly _tag: "NoToolCalls"
}
/** Finishes the run whose state satisfies a predicate. */
export interface Satisfies {
  readonly _tag: "Satisfies"
  readonly predicate: (state: AgentState) => boolean
}
/** Stops the run as soon as one of the conditions does. */
export interface Any {
  readonly _tag: "Any"
  readonly conditions: ReadonlyArray<StopWhen>
}
/** Stops the run when all of the conditions do. */
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
