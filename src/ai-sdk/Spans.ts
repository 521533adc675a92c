/**
 * What the span of a request says of it, as the conventions of OpenTelemetry for generative AI have it.
 *
 * @since 0.1.0
 */
import type * as AiError from "effect/ai/AiError"
import type * as Response from "effect/ai/Response"
import * as Telemetry from "effect/ai/Telemetry"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
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
export const providerOf = ({ provider }: Named): string =>
  listed.find(([known]) => known.test(provider))?.[1] ?? provider.split(".")[0] ?? provider

/** Says what is asked. */
export const annotateRequest = (
  span: Span,
  model: Named,
  settings: Settings
): void => {
  // Nobody sees what is said of a span that isn't sampled.
  if (!span.sampled) return
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

const attribute = (span: Span, name: string, value: unknown): void => {
  if (value !== undefined && value !== null) span.attribute(name, value)
}

/** Ends a span with an error. It names the reason and the status alone: a provider may repeat in its words what was said. */
export const fail = (span: Span, { reason }: AiError.AiError): Effect.Effect<void> =>
  Clock.clockWith((clock) =>
    Effect.sync(() => {
      if (span.status._tag === "Ended") return
      const status = "http" in reason ? reason.http?.response?.status : undefined
      span.attribute("error.type", reason._tag)
      attribute(span, "http.response.status_code", status)
      const message = status === undefined ? reason._tag : `${reason._tag}, status ${status}`
      const endTime = span.status.startTime === 0n ? 0n : clock.currentTimeNanosUnsafe()
      span.end(endTime, Exit.fail({ name: reason._tag, message }))
    })
  )

/** Says what was answered, as far as parts of the response tell it. */
export const annotateResponse = (
  span: Span,
  parts: ReadonlyArray<Response.PartEncoded | Response.StreamPartEncoded>
): void => {
  if (!span.sampled) return
  for (const part of parts) {
    if (part.type === "response-metadata") {
      Telemetry.addGenAIAnnotations(span, { response: { id: part.id, model: part.modelId } })
    }
    if (part.type === "finish") {
      Telemetry.addGenAIAnnotations(span, {
        response: { finishReasons: [part.reason] },
        usage: { inputTokens: part.usage.inputTokens.total, outputTokens: part.usage.outputTokens.total }
      })
      const { inputTokens, outputTokens } = part.usage
      attribute(span, "gen_ai.usage.cache_read.input_tokens", inputTokens.cacheRead)
      attribute(span, "gen_ai.usage.cache_creation.input_tokens", inputTokens.cacheWrite)
      attribute(span, "gen_ai.usage.reasoning.output_tokens", outputTokens.reasoning)
    }
  }
}
