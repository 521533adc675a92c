/**
 * The errors of providers: by status, and for the errors that a script names.
 *
 * @since 0.1.0
 */
import type * as AiError from "effect/ai/AiError"
import * as Duration from "effect/Duration"
import { fieldsOf, type HttpFailure } from "../HttpFailure.ts"
import type { Protocol, Refusal } from "./Protocol.ts"

type Words = Omit<Refusal, "status">

const rateLimit = "Please try again in 1s. Visit https://platform.openai.com/account/rate-limits to learn more."

const openAi: Readonly<Record<number, Words>> = {
  401: {
    type: "invalid_request_error",
    code: "invalid_api_key",
    message: "Incorrect API key provided. You can find your API key at https://platform.openai.com/account/api-keys."
  },
  403: {
    type: "invalid_request_error",
    code: "permission_denied",
    message: "You have insufficient permissions for this operation."
  },
  404: {
    type: "invalid_request_error",
    code: "model_not_found",
    message: "The model does not exist or you do not have access to it."
  },
  429: {
    type: "requests",
    code: "rate_limit_exceeded",
    message: `Rate limit reached for requests per min (RPM): Limit 500, Used 500, Requested 1. ${rateLimit}`
  },
  503: { type: "server_error", message: "The engine is currently overloaded, please try again later" }
}

const anthropic: Readonly<Record<number, Words>> = {
  401: { type: "authentication_error", message: "invalid x-api-key" },
  402: { type: "billing_error", message: "There is an issue with your billing or payment information." },
  403: {
    type: "permission_error",
    message: "Your API key does not have permission to use the specified resource."
  },
  404: { type: "not_found_error", message: "The requested resource could not be found." },
  413: { type: "request_too_large", message: "Request exceeds the maximum allowed number of bytes." },
  429: {
    type: "rate_limit_error",
    message: "This request would exceed your account's rate limit. Please try again later."
  },
  504: { type: "timeout_error", message: "The request timed out." },
  529: { type: "overloaded_error", message: "Overloaded" }
}

const ofServer = "The server had an error while processing your request. Sorry about that!"

const words = (protocol: Protocol["name"], status: number): Words => {
  const isAnthropic = protocol === "anthropic-messages"
  const known = (isAnthropic ? anthropic : openAi)[status]
  if (known !== undefined) return known
  if (status < 500) return { type: "invalid_request_error", message: "Invalid request." }
  return isAnthropic
    ? { type: "api_error", message: "Internal server error" }
    : { type: "server_error", message: ofServer }
}

/** The error that a provider sends with a status, with a message of one's own or its usual one. */
export const ofStatus = (protocol: Protocol["name"], status: number, message?: string): Refusal => ({
  status,
  ...words(protocol, status),
  ...(message === undefined ? undefined : { message })
})

const statuses: Partial<Record<AiError.AiErrorReason["_tag"], number>> = {
  AuthenticationError: 401,
  ContentPolicyError: 400,
  InvalidRequestError: 400,
  InvalidUserInputError: 400,
  QuotaExhaustedError: 429,
  RateLimitError: 429,
  ToolConfigurationError: 400,
  UnsupportedSchemaError: 400
}

const codes = (protocol: Protocol["name"], reason: AiError.AiErrorReason): Partial<Refusal> => {
  if (protocol === "anthropic-messages") return {}
  switch (reason._tag) {
    case "QuotaExhaustedError":
      return { type: "insufficient_quota", code: "insufficient_quota" }
    case "ContentPolicyError":
      return { code: "content_policy_violation" }
    default:
      return {}
  }
}

/** The provider's error that a client turns into the error of a script. */
export const ofError = (protocol: Protocol["name"], { reason }: AiError.AiError): Refusal => {
  const status = ("http" in reason ? reason.http?.response?.status : undefined) ?? statuses[reason._tag] ?? 500
  const message = "description" in reason ? reason.description : undefined
  const retryAfter = "retryAfter" in reason ? reason.retryAfter : undefined
  return {
    ...ofStatus(protocol, status, message),
    ...codes(protocol, reason),
    ...(retryAfter === undefined ? undefined : { headers: { "retry-after": String(Duration.toSeconds(retryAfter)) } })
  }
}

/** The error of a response of HTTP, as far as its body says what it is. */
export const ofHttp = (protocol: Protocol["name"], { body, status }: HttpFailure): Refusal => {
  const { code, message, type } = fieldsOf(body)
  return {
    ...ofStatus(protocol, status, message),
    ...(type === undefined ? undefined : { type }),
    ...(code === undefined ? undefined : { code })
  }
}

/** The error for a path at which there is nothing. */
export const nowhere = (protocol: Protocol["name"], method: string, path: string): Refusal =>
  protocol === "anthropic-messages"
    ? ofStatus(protocol, 404, "Not Found")
    : { status: 404, type: "invalid_request_error", message: `Invalid URL (${method} ${path})` }

/** The error for a model that there isn't. */
export const unknownModel = (protocol: Protocol["name"], model: string): Refusal =>
  ofStatus(
    protocol,
    404,
    protocol === "anthropic-messages"
      ? `model: ${model}`
      : `The model \`${model}\` does not exist or you do not have access to it.`
  )

/** The first refusal, if any. */
export const first = <A>(
  values: Iterable<A>,
  check: (value: A, index: number) => Refusal | undefined
): Refusal | undefined => {
  let index = 0
  for (const value of values) {
    const refusal = check(value, index++)
    if (refusal !== undefined) return refusal
  }
  return undefined
}
