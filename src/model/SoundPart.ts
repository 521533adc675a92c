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

const isText = (value: unknown): boolean => typeof value === "string"

const isMissingOrText = (value: unknown): boolean => value === undefined || typeof value === "string"

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
      if (Array.isArray(value)) return value.every((each) => isJson(each, left - 1))
      return isRecord(value) && Object.keys(value).every((key) => isJson(value[key], left - 1))
    default:
      return false
  }
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

const isFinish = (part: Fields): boolean =>
  reasons.includes(part["reason"]) && isUsage(part["usage"]) && isResponse(part["response"])

const isResponseMetadata = ({ id, modelId, timestamp }: Fields): boolean =>
  isMissingOrText(id) && isMissingOrText(modelId) &&
  (timestamp === undefined || (typeof timestamp === "string" && !Number.isNaN(Date.parse(timestamp))))

/** For `effect/ai` a field that is present and `undefined` isn't the same as a missing field. */
const isOurs = (fields: Fields): boolean => fields["providerExecuted"] === false || !("providerExecuted" in fields)

const isCall = (part: Fields): boolean => isText(part["id"]) && isText(part["name"]) && "params" in part && isOurs(part)

const isSpoken = ({ text }: Fields): boolean => isText(text)

/** Checks whether a part of a whole answer is valid as it is. */
export const inWhole = (part: Response.PartEncoded): boolean => {
  const fields = part as unknown as Fields
  if (!isMetadata(part.metadata)) return false
  switch (part.type) {
    case "text":
    case "reasoning":
      return isSpoken(fields)
    case "tool-call":
      return isCall(fields)
    case "response-metadata":
      return isResponseMetadata(fields)
    case "finish":
      return isFinish(fields)
    default:
      return false
  }
}

/** Checks whether a part of a streamed answer is valid as it is. */
export const inStream = (part: Response.StreamPartEncoded): boolean => {
  const fields = part as unknown as Fields
  if (!isMetadata(part.metadata)) return false
  switch (part.type) {
    case "text-delta":
    case "reasoning-delta":
    case "tool-params-delta":
      return isText(fields["id"]) && isText(fields["delta"])
    case "text-start":
    case "text-end":
    case "reasoning-start":
    case "reasoning-end":
    case "tool-params-end":
      return isText(fields["id"])
    case "tool-params-start":
      return isText(fields["id"]) && isText(fields["name"]) && isOurs(fields)
    case "tool-call":
      return isCall(fields)
    case "response-metadata":
      return isResponseMetadata(fields)
    case "finish":
      return isFinish(fields)
    default:
      return false
  }
}
