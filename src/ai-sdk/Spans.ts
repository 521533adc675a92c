/**
 * The attributes of a request's span, by OpenTelemetry's conventions for generative AI.
 *
 * @since 0.1.0
 */
import * as Telemetry from "effect/ai/Telemetry"
import type { Span } from "effect/Tracer"
import type { Settings } from "./Settings.ts"

interface Named {
  readonly modelId: string
  readonly provider: string
}

/** The conventions' names of providers, if they differ from those of the AI SDK. */
const listed: ReadonlyArray<readonly [RegExp, Telemetry.WellKnownProviderName]> = [
  [/^(google\.vertex|vertex)\b/, "gcp.vertex_ai"],
  [/^google\b/, "gcp.gemini"],
  [/^mistral\b/, "mistral_ai"],
  [/^xai\b/, "x_ai"],
  [/^(amazon-)?bedrock\b/, "aws.bedrock"],
  [/^azure\b/, "azure.ai.openai"],
  [/^moonshotai\b/, "moonshot_ai"]
]

/** Returns the conventions' name of a model's provider, or else the AI SDK's name without the part for the provider's interface. */
const providerOf = ({ provider }: Named): string =>
  listed.find(([known]) => known.test(provider))?.[1] ?? provider.split(".")[0] ?? provider

/** Returns the names of a model and of its provider, by the conventions. */
export const namesOf = (model: Named) => ({ model: model.modelId, provider: providerOf(model) })

/** Sets the attributes of the request. */
export const annotateRequest = (
  span: Span | undefined,
  model: Named,
  settings: Settings
): void => {
  // Nobody sees the attributes of a span that isn't sampled.
  if (span?.sampled !== true) return
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
}
