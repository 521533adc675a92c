/**
 * What a provider of the AI SDK threw, as an error of `effect/ai`.
 *
 * @since 0.1.0
 */
import * as AiError from "effect/ai/AiError"
import type * as Duration from "effect/Duration"
import * as Predicate from "effect/Predicate"
import { retryAfter } from "./RetryAfter.ts"
import { shown } from "./ShownHeaders.ts"
import { causes, isOf, read, reportIn, textIn, type Thrown } from "./Thrown.ts"

/** When an error came: at which time in milliseconds, and whether the model had begun to answer. */
export interface When {
  readonly now: number
  readonly isAnswering: boolean
}

/** The response, where there was one, without its cookies. */
const withHttp = ({ body, headers, status }: Thrown): { readonly http?: typeof AiError.HttpContext.Type } => {
  if (status === undefined) return {}
  return { http: { response: { status, headers: shown(headers) }, ...(body === undefined ? undefined : { body }) } }
}

/**
 * What providers call an account that has nothing left to spend, which no waiting helps. Google says of a limit of requests a minute too
 * that it "exceeded your current quota", so these words aren't among them: OpenAI names the error besides.
 */
const spent = /insufficient_(quota|balance|credits|funds)|billing|credits?_(balance|exhausted)|quota_exhausted/
const spentWords = /credit balance is too low|insufficient (balance|credits|funds)/i

/** What providers call words that their policy has no answer to. */
const policy = /content_?(filter|policy)|moderation|safety|responsible_?ai|prohibited_content|usage_policy/
const policyWords = /content (filter|policy|management policy|moderation)|usage polic(y|ies)|safety system|was flagged/i

const wrongKey = /invalid_api_key|api_key_invalid|authentication|unauthenticated|unauthorized|invalid_token/
const expired = /expired/i
const missingKey =
  /(no|missing|didn't provide an|not provide an?|without an?) (api[ -]?key|authentication|auth(orization)? header)|(api[ -]?key|header|authentication).{0,20}(is )?(required|missing)/i

/** Statuses that the names of errors stand for, where there is no other: in a stream the response has begun with 200. */
const statuses: ReadonlyArray<readonly [RegExp, number]> = [
  [spent, 402],
  [policy, 400],
  [/rate_limit|too_many_requests|resource_exhausted|throttl/, 429],
  [/overloaded|unavailable/, 529],
  [/permission/, 403],
  [wrongKey, 401],
  [/request_too_large/, 413],
  [/not_found|no_such_model/, 404],
  [/invalid_request|invalid_argument|context_length|bad_request|invalid_prompt|unsupported/, 400],
  [/timeout/, 408]
]

const statusOf = ({ names, status }: Thrown): number | undefined => {
  if (status !== undefined && status >= 400) return status
  return names.flatMap((name) => statuses.find(([known]) => known.test(name))?.[1] ?? [])[0]
}

const keyKind = ({ message, names }: Thrown): AiError.AuthenticationError["kind"] =>
  expired.test(message) || names.some((name) => expired.test(name))
    ? "ExpiredKey"
    : missingKey.test(message)
    ? "MissingKey"
    : "InvalidKey"

/** Says how long to wait before asking again, which `AiError.retryAfter` reads of any reason; the class has no field for it. */
const waiting = (
  reason: AiError.InternalProviderError,
  retryAfter: Duration.Duration | undefined
): AiError.InternalProviderError => retryAfter === undefined ? reason : Object.assign(reason, { retryAfter })

/** The reason of a response that refused the request, where its status is one of these. */
const refused = (thrown: Thrown, status: number, { now }: When): AiError.AiErrorReason => {
  const { isRetryable, message: description } = thrown
  const wait = retryAfter(thrown, now)
  const http = withHttp(thrown)
  const names = thrown.names.join(" ")
  const isPlain = status === 400 || status === 403 || status === 422
  if (status === 402 || spent.test(names) || ((isPlain || status === 429) && spentWords.test(description))) {
    return new AiError.QuotaExhaustedError(http)
  }
  if (status < 429 && (policy.test(names) || (isPlain && policyWords.test(description)))) {
    return new AiError.ContentPolicyError({ description, ...http })
  }
  if (status === 401 || (status === 400 && wrongKey.test(names)) || /api key not valid/i.test(description)) {
    return new AiError.AuthenticationError({ kind: keyKind(thrown), description, ...http })
  }
  if (status === 403) {
    return new AiError.AuthenticationError({ kind: "InsufficientPermissions", description, ...http })
  }
  if (status === 429) {
    return new AiError.RateLimitError({ ...http, ...(wait === undefined ? undefined : { retryAfter: wait }) })
  }
  // A provider that says so itself is right about whether the same may go well another time.
  if (status >= 500 || status === 408 || status === 409) {
    return isRetryable === false
      ? new AiError.UnknownError({ description, ...http })
      : waiting(new AiError.InternalProviderError({ description, ...http }), wait)
  }
  if (isRetryable === true) return waiting(new AiError.InternalProviderError({ description, ...http }), wait)
  const parameter = thrown.parameter ?? (/model_not_found|no_such_model/.test(names) ? "model" : undefined)
  return new AiError.InvalidRequestError({
    description,
    ...http,
    ...(parameter === undefined ? undefined : { parameter })
  })
}

const networkCodes = /^(E[A-Z]{3,}|UND_ERR_\w+|ConnectionRefused|ConnectionClosed)$/
const networkNames = /^(AbortError|TimeoutError|ResponseAborted|SocketError)$/
const networkWords =
  /^(fetch failed|failed to fetch|terminated|network ?error|load failed|other side closed|socket hang up)/i

/** Checks whether it was the way to the provider that failed, by the codes and words of the runtimes. */
const isNetwork = (error: unknown): boolean =>
  causes(error).some((cause) =>
    networkCodes.test(textIn(cause, "code") ?? "") ||
    networkNames.test(textIn(cause, "name") ?? "") ||
    (cause instanceof TypeError && networkWords.test(cause.message))
  )

const isInvalidUrl = (error: unknown): boolean =>
  causes(error).some((cause) =>
    textIn(cause, "code") === "ERR_INVALID_URL" ||
    (cause instanceof TypeError && /invalid url|failed to parse url/i.test(cause.message))
  )

/** Gives an error's cause, or itself, without errors of calls and what they are the cause of: those hold the whole request. */
const withoutRequest = (error: unknown): unknown => {
  const chain = causes(error)
  const last = chain.findLastIndex((cause) => isOf(cause, "APICallError"))
  return last < 0 ? error : chain[last + 1]
}

/** An address without what may be a key in it. */
const plainUrl = (url: string): string => {
  if (!URL.canParse(url)) return url.split("?")[0] ?? ""
  const { host, pathname, protocol } = new URL(url)
  return `${protocol}//${host}${pathname}`
}

const network = (
  thrown: Thrown,
  reason: AiError.NetworkError["reason"],
  cause: unknown
): AiError.NetworkError =>
  new AiError.NetworkError({
    reason,
    method: "POST",
    url: plainUrl(thrown.url ?? ""),
    description: thrown.message,
    cause: withoutRequest(cause)
  })

/** A stream that ended before the answer did. */
export const cutOff = (): AiError.NetworkError =>
  new AiError.NetworkError({
    reason: "TransportError",
    method: "POST",
    url: "",
    description: "The stream ended before the answer did"
  })

/** Checks whether a package reports that a stream ended before the answer did: it has no data to show then. */
export const isCutOff = (error: unknown): boolean =>
  isOf(error, "InvalidResponseDataError") && Predicate.hasProperty(error, "data") && error.data === undefined

/** The reason of an error without a response. */
const other = (error: unknown, thrown: Thrown, { isAnswering }: When): AiError.AiErrorReason => {
  const { message: description } = thrown
  if (isOf(error, "LoadAPIKeyError")) return new AiError.AuthenticationError({ kind: "MissingKey", description })
  if (isOf(error, "NoSuchModelError")) return new AiError.InvalidRequestError({ parameter: "model", description })
  if (isOf(error, "InvalidPromptError")) return new AiError.InvalidUserInputError({ description })
  if (isOf(error, "NoContentGeneratedError")) return new AiError.InvalidOutputError({ description })
  if (isOf(error, "EmptyResponseBodyError", "InvalidResponseDataError")) {
    return new AiError.InvalidResponseError({ description })
  }
  if (isOf(error, "JSONParseError", "TypeValidationError")) {
    // Before there is an answer it is what we sent that doesn't fit: the arguments of a tool of the provider.
    return isAnswering
      ? new AiError.InvalidResponseError({ description })
      : new AiError.InvalidRequestError({ description })
  }
  if (
    isOf(
      error,
      "InvalidArgumentError",
      "LoadSettingError",
      "NoSuchProviderReferenceError",
      "UnsupportedFunctionalityError"
    )
  ) {
    const parameter = Predicate.hasProperty(error, "argument") ? error.argument : undefined
    return new AiError.InvalidRequestError({
      description,
      ...(typeof parameter === "string" ? { parameter } : undefined)
    })
  }
  if (isInvalidUrl(error)) return network(thrown, "InvalidUrlError", error)
  if (isNetwork(error)) return network(thrown, "TransportError", error)
  // What a provider reports in the middle of an answer and gives no known name is most likely its own trouble.
  return isAnswering && thrown.isRetryable !== false
    ? new AiError.InternalProviderError({ description })
    : new AiError.UnknownError({ description })
}

/** Gives the reason of an error that was thrown, or that stood in a stream. */
export const reasonOf = (error: unknown, when: When): AiError.AiErrorReason => {
  // A report in a form that the package doesn't know is a report all the same.
  const part = isOf(error, "TypeValidationError") && Predicate.hasProperty(error, "value") ? error.value : undefined
  const report = when.isAnswering ? reportIn(part) : undefined
  if (report !== undefined) return reasonOf(report, when)
  const thrown = read(error)
  const status = statusOf(thrown)
  if (status !== undefined) return refused(thrown, status, when)
  if (thrown.status !== undefined) {
    // It went well until the response was read.
    const { cause, message } = thrown
    if (isNetwork(cause)) return network(thrown, "TransportError", error)
    const why = cause === undefined ? message : `${message}: ${read(cause).message}`
    return new AiError.InvalidResponseError({ description: why, ...withHttp(thrown) })
  }
  if (isOf(error, "APICallError") && thrown.names.length === 0 && !isInvalidUrl(error)) {
    return network(thrown, "TransportError", error)
  }
  return other(error, thrown, when)
}
