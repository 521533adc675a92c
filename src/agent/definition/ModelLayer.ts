/**
 * A model as a Layer.
 *
 * @since 0.1.0
 */
import type * as LanguageModel from "effect/ai/LanguageModel"
import type * as Layer from "effect/Layer"

/** A model as a Layer. */
export type ModelLayer = Layer.Layer<LanguageModel.LanguageModel, unknown, unknown>
