/**
 * A response of HTTP that isn't a success, and the error that a provider's client makes of it.
 *
 * @since 0.1.0
 */
import * as AiError from "effect/ai/AiError"
import * as Duration from "effect/Duration"
import * as Predicate from "effect/Predicate"
import type * as Schema from "effect/Schema"

/** An HTTP response that isn't a success, as a provider sends it. A `body` that is a string is sent as text, any other as JSON. */
export interface HttpFailure {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Schema.Json
}

const stringOf = (value: unknown, key: string): string | undefined =>
  Predicate.hasProperty(value, key) && typeof value[key] === "string" ? value[key] : undefined

/** What bodies of errors have in common: `{ error: { message, type, code } }`, or nothing but a message. */
export const fieldsOf = (body: unknown) => {
  if (typeof body === "string") return { message: body }
  const error = Predicate.hasProperty(body, "error") ? body.error : undefined
  return { message: stringOf(error, "message"), type: stringOf(error, "type"), code: stringOf(error, "code") }
}

/** Returns headers with their names in lower case: as HTTP ignores the case, merging two spellings of one name would send both values. */
export const lowerCase = (headers: HttpFailure["headers"] = {}): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))

const seconds = (header: string | undefined): Duration.Duration | undefined =>
  header !== undefined && /^\d+(\.\d+)?$/.test(header.trim()) ? Duration.seconds(Number(header)) : undefined

/** The error of a client for a response of HTTP. */
export const errorOf = ({ body, headers, status }: HttpFailure): AiError.AiErrorReason => {
  const { code, message, type } = fieldsOf(body)
  const lower = lowerCase(headers)
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
    default: {
      const reason = AiError.reasonFromHttpStatus({ status, ...common })
      const retryAfter = status >= 500 ? seconds(lower["retry-after"]) : undefined
      // The reason's class has no field `retryAfter`, but `AiError.retryAfter` reads one from any reason.
      return retryAfter === undefined ? reason : Object.assign(reason, { retryAfter })
    }
  }
}
