/**
 * What replaces the models and the handlers of tools that agents bring along, for tests: mocks and tapes.
 *
 * What comes from the environment needs no override: another Layer replaces it.
 *
 * @since 0.1.0
 */
import type * as Tool from "effect/ai/Tool"
import type * as Toolkit from "effect/ai/Toolkit"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { ModelLayer } from "./AgentDefinition.ts"

/** Answers a call of a tool, whose parameters are decoded. */
export type ToolHandler = (
  params: unknown,
  context: Toolkit.HandlerContext<Tool.Any>
) => Effect.Effect<unknown, unknown, unknown>

/** Makes another model of one, and another handler of a tool's. */
export interface Overrides {
  readonly model?: (own: ModelLayer) => ModelLayer
  readonly handler?: (tool: Tool.Any, own: ToolHandler) => ToolHandler
}

const none: Overrides = {}

/** The overrides that a run goes by; there are none by default. */
export const CurrentOverrides = Context.Reference<Overrides>("troupe/agent/Overrides", { defaultValue: () => none })
