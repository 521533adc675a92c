/**
 * What happens in the run of a plan, as plain values.
 *
 * 1. `PlanStarted` comes first, and one of `PlanCompleted`, `PlanFailed` and `PlanInterrupted` last.
 * 2. Each `NodeStarted` has exactly one of `NodeCompleted`, `NodeFailed` and `NodeInterrupted`.
 * 3. `NodeSkipped` stands alone: a node that is skipped never started.
 *
 * @since 0.1.0
 */
import type * as Cause from "effect/Cause"
import * as Data from "effect/Data"
import type { Results } from "./Results.ts"

/** The plan started, with what had ended before. */
export interface PlanStarted {
  readonly _tag: "PlanStarted"
  readonly results: Results
}
/** The plan ended with the output of each node that no edge leaves. */
export interface PlanCompleted {
  readonly _tag: "PlanCompleted"
  readonly output: Readonly<Record<string, unknown>>
  readonly results: Results
}
/** The plan failed, or met a defect. */
export interface PlanFailed {
  readonly _tag: "PlanFailed"
  readonly cause: Cause.Cause<unknown>
  readonly results: Results
}
/** The plan was interrupted. */
export interface PlanInterrupted {
  readonly _tag: "PlanInterrupted"
  readonly results: Results
}
/** The node started: its input is there, or an edge to it failed. */
export interface NodeStarted {
  readonly _tag: "NodeStarted"
  readonly node: string
}
/** The node ended with its output. */
export interface NodeCompleted {
  readonly _tag: "NodeCompleted"
  readonly node: string
  readonly output: unknown
}
/** The node isn't run, because no edge to it was taken. */
export interface NodeSkipped {
  readonly _tag: "NodeSkipped"
  readonly node: string
}
/** The node failed, or met a defect, after all that its policy allows. */
export interface NodeFailed {
  readonly _tag: "NodeFailed"
  readonly node: string
  readonly cause: Cause.Cause<unknown>
}
/** The node was interrupted. */
export interface NodeInterrupted {
  readonly _tag: "NodeInterrupted"
  readonly node: string
}

/**
 * What happens in the run of a plan.
 *
 * @category models
 * @since 0.1.0
 */
export type PlanEvent =
  | PlanStarted
  | PlanCompleted
  | PlanFailed
  | PlanInterrupted
  | NodeStarted
  | NodeCompleted
  | NodeSkipped
  | NodeFailed
  | NodeInterrupted

/**
 * Guards and an exhaustive match for events: `PlanEvent.$is("NodeCompleted")`, `PlanEvent.$match({ … })`.
 *
 * @category guards
 * @since 0.1.0
 */
export const PlanEvent = Data.taggedEnum<PlanEvent>()
