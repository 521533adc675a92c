/**
 * The span of a request to a model, by OpenTelemetry's conventions for generative AI.
 *
 * @since 0.1.0
 */
import type * as AiError from "effect/ai/AiError"
import type * as Response from "effect/ai/Response"
import * as Telemetry from "effect/ai/Telemetry"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Result from "effect/Result"
import type { Span } from "effect/Tracer"
import type { Names } from "./NativeModel.ts"

/** The attributes that the span of a request has from its beginning. */
export const attributes = ({ model, provider }: Names): Record<string, string> => ({
  "gen_ai.operation.name": "chat",
  "gen_ai.output.type": "text",
  ...(provider === undefined ? undefined : { "gen_ai.provider.name": provider }),
  ...(model === undefined ? undefined : { "gen_ai.request.model": model })
})

/** The name of the span of a request. */
export const nameOf = ({ model }: Names): string => model === undefined ? "chat" : `chat ${model}`

/** Sets an attribute of a span, if its value is known. */
const attribute = (span: Span, name: string, value: unknown): void => {
  if (value !== undefined && value !== null) span.attribute(name, value)
}

/**
 * Sets the attributes of a failed request, and returns the exit of its span. It has only the reason and the status, since a provider's
 * message may repeat what was said.
 */
const failed = (span: Span, { reason }: AiError.AiError): Exit.Exit<never, unknown> => {
  const status = "http" in reason ? reason.http?.response?.status : undefined
  span.attribute("error.type", reason._tag)
  attribute(span, "http.response.status_code", status)
  const message = status === undefined ? reason._tag : `${reason._tag}, status ${status}`
  return Exit.fail({ name: reason._tag, message })
}

const timeOf = (span: Span, clock: Clock.Clock): bigint =>
  span.status.startTime === 0n ? 0n : clock.currentTimeNanosUnsafe()

/** Ends a span with an error. */
export const fail = (span: Span, error: AiError.AiError): Effect.Effect<void> =>
  Clock.clockWith((clock) =>
    Effect.sync(() => {
      if (span.status._tag !== "Ended") span.end(timeOf(span, clock), failed(span, error))
    })
  )

/** Sets the attributes for how the request ended. Returns a function that ends the span at the time of this call, however late it runs. */
export const ending = (
  span: Span,
  exit: Exit.Exit<unknown, AiError.AiError>,
  clock: Clock.Clock
): () => void => {
  const at = timeOf(span, clock)
  const error = Exit.isFailure(exit) ? Cause.findError(exit.cause) : undefined
  if (error !== undefined && Result.isSuccess(error)) {
    const comesTo = failed(span, error.success)
    return () => span.end(at, comesTo)
  }
  if (Exit.isFailure(exit) && Cause.hasDies(exit.cause)) span.attribute("error.type", "Defect")
  return () => span.end(at, exit)
}

type Usage = typeof Response.Usage.Encoded | Response.Usage

/** The fields of a response's part that the span shows, whether the part is decoded or not. */
type Part =
  | { readonly type: "response-metadata"; readonly id?: string | undefined; readonly modelId?: string | undefined }
  | { readonly type: "finish"; readonly reason: Response.FinishReason; readonly usage: Usage }
  | { readonly type: Exclude<Response.AllPartsEncoded["type"], "response-metadata" | "finish"> }

/** Sets the attributes of the response, as far as its parts have them. */
export const annotateResponse = (span: Span | undefined, parts: ReadonlyArray<Part>): void => {
  // Nobody sees the attributes of a span that isn't sampled.
  if (span?.sampled !== true) return
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
