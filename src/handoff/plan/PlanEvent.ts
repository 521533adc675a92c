/**
 * The events of a plan's run, as plain values.
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

interface Fields {
  readonly PlanStarted: { readonly results: Results }
  readonly PlanCompleted: { readonly output: Readonly<Record<string, unknown>>; readonly results: Results }
  readonly PlanFailed: { readonly cause: Cause.Cause<unknown>; readonly results: Results }
  readonly PlanInterrupted: { readonly results: Results }
  readonly NodeStarted: { readonly node: string }
  readonly NodeCompleted: { readonly node: string; readonly output: unknown }
  readonly NodeSkipped: { readonly node: string }
  readonly NodeFailed: { readonly node: string; readonly cause: Cause.Cause<unknown> }
  readonly NodeInterrupted: { readonly node: string }
}

type Case<Tag extends keyof Fields> = { readonly _tag: Tag } & Fields[Tag]

/** The plan started, with what had ended before. */
export interface PlanStarted extends Case<"PlanStarted"> {}
/** The plan ended with the output of each node that no edge leaves and that wasn't skipped. */
export interface PlanCompleted extends Case<"PlanCompleted"> {}
/** The plan failed, or met a defect. */
export interface PlanFailed extends Case<"PlanFailed"> {}
/** The plan was interrupted. */
export interface PlanInterrupted extends Case<"PlanInterrupted"> {}
/** The node started: its input has arrived, or an edge to it failed. */
export interface NodeStarted extends Case<"NodeStarted"> {}
/** The node ended with its output. */
export interface NodeCompleted extends Case<"NodeCompleted"> {}
/** The node isn't run, because no edge to it was taken. */
export interface NodeSkipped extends Case<"NodeSkipped"> {}
/** The node failed, or met a defect, after all that its policy allows. */
export interface NodeFailed extends Case<"NodeFailed"> {}
/** The node was interrupted. */
export interface NodeInterrupted extends Case<"NodeInterrupted"> {}

/**
 * What happens in the run of a plan.
 *
 * @category models
 * @since 0.1.0
 */
export type PlanEvent = PlanStarted | PlanEnd | NodeStarted | NodeEnd | NodeSkipped

type PlanEnd = PlanCompleted | PlanFailed | PlanInterrupted
type NodeEnd = NodeCompleted | NodeFailed | NodeInterrupted

/**
 * Guards and an exhaustive match for events: `PlanEvent.$is("NodeCompleted")`, `PlanEvent.$match({ … })`.
 *
 * @category guards
 * @since 0.1.0
 */
export const PlanEvent = Data.taggedEnum<PlanEvent>()
