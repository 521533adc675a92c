/**
 * What stands in for the models and the handlers of tools that agents bring along. What comes from the environment is replaced
 * there, by a Layer.
 *
 * @since 0.1.0
 */
import type * as LanguageModel from "effect/ai/LanguageModel"
import type * as Tool from "effect/ai/Tool"
import type * as Toolkit from "effect/ai/Toolkit"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"

/** A model that somebody brings along. */
export type ModelLayer = Layer.Layer<LanguageModel.LanguageModel, unknown, unknown>

/** Answers a call of a tool, whose parameters are decoded. */
export type ToolHandler = (
  params: unknown,
  context: Toolkit.HandlerContext<Tool.Any>
) => Effect.Effect<unknown, unknown, unknown>

/** Gives what is asked instead of a model, and what answers instead of the handler of a tool. */
export interface StandIn {
  readonly model?: (own: ModelLayer) => ModelLayer
  readonly handler?: (tool: Tool.Any, own: ToolHandler) => ToolHandler
}

const nothing: StandIn = {}

/** What stands in for what agents bring along: nothing, unless somebody says so. */
export const CurrentStandIn = Context.Reference<StandIn>("troupe/agent/StandIn", { defaultValue: () => nothing })
