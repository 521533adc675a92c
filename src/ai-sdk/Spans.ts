/**
 * What the span of a request says of it, as the conventions of OpenTelemetry for generative AI have it.
 *
 * @since 0.1.0
 */
import type * as Response from "effect/ai/Response"
import * as Telemetry from "effect/ai/Telemetry"
import type { Span } from "effect/Tracer"
import type { Settings } from "./Settings.ts"

interface Named {
  readonly modelId: string
  readonly provider: string
}

/** The name of a model's provider, apart from which of its interfaces is used. */
export const providerOf = ({ provider }: Named): string => provider.split(".")[0] ?? provider

/** Says what is asked. */
export const annotateRequest = (
  span: Span,
  model: Named,
  settings: Settings
): void =>
  Telemetry.addGenAIAnnotations(span, {
    provider: { name: providerOf(model) },
    operation: { name: "chat" },
    request: {
      model: model.modelId,
      temperature: settings.temperature,
      topP: settings.topP,
      topK: settings.topK,
      maxTokens: settings.maxOutputTokens,
      frequencyPenalty: settings.frequencyPenalty,
      presencePenalty: settings.presencePenalty,
      seed: settings.seed,
      stopSequences: settings.stopSequences
    }
  })

/** Says what was answered, as far as parts of the response tell it. */
export const annotateResponse = (
  span: Span,
  parts: ReadonlyArray<Response.PartEncoded | Response.StreamPartEncoded>
): void => {
  for (const part of parts) {
    if (part.type === "response-metadata") {
      Telemetry.addGenAIAnnotations(span, { response: { id: part.id, model: part.modelId } })
    }
    if (part.type === "finish") {
      Telemetry.addGenAIAnnotations(span, {
        response: { finishReasons: [part.reason] },
        usage: { inputTokens: part.usage.inputTokens.total, outputTokens: part.usage.outputTokens.total }
      })
    }
  }
}
