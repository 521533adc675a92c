/**
 * A decision model that answers as it is told, and takes down what it was asked.
 */
import { Effect, Layer } from "effect"
import { type AiError, DecisionModel } from "effect/ai"

export const deciding = (
  answers: Effect.Effect<Readonly<Record<string, DecisionModel.ProviderAnswer>>, AiError.AiError>,
  asked: Array<DecisionModel.ProviderOptions>
): Layer.Layer<DecisionModel.DecisionModel> =>
  Layer.effect(
    DecisionModel.DecisionModel,
    DecisionModel.make({
      decide: (options) => {
        asked.push(options)
        const usage = { inputTokens: undefined, outputTokens: undefined }
        return Effect.map(answers, (answers) => ({ answers, usage }))
      }
    })
  )
