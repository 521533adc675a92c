/**
 * What the span of a request says of it, as the conventions of OpenTelemetry for generative AI have it.
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

/** Providers by the names that the conventions list for them, which aren't those of the AI SDK. */
const listed: ReadonlyArray<readonly [RegExp, Telemetry.WellKnownProviderName]> = [
  [/^(google\.vertex|vertex)\b/, "gcp.vertex_ai"],
  [/^google\b/, "gcp.gemini"],
  [/^mistral\b/, "mistral_ai"],
  [/^xai\b/, "x_ai"],
  [/^(amazon-)?bedrock\b/, "aws.bedrock"],
  [/^azure\b/, "azure.ai.openai"],
  [/^moonshotai\b/, "moonshot_ai"]
]

/** The name of a model's provider by the conventions, or else that of the AI SDK, apart from which of its interfaces is used. */
const providerOf = ({ provider }: Named): string =>
  listed.find(([known]) => known.test(provider))?.[1] ?? provider.split(".")[0] ?? provider

/** The names of a model and of its provider by the conventions. */
export const namesOf = (model: Named) => ({ model: model.modelId, provider: providerOf(model) })

/** Says what is asked. */
export const annotateRequest = (
  span: Span | undefined,
  model: Named,
  settings: Settings
): void => {
  // Nobody sees what is said of a span that isn't sampled.
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
