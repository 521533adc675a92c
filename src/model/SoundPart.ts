/**
 * Checks which parts of a provider's answer are valid as they are, so that they need no decoding.
 *
 * All other parts are left to `effect/ai`, which decodes them or says what is wrong: files, sources, and the calls of a provider's own
 * tools.
 *
 * @since 0.1.0
 */
import type * as Response from "effect/ai/Response"

type Fields = Readonly<Record<string, unknown>>

const isText = (value: unknown): value is string => typeof value === "string"

const isMissingOrText = (value: unknown): boolean => value === undefined || isText(value)

const isRecord = (value: unknown): value is Fields => {
  if (typeof value !== "object" || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

/** How many levels of nesting are checked. A value that is nested more deeply is left to `effect/ai`. */
const levels = 16

const isJson = (value: unknown, left: number): boolean => {
  switch (typeof value) {
    case "string":
    case "boolean":
      return true
    case "number":
      return Number.isFinite(value)
    case "object":
      if (value === null) return true
      if (left === 0) return false
      if (Array.isArray(value)) return isJsonList(value, left - 1)
      return isRecord(value) && Object.keys(value).every((key) => isJson(value[key], left - 1))
    default:
      return false
  }
}

/** Checks each element by its index, because `every` skips missing ones. */
const isJsonList = (values: ReadonlyArray<unknown>, left: number): boolean => {
  for (let at = 0; at < values.length; at++) if (!isJson(values[at], left)) return false
  return true
}

const isMetadata = (value: unknown): boolean => value === undefined || (isRecord(value) && isJson(value, levels))

const isCount = (value: unknown): boolean => value === undefined || Number.isSafeInteger(value)

const isUsage = (usage: unknown): boolean => {
  if (!isRecord(usage)) return false
  const { inputTokens, outputTokens } = usage
  return isRecord(inputTokens) && isRecord(outputTokens) && isCount(inputTokens["total"]) &&
    isCount(inputTokens["uncached"]) && isCount(inputTokens["cacheRead"]) && isCount(inputTokens["cacheWrite"]) &&
    isCount(outputTokens["total"]) && isCount(outputTokens["text"]) && isCount(outputTokens["reasoning"])
}

const reasons: ReadonlyArray<unknown> = [
  "stop",
  "length",
  "content-filter",
  "tool-calls",
  "error",
  "pause",
  "other",
  "unknown"
] satisfies ReadonlyArray<Response.FinishReason>

const isResponse = (response: unknown): boolean => {
  if (response === undefined) return true
  if (!isRecord(response) || !Number.isSafeInteger(response["status"])) return false
  const { headers } = response
  return isRecord(headers) && Object.keys(headers).every((name) => isText(headers[name]))
}

type Part = Response.PartEncoded | Response.StreamPartEncoded

type Of<Type extends Part["type"]> = Extract<Part, { readonly type: Type }>

const isFinish = ({ reason, response, usage }: Of<"finish">): boolean =>
  reasons.includes(reason) && isUsage(usage) && isResponse(response)

const isResponseMetadata = ({ id, modelId, timestamp }: Of<"response-metadata">): boolean =>
  isMissingOrText(id) && isMissingOrText(modelId) &&
  (timestamp === undefined || (isText(timestamp) && !Number.isNaN(Date.parse(timestamp))))

/** For `effect/ai` a field that is present and `undefined` isn't the same as a missing field. */
const isOurs = (part: Of<"tool-call" | "tool-params-start">): boolean =>
  part.providerExecuted === false || !("providerExecuted" in part)

const isCall = (part: Of<"tool-call">): boolean =>
  isText(part.id) && isText(part.name) && "params" in part && isOurs(part)

/** Checks a part of a kind that whole and streamed answers both have. */
const isShared = (part: Of<"tool-call" | "response-metadata" | "finish">): boolean => {
  switch (part.type) {
    case "tool-call":
      return isCall(part)
    case "response-metadata":
      return isResponseMetadata(part)
    case "finish":
      return isFinish(part)
  }
}

/** Checks whether a part of a whole answer is valid as it is. */
export const inWhole = (part: Response.PartEncoded): boolean => {
  if (!isMetadata(part.metadata)) return false
  switch (part.type) {
    case "text":
    case "reasoning":
      return isText(part.text)
    case "tool-call":
    case "response-metadata":
    case "finish":
      return isShared(part)
    default:
      return false
  }
}

/** Checks whether a part of a streamed answer is valid as it is. */
export const inStream = (part: Response.StreamPartEncoded): boolean => {
  if (!isMetadata(part.metadata)) return false
  switch (part.type) {
    case "text-delta":
    case "reasoning-delta":
    case "tool-params-delta":
      return isText(part.id) && isText(part.delta)
    case "text-start":
    case "text-end":
    case "reasoning-start":
    case "reasoning-end":
    case "tool-params-end":
      return isText(part.id)
    case "tool-params-start":
      return isText(part.id) && isText(part.name) && isOurs(part)
    case "tool-call":
    case "response-metadata":
    case "finish":
      return isShared(part)
    default:
      return false
  }
}
