/**
 * How a tool is run, as an annotation on the tool.
 *
 * The policy belongs to the tool and applies in every agent that has the tool. An agent says only how many of its calls run at once.
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
import * as Toolkit from "effect/ai/Toolkit"
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import { dual } from "effect/Function"
import type * as Schedule from "effect/Schedule"
import { countOf, durationOf } from "../../domain/InvalidLimit.ts"
import type { AnyToolkit } from "../../modes/AnyToolkit.ts"
import * as DeferResult from "./DeferResult.ts"

/**
 * How a tool is run.
 *
 * - `timeout`: how long one attempt may take; no limit by default.
 * - `retry`: when to try again after a failure of the handler; never by default. The schedule gets the failure, or a
 *   `Cause.TimeoutError` if the attempt timed out.
 * - `exclusive`: no other call of the turn runs beside it; `false` by default.
 * - `idempotent`: running it twice has the same effect as running it once, so `retry` repeats an attempt that timed out too; by default
 *   what the tool's `Tool.Idempotent` annotation says. For any other tool it is unknown whether such an attempt took effect.
 * - `maxLength`: how many characters of a result or of a failure the state keeps and the model reads; all by default. The rest is cut, and
 *   the model is told how much there was. What isn't a text is cut as JSON. If the tool says by `toModelOutput` what the model reads, the
 *   texts in that are cut, and the state keeps the whole result for programs.
 *
 * @category models
 * @since 0.1.0
 */
export interface ToolPolicy {
  readonly timeout?: Duration.Input
  readonly retry?: Schedule.Schedule<unknown, unknown>
  readonly exclusive?: boolean
  readonly idempotent?: boolean
  readonly maxLength?: number
}

/**
 * The annotation that holds a tool's policy.
 *
 * @category references
 * @since 0.1.0
 */
export const ToolPolicy = Context.Reference<ToolPolicy>("troupe/agent/ToolPolicy", { defaultValue: () => ({}) })

/** Returns a policy. Throws `InvalidLimit` for an invalid `maxLength` or `timeout`. */
const checked = (policy: ToolPolicy): ToolPolicy => {
  if (policy.maxLength !== undefined) countOf("maxLength", policy.maxLength, 0)
  if (policy.timeout !== undefined) durationOf("timeout", policy.timeout, "above 0")
  return policy
}

/**
 * Returns the tool with a policy, in place of the one that it had.
 *
 * Throws `InvalidLimit` if `maxLength` isn't a whole number from 0 on or `Infinity`, or `timeout` isn't above 0.
 *
 * @category combinators
 * @since 0.1.0
 */
export const set: {
  (policy: ToolPolicy): <T extends Annotatable>(tool: T) => T
  <T extends Annotatable>(tool: T, policy: ToolPolicy): T
} = dual(2, <T extends Annotatable>(tool: T, policy: ToolPolicy): T => tool.annotate(ToolPolicy, checked(policy)) as T)

/**
 * Returns the toolkit, with or without handlers, with a policy for all of its tools. Each option that a tool's own policy sets takes
 * precedence. Throws `InvalidLimit` as `set` does.
 *
 * **Example** (Tools that end a call after half a minute, and one that takes longer)
 *
 * ```ts
 * import { Schema } from "effect"
 * import { Tool, Toolkit } from "effect/ai"
 * import { ToolPolicy } from "troupe"
 *
 * const Look = Tool.make("look", { success: Schema.String })
 * const Reindex = ToolPolicy.set(Tool.make("reindex", { success: Schema.String }), { timeout: "5 minutes" })
 *
 * const Kit = ToolPolicy.setAll(Toolkit.make(Look, Reindex), { timeout: "30 seconds", maxLength: 10_000 })
 *
 * ToolPolicy.get(Kit.tools.look).timeout // => "30 seconds"
 * ToolPolicy.get(Kit.tools.reindex).timeout // => "5 minutes"
 * ToolPolicy.get(Kit.tools.reindex).maxLength // => 10000
 * ```
 *
 * @category combinators
 * @since 0.1.0
 */
export const setAll: {
  (policy: ToolPolicy): <T extends AnyToolkit>(toolkit: T) => T
  <T extends AnyToolkit>(toolkit: T, policy: ToolPolicy): T
} = dual(2, <T extends AnyToolkit>(toolkit: T, policy: ToolPolicy): T => {
  const all: Readonly<Record<string, Tool.Any>> = toolkit.tools
  const tools = Object.values(all).map((tool) => set(tool, { ...policy, ...Context.get(tool.annotations, ToolPolicy) }))
  const made = Toolkit.make(...tools)
  const changed: AnyToolkit = "handle" in toolkit ? { ...toolkit, tools: made.tools } : made
  // Annotating a tool keeps its type, but iterating over the tools of a toolkit loses it.
  return changed as T
})

/**
 * Ends a handler without a result: the result comes later, from outside of the run.
 *
 * The call stays open and the run stops, as for an approval. `AgentState.pendingResults` lists the calls that await their results;
 * `giveResult` and `giveFailure`, of a state, a session or a conversation on a cluster, end the wait. After this Effect only the
 * handler's finalizers run, and they see a defect. Outside of a tool's handler it dies.
 *
 * **Example** (A parcel that arrives some day)
 *
 * ```ts
 * import { Effect, Result, Schema } from "effect"
 * import { Tool, Toolkit } from "effect/ai"
 * import { Agent, AgentState, ToolPolicy } from "troupe"
 * import { MockModel, MockResponse } from "troupe/testing"
 *
 * const Ship = Tool.make("ship", { parameters: Schema.Struct({ order: Schema.Int }), success: Schema.String })
 * const toolkit = Toolkit.make(Ship)
 * const clerk = Agent.make("clerk", { toolkit })
 *
 * const handlers = toolkit.toLayer({
 *   ship: ({ order }) => Effect.andThen(Effect.log(`Order ${order} is on its way`), ToolPolicy.deferResult)
 * })
 *
 * const program = Effect.gen(function*() {
 *   const waiting = yield* Agent.run(clerk, "Ship order 7.")
 *   const [pending] = AgentState.pendingResults(waiting)
 *   const given = yield* Effect.fromResult(AgentState.giveResult(waiting, pending?.callId ?? "", "It has arrived."))
 *   const done = yield* Agent.resume(clerk, given)
 *   return [pending?.name, AgentState.text(done)]
 * })
 *
 * const model = MockModel.layer(MockModel.queue(
 *   MockResponse.toolCall("ship", { order: 7 }),
 *   "Order 7 has arrived."
 * ))
 *
 * await Effect.runPromise(Effect.provide(program, [model, handlers])) // => ["ship", "Order 7 has arrived."]
 * ```
 *
 * @category constants
 * @since 0.1.0
 */
export const deferResult: Effect.Effect<never> = DeferResult.deferResult

/** A tool, as far as setting a policy needs one. Annotating a tool keeps its type. */
interface Annotatable {
  readonly annotations: Context.Context<never>
  annotate<I, S>(tag: Context.Key<I, S>, value: S): unknown
}

/**
 * Returns the policy of a tool. `idempotent` is what the tool's `Tool.Idempotent` annotation says, unless the policy says it.
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
