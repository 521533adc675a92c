/**
 * The facts of an error that a provider of the AI SDK threw, or reported in a stream.
 *
 * Errors are recognized by the markers that the AI SDK puts on them, so that nothing of it is loaded and several versions of it work
 * together.
 *
 * @since 0.1.0
 */
import * as Predicate from "effect/Predicate"

/** The names of errors of the AI SDK, as in their markers. */
export type Name =
  | "APICallError"
  | "EmptyResponseBodyError"
  | "InvalidArgumentError"
  | "InvalidPromptError"
  | "InvalidResponseDataError"
  | "JSONParseError"
  | "LoadAPIKeyError"
  | "LoadSettingError"
  | "NoContentGeneratedError"
  | "NoSuchModelError"
  | "NoSuchProviderReferenceError"
  | "TypeValidationError"
  | "UnsupportedFunctionalityError"

/** Checks whether an error is of a kind of the AI SDK. */
export const isOf = (error: unknown, ...names: ReadonlyArray<Name>): boolean =>
  Predicate.isObject(error) && names.some((name) => Symbol.for(`vercel.ai.error.AI_${name}`) in error)

/** Returns the text or number in a field as a text. */
export const textIn = (value: unknown, key: string): string | undefined => {
  const found = Predicate.hasProperty(value, key) ? value[key] : undefined
  return typeof found === "string" && found !== "" ? found : typeof found === "number" ? String(found) : undefined
}

/** What a provider says about an error: its message, and its names for the error. */
interface Said {
  readonly message: string | undefined
  readonly names: ReadonlyArray<string>
  readonly parameter: string | undefined
  readonly details: ReadonlyArray<unknown>
}

const nothing: Said = { message: undefined, names: [], parameter: undefined, details: [] }

/** Reads JSON, or returns `undefined` if the text isn't JSON. */
export const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const isReport = (value: unknown): boolean =>
  (Predicate.hasProperty(value, "error") && Predicate.isNotNullish(value.error)) || textIn(value, "type") === "error" ||
  textIn(value, "object") === "error" ||
  textIn(value, "detail") !== undefined

const fieldIn = (value: unknown, key: string): unknown => Predicate.hasProperty(value, key) ? value[key] : undefined

/** Returns the error that a part of a stream reports: in the part itself, in its metadata, or in the response that it ends. */
export const reportIn = (part: unknown): unknown =>
  [part, fieldIn(part, "delta"), fieldIn(part, "response")].find(isReport)

/** Reads the error in a body: `{ error: { message, type, code } }`, the same without an envelope, or in a list. */
const saidIn = (value: unknown): Said => {
  if (Array.isArray(value)) return saidIn(value[0])
  const inner = Predicate.hasProperty(value, "error") ? value.error : value
  if (typeof inner === "string") return { ...nothing, message: inner }
  return {
    message: textIn(inner, "message") ?? textIn(inner, "detail"),
    names: ["type", "code", "status"].flatMap((key) => textIn(inner, key)?.toLowerCase() ?? []),
    parameter: textIn(inner, "param"),
    details: Predicate.hasProperty(inner, "details") && Array.isArray(inner.details) ? inner.details : []
  }
}

/** The maximum length of an error's message, since a provider may repeat the request in it. The response's body has the rest. */
const longest = 1000

/** Cuts a text, but no pair of surrogates in two. */
const clip = (text: string): string =>
  text.length > longest ? `${text.slice(0, longest).replace(/[\uD800-\uDBFF]$/, "")}…` : text

/** Messages for errors whose own message repeats what was sent or received. */
const repeating: ReadonlyArray<readonly [RegExp, string]> = [
  [/^JSON parsing failed: /, "What the provider sent isn't JSON"],
  [/^Type validation failed/, "What the provider's package read doesn't have the form that it expects"],
  [/^Invalid response data: /, "What the provider sent doesn't have the form that its package expects"]
]

/** Returns the paths in a value that don't fit a schema, if the schema named them. */
const placesIn = (error: unknown): string => {
  const cause = Predicate.hasProperty(error, "cause") ? error.cause : undefined
  const issues = Predicate.hasProperty(cause, "issues") && Array.isArray(cause.issues) ? cause.issues : []
  const paths = issues.flatMap((issue: unknown) =>
    Predicate.hasProperty(issue, "path") && Array.isArray(issue.path) && issue.path.length > 0
      ? [`"${issue.path.map(String).join(".")}"`]
      : []
  )
  return paths.length === 0 ? "" : `, at ${paths.join(", ")}`
}

/** Returns the message of an error, the provider's or else its package's. Other fields aren't read, because some hold the request. */
const wordsOf = (error: unknown, words: string | undefined, status: number | undefined): string => {
  if (words !== undefined) {
    const instead = repeating.find(([known]) => known.test(words))
    return clip(instead === undefined ? words : instead[1] + placesIn(error))
  }
  return status === undefined ? "The error has no message" : `The provider answered with status ${status}`
}

/** The known facts of an error. `status` is the response's, or the one that the provider reports in a stream. */
export interface Thrown {
  readonly message: string
  readonly status: number | undefined
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | undefined
  /** The provider's names for it, in lower case. */
  readonly names: ReadonlyArray<string>
  readonly parameter: string | undefined
  /** Details that Google's providers add: `{ "@type": …, … }`. */
  readonly details: ReadonlyArray<unknown>
  readonly isRetryable: boolean | undefined
  readonly url: string | undefined
  readonly cause: unknown
}

/** The status of a response. */
const responseStatus = (error: unknown): number | undefined => {
  const status = Number(textIn(error, "statusCode") ?? textIn(error, "status"))
  return Number.isInteger(status) ? status : undefined
}

/** Returns the status in an error's code. */
const statusInCode = (error: unknown): number | undefined => {
  const code = Number(textIn(Predicate.hasProperty(error, "error") ? error.error : error, "code"))
  return Number.isInteger(code) && code >= 400 && code < 600 ? code : undefined
}

const headersIn = (error: unknown): Readonly<Record<string, string>> => {
  const headers = Predicate.hasProperty(error, "responseHeaders") ? error.responseHeaders : undefined
  return Predicate.isObject(headers)
    ? Object.fromEntries(
      Object.entries(headers).flatMap(([name, value]) =>
        typeof value === "string" ? [[name.toLowerCase(), value] as const] : []
      )
    )
    : {}
}

/** Returns an error and its causes, at most five, since causes may form a circle. */
export const causes = (error: unknown, deepest = 5): ReadonlyArray<object> =>
  Predicate.isObject(error) && deepest > 0 ? [error, ...causes(error["cause"], deepest - 1)] : []

/** Returns the facts of an error. A gateway puts the response into the error that caused its own. */
export const read = (error: unknown): Thrown => {
  const answered = causes(error).find((cause) => "responseHeaders" in cause || "responseBody" in cause) ?? error
  const body = textIn(answered, "responseBody")
  const data = Predicate.hasProperty(error, "data") ? error.data : undefined
  const isRetryable = Predicate.hasProperty(error, "isRetryable") ? error.isRetryable : undefined
  const inBody = saidIn(body === undefined ? undefined : parse(body))
  const inData = saidIn(data)
  const itself = saidIn(error)
  const answer = responseStatus(error)
  const wentWell = answer !== undefined && answer < 400
  // In a stream, or in a response with a success status, some providers give the status as the code of the error.
  const status = (wentWell ? undefined : answer) ?? statusInCode(error) ?? statusInCode(data) ?? answer
  return {
    message: wordsOf(error, inBody.message ?? textIn(error, "message") ?? itself.message, status),
    status,
    headers: headersIn(answered),
    body,
    names: [...new Set([...inBody.names, ...inData.names, ...itself.names])],
    parameter: inBody.parameter ?? inData.parameter ?? itself.parameter,
    details: [inBody, inData, itself].find(({ details }) => details.length > 0)?.details ?? [],
    isRetryable: typeof isRetryable === "boolean" && !wentWell ? isRetryable : undefined,
    url: textIn(error, "url"),
    cause: Predicate.hasProperty(error, "cause") ? error.cause : undefined
  }
}
