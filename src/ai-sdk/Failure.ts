/**
 * Errors that a provider of the AI SDK threw, as errors of `effect/ai`.
 *
 * @since 0.1.0
 */
import * as AiError from "effect/ai/AiError"
import type * as Duration from "effect/Duration"
import * as Predicate from "effect/Predicate"
import { plain } from "./PlainAddress.ts"
import { retryAfter } from "./RetryAfter.ts"
import { shown } from "./ShownHeaders.ts"
import { causes, isOf, read, reportIn, textIn, type Thrown } from "./Thrown.ts"

/** Reads something of an error, or returns `otherwise` if reading it throws, because the error has a getter that does. */
const safely = <A>(read: () => A, otherwise: A): A => {
  try {
    return read()
  } catch {
    return otherwise
  }
}

const unreadable = "The error can't be read"

/** When an error happened: the time in epoch milliseconds, and whether the model had begun to answer. */
export interface When {
  readonly now: number
  readonly isAnswering: boolean
}

/** The response, if there was one, without its cookies. */
const withHttp = ({ body, headers, status }: Thrown): { readonly http?: typeof AiError.HttpContext.Type } => {
  if (status === undefined) return {}
  return { http: { response: { status, headers: shown(headers) }, ...(body === undefined ? undefined : { body }) } }
}

/**
 * How providers name an account without credit, for which waiting doesn't help. The words `exceeded your current quota` aren't included:
 * Google uses them also for a limit of requests a minute, and OpenAI sends a code with them.
 */
const spent = /insufficient_(quota|balance|credits|funds)|billing|credits?_(balance|exhausted)|quota_exhausted/
const spentWords = /credit balance is too low|insufficient (balance|credits|funds)/i

/** How providers name content that their policy refuses. */
const policy = /content_?(filter|policy)|moderation|safety|responsible_?ai|prohibited_content|usage_policy/
const policyWords = /content (filter|policy|management policy|moderation)|usage polic(y|ies)|safety system|was flagged/i

const wrongKey = /invalid_api_key|api_key_invalid|authentication|unauthenticated|unauthorized|invalid_token/
const expired = /expired/i
const missingKey =
  /(no|missing|didn't provide an|not provide an?|without an?) (api[ -]?key|authentication|auth(orization)? header)|(api[ -]?key|header|authentication).{0,20}(is )?(required|missing)/i

/** The statuses that names of errors mean, for errors in a stream whose response has begun with 200. */
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
  [/timeout/, 408],
  [/api_error|server_error|internal/, 500]
]

const namedStatus = ({ names }: Thrown): number | undefined =>
  names.flatMap((name) => statuses.find(([known]) => known.test(name))?.[1] ?? [])[0]

/**
 * Checks whether the package made the status up. Anthropic's package does so if a stream begins with an error: whatever error the provider
 * names, the package reports status 500, and that a retry doesn't help.
 */
const isMadeUp = ({ isRetryable, status }: Thrown): boolean =>
  status !== undefined && status >= 500 && isRetryable === false

const statusOf = (thrown: Thrown): number | undefined => {
  const { status } = thrown
  const isKnown = status !== undefined && status >= 400
  return isKnown && !isMadeUp(thrown) ? status : namedStatus(thrown) ?? (isKnown ? status : undefined)
}

const keyKind = ({ message, names }: Thrown): AiError.AuthenticationError["kind"] =>
  expired.test(message) || names.some((name) => expired.test(name))
    ? "ExpiredKey"
    : missingKey.test(message)
    ? "MissingKey"
    : "InvalidKey"

/** Sets how long to wait before the next try. `AiError.retryAfter` reads the field of any reason, though this class doesn't declare it. */
const waiting = (
  reason: AiError.InternalProviderError,
  retryAfter: Duration.Duration | undefined
): AiError.InternalProviderError => retryAfter === undefined ? reason : Object.assign(reason, { retryAfter })

/** Returns the reason for a status that refuses the request, if it is one of these. */
const refused = (thrown: Thrown, status: number, { now }: When): AiError.AiErrorReason => {
  const { message: description } = thrown
  const isRetryable = isMadeUp(thrown) && namedStatus(thrown) !== undefined ? undefined : thrown.isRetryable
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
  // If the provider itself says whether a retry may succeed, that counts.
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

/** Checks whether the network failed, by the codes and messages of the runtimes. */
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

/**
 * Returns the cause below the last `APICallError` in an error's chain of causes, because an `APICallError` holds the whole request. Returns
 * the error itself if its chain has no `APICallError`.
 */
const withoutRequest = (error: unknown): unknown => {
  const chain = causes(error)
  const last = chain.findLastIndex((cause) => isOf(cause, "APICallError"))
  return last < 0 ? error : chain[last + 1]
}

const network = (
  thrown: Thrown,
  reason: AiError.NetworkError["reason"],
  cause: unknown
): AiError.NetworkError =>
  new AiError.NetworkError({
    reason,
    method: "POST",
    url: plain(thrown.url ?? ""),
    description: thrown.message,
    cause: withoutRequest(cause)
  })

/** The reason of a stream that ended before the answer did. */
export const cutOff = (): AiError.NetworkError =>
  new AiError.NetworkError({
    reason: "TransportError",
    method: "POST",
    url: "",
    description: "The stream ended before the answer did"
  })

/** The reason of an answer that breaks the interface of providers, so that reading it threw an error. */
export const malformed = (error: unknown): AiError.InvalidResponseError =>
  new AiError.InvalidResponseError({
    description: `The answer doesn't have the form that the interface of providers prescribes: ${
      safely(() => read(error).message, unreadable)
    }`
  })

/** Checks whether nothing says why a stream broke: neither the provider nor the network. */
export const isUnexplained = (error: unknown): boolean =>
  safely(() => statusOf(read(error)) === undefined && !isNetwork(error), true)

/** Checks whether a package reports that a stream ended before the answer did: such an error has no data. */
export const isCutOff = (error: unknown): boolean =>
  safely(
    () => isOf(error, "InvalidResponseDataError") && Predicate.hasProperty(error, "data") && error.data === undefined,
    false
  )

/** Returns the reason of an error without a response. */
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
    // Before there is an answer, only the request can be invalid: the arguments of a tool of the provider.
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
  // An error without a known name in the middle of an answer is most likely the provider's own.
  return isAnswering && thrown.isRetryable !== false
    ? new AiError.InternalProviderError({ description })
    : new AiError.UnknownError({ description })
}

const readReason = (error: unknown, when: When): AiError.AiErrorReason => {
  // An error report counts even if the package doesn't know its form.
  const part = isOf(error, "TypeValidationError") && Predicate.hasProperty(error, "value") ? error.value : undefined
  const report = when.isAnswering ? reportIn(part) : undefined
  if (report !== undefined) return readReason(report, when)
  const thrown = read(error)
  const status = statusOf(thrown)
  if (status !== undefined) return refused(thrown, status, when)
  if (thrown.status !== undefined) {
    // The status is a success: reading the response failed.
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

/** Returns the reason of an error that was thrown, or that came in a stream. */
export const reasonOf = (error: unknown, when: When): AiError.AiErrorReason =>
  safely(() => readReason(error, when), new AiError.UnknownError({ description: unreadable }))
