/**
 * The error of a failed request, made from its event: an event has the error's tag and message, and no other field.
 *
 * @since 0.1.0
 */
import * as AiError from "effect/ai/AiError"
import * as Duration from "effect/Duration"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type { ModelCallFailed } from "../../domain/AgentEvent.ts"

/** How a reason's message says its fields, and the values of fields that it doesn't say. */
interface Wording {
  readonly says: RegExp
  readonly other?: { readonly [field: string]: unknown }
}

const wordings: { readonly [Tag in AiError.AiErrorReason["_tag"]]: Wording } = {
  RateLimitError: { says: /^Rate limit exceeded(?:\. Retry after (?<retryAfter>[^]*))?$/ },
  QuotaExhaustedError: { says: /^Quota exhausted/ },
  AuthenticationError: {
    says: /^(?<kind>\w+): (?:Your API key has expired\. )?[^.]*(?:\. (?<description>[^]*))?$/,
    other: { kind: "Unknown" }
  },
  ContentPolicyError: { says: /^Content policy violation: (?<description>[^]*)$/ },
  InvalidRequestError: {
    says:
      /^Invalid request(?:: parameter '(?<parameter>[^']*)')?(?: (?<constraint>[^.]*))?(?:\. (?<description>[^]*))?$/
  },
  InvalidResponseError: { says: /^Invalid response: (?<description>[^]*)$/ },
  InternalProviderError: { says: /^Internal provider error: (?<description>[^]*)$/ },
  NetworkError: {
    says:
      /^(?<reason>TransportError|EncodeError|InvalidUrlError): (?<description>[^]*) \((?<method>\S+) (?<url>[^\n]*)\)\n\n/,
    other: { reason: "TransportError", method: "POST", url: "" }
  },
  InvalidOutputError: { says: /^Invalid output: (?<description>[^]*)$/ },
  StructuredOutputError: {
    says: /^Structured output validation failed: (?<description>[^]*)$/,
    other: { responseText: "" }
  },
  UnsupportedSchemaError: { says: /^Unsupported schema: (?<description>[^]*)$/ },
  UnknownError: { says: /^(?<description>[^]*)$/ },
  ToolNotFoundError: {
    says: /^Tool '(?<toolName>[^]*)' not found\. Available tools: (?<availableTools>[^]*)$/,
    other: { toolName: "", availableTools: [] }
  },
  ToolParameterValidationError: {
    says: /^Invalid parameters for tool '(?<toolName>[^]*?)': (?<description>[^]*)$/,
    other: { toolName: "" }
  },
  InvalidToolResultError: {
    says: /^Tool '(?<toolName>[^]*?)' returned invalid result: (?<description>[^]*)$/,
    other: { toolName: "" }
  },
  ToolResultEncodingError: {
    says: /^Failed to encode result for tool '(?<toolName>[^]*?)': (?<description>[^]*)$/,
    other: { toolName: "", toolResult: null }
  },
  ToolConfigurationError: {
    says: /^Invalid configuration for tool '(?<toolName>[^]*?)': (?<description>[^]*)$/,
    other: { toolName: "" }
  },
  ToolkitRequiredError: {
    says: /^Toolkit required to resolve pending tool approvals: (?<pendingApprovals>[^]*)$/,
    other: { pendingApprovals: [] }
  },
  InvalidUserInputError: { says: /^Invalid user input: (?<description>[^]*)$/ }
}

const isKnown = (tag: string): tag is keyof typeof wordings => Object.hasOwn(wordings, tag)

const units: Readonly<Record<string, keyof Duration.DurationObject>> = {
  d: "days",
  h: "hours",
  m: "minutes",
  s: "seconds",
  ms: "milliseconds",
  ns: "nanoseconds"
}

/** Reads a duration as `Duration.format` writes it. An infinite one is missing. */
const readDuration = (text: string): Duration.Duration | undefined => {
  const pieces = [...text.matchAll(/(\d+)([a-z]+)/g)].flatMap(([, count, unit]) => {
    const name = units[unit!]
    return name === undefined ? [] : [[name, Number(count)] as const]
  })
  return pieces.length === 0 ? undefined : Duration.fromInputUnsafe(Object.fromEntries(pieces))
}

const readNames = (text: string): ReadonlyArray<string> => text === "" || text === "none" ? [] : text.split(", ")

/** Fields that a message says in another form than the reason has. */
const read: { readonly [field: string]: (said: string) => unknown } = {
  retryAfter: readDuration,
  availableTools: readNames,
  pendingApprovals: readNames
}

const decodeReason = Schema.decodeUnknownResult(AiError.AiErrorReason)

/** Makes a reason again from its message. What it doesn't say is missing, or is the value in `wordings`. */
const reasonOf = (tag: string, text: string): AiError.AiErrorReason | undefined => {
  if (!isKnown(tag)) return undefined
  const { other, says } = wordings[tag]
  const said = Object.entries(says.exec(text)?.groups ?? { description: text })
    .flatMap(([field, text]) => text === undefined ? [] : [[field, field in read ? read[field]!(text) : text]])
  return Result.getOrUndefined(decodeReason({ _tag: tag, ...other, ...Object.fromEntries(said) }))
}

/**
 * Makes the error of a failed request from its event. It is retried if the recorded one was, because its reason has the same tag. If the
 * tag isn't that of a reason, the error is an `InvalidRequestError`, which has no usage, or, if the answer broke off, an `UnknownError`,
 * whose usage is unknown.
 */
export const errorOf = ({ isBrokenOff, message, tag }: ModelCallFailed): AiError.AiError => {
  const [, module = "LanguageModel", method = "generateText", description = message] =
    /^(\w+)\.(\w+): ([^]*)$/.exec(message) ?? []
  const reason = reasonOf(tag, description) ??
    (isBrokenOff === true
      ? new AiError.UnknownError({ description })
      : new AiError.InvalidRequestError({ description }))
  const error = AiError.make({ module, method, reason })
  return error.message === message ? error : Object.defineProperty(error, "message", { value: message })
}
