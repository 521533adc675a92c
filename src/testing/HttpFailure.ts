/**
 * A response of HTTP that isn't a success, and the error that a provider's client makes of it.
 *
 * @since 0.1.0
 */
import * as AiError from "effect/ai/AiError"
import * as Duration from "effect/Duration"
import * as Predicate from "effect/Predicate"
import type * as Schema from "effect/Schema"

/** A response of HTTP that isn't a success, as a provider sends it. */
export interface HttpFailure {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Schema.Json
}

/** What bodies of errors have in common: `{ error: { message, type, code } }`. */
const fieldsOf = (body: unknown): { readonly message?: string; readonly type?: unknown; readonly code?: unknown } => {
  const error = Predicate.hasProperty(body, "error") ? body.error : undefined
  return Predicate.hasProperty(error, "message") && typeof error.message === "string"
    ? error as { readonly message: string }
    : typeof body === "string"
    ? { message: body }
    : {}
}

const seconds = (header: string | undefined): Duration.Duration | undefined =>
  header !== undefined && /^\d+(\.\d+)?$/.test(header.trim()) ? Duration.seconds(Number(header)) : undefined

/** The error of a client for a response of HTTP. */
export const errorOf = ({ body, headers = {}, status }: HttpFailure): AiError.AiErrorReason => {
  const { code, message, type } = fieldsOf(body)
  const lower = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
  const http = {
    response: { status, headers: lower },
    ...(body === undefined ? undefined : { body: typeof body === "string" ? body : JSON.stringify(body) })
  }
  const common = { http, ...(message === undefined ? undefined : { description: message }) }
  switch (status) {
    case 404:
    case 409:
    case 413:
    case 422:
      return new AiError.InvalidRequestError(common)
    case 408:
      return new AiError.InternalProviderError({ description: "Request timeout", ...common })
    case 429: {
      if (code === "insufficient_quota" || type === "insufficient_quota") {
        return new AiError.QuotaExhaustedError({ http })
      }
      const retryAfter = seconds(lower["retry-after"])
      return new AiError.RateLimitError({ http, ...(retryAfter === undefined ? undefined : { retryAfter }) })
    }
    default:
      return AiError.reasonFromHttpStatus({ status, ...common })
  }
}
