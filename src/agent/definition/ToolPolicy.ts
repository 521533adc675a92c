/**
 * How a tool is run, as an annotation on the tool.
 *
 * The policy belongs to the tool and counts for every agent that has the tool. An agent says only how many of its calls run at once.
 *
 * **Example** (A tool that is slow, flaky, and must run alone)
 *
 * ```ts
 * import { Duration, Schedule, Schema } from "effect"
 * import { Tool } from "effect/ai"
 * import { ToolPolicy } from "troupe"
 *
 * const Reindex = ToolPolicy.set(Tool.make("reindex", { success: Schema.String }), {
 *   timeout: "30 seconds",
 *   retry: Schedule.recurs(2),
 *   exclusive: true,
 *   idempotent: true
 * })
 *
 * Duration.toMillis(ToolPolicy.get(Reindex).timeout ?? 0) // => 30000
 * ```
 *
 * @since 0.1.0
 */
import * as Tool from "effect/ai/Tool"
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import { dual } from "effect/Function"
import type * as Schedule from "effect/Schedule"

/**
 * How a tool is run.
 *
 * - `timeout`: how long one attempt may take; no limit by default.
 * - `retry`: when to try again after a failure of the handler; never by default. The schedule gets the failure, or a
 *   `Cause.TimeoutError` if the attempt timed out.
 * - `exclusive`: no other call of the turn runs beside it; `false` by default.
 * - `idempotent`: running it twice does what running it once does, so an attempt that timed out is repeated too; by default what
 *   the tool's `Tool.Idempotent` annotation says. Of any other tool, nobody knows whether such an attempt took effect.
 *
 * @category models
 * @since 0.1.0
 */
export interface ToolPolicy {
  readonly timeout?: Duration.Input
  readonly retry?: Schedule.Schedule<unknown, unknown>
  readonly exclusive?: boolean
  readonly idempotent?: boolean
}

/**
 * The annotation that holds a tool's policy.
 *
 * @category references
 * @since 0.1.0
 */
export const ToolPolicy = Context.Reference<ToolPolicy>("troupe/agent/ToolPolicy", { defaultValue: () => ({}) })

/**
 * Sets how a tool is run.
 *
 * @category combinators
 * @since 0.1.0
 */
export const set: {
  (policy: ToolPolicy): <T extends Annotatable>(tool: T) => T
  <T extends Annotatable>(tool: T, policy: ToolPolicy): T
} = dual(2, <T extends Annotatable>(tool: T, policy: ToolPolicy): T => tool.annotate(ToolPolicy, policy) as T)

/** A tool, as far as setting a policy needs one. Annotating a tool keeps its type. */
interface Annotatable {
  readonly annotations: Context.Context<never>
  annotate<I, S>(tag: Context.Key<I, S>, value: S): unknown
}

/**
 * Returns how a tool is run.
 *
 * @category getters
 * @since 0.1.0
 */
export const get = (tool: { readonly annotations: Context.Context<never> }): ToolPolicy => {
  const policy = Context.get(tool.annotations, ToolPolicy)
  return policy.idempotent === undefined
    ? { ...policy, idempotent: Context.get(tool.annotations, Tool.Idempotent) }
    : policy
}
