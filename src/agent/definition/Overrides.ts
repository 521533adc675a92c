/**
 * Replacements for models, handlers and `retry` schedules of the agents' own, for tests: mocks, tapes and laws.
 *
 * Models and handlers from the environment need no override: provide another Layer.
 *
 * @since 0.1.0
 */
import type * as Tool from "effect/ai/Tool"
import type * as Toolkit from "effect/ai/Toolkit"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Schedule from "effect/Schedule"
import type { ModelLayer } from "./ModelLayer.ts"

/** Answers a call of a tool, whose parameters are decoded. */
export type ToolHandler = (
  params: unknown,
  context: Toolkit.HandlerContext<Tool.Any>
) => Effect.Effect<unknown, unknown, unknown>

/** When to try again after an error. */
export type RetrySchedule = Schedule.Schedule<unknown, unknown, unknown, unknown>

/**
 * Replaces the model that an agent has itself, and the handlers that toolkits bring. `own` is what is replaced. If that is a handler, it is
 * the toolkit's, or the one that stands in for it (`StandIn.ts`). `retry` replaces the schedules of agents and tools.
 */
export interface Overrides {
  readonly model?: (own: ModelLayer) => ModelLayer
  readonly handler?: (tool: Tool.Any, own: ToolHandler) => ToolHandler
  readonly retry?: (own: RetrySchedule) => RetrySchedule
}

const none: Overrides = {}

/** The overrides of a run; none by default. */
export const CurrentOverrides = Context.Reference<Overrides>("troupe/agent/Overrides", { defaultValue: () => none })
