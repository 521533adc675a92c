/**
 * How a tool is run, as an annotation on the tool.
 *
 * The policy belongs to the tool, wherever it is used; an agent only says how many of its tools run at once.
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
 * - `retry`: when to try again after a failure of the handler, by a schedule that gets the failure, or a
 *   `Cause.TimeoutError` where the attempt timed out; never by default.
 * - `exclusive`: no other call of the turn runs beside it; `false` by default.
 * - `idempotent`: running it twice does what running it once does, so an attempt that timed out may be repeated too;
 *   by default what the tool's own `Tool.Idempotent` annotation says.
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

/** What a policy can be set on. Annotating a tool keeps its type. */
interface Annotatable {
  readonly annotations: Context.Context<never>
  annotate<I, S>(tag: Context.Key<I, S>, value: S): unknown
}

/**
 * Gives how a tool is run.
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
