/**
 * What is kept off a tape: texts that a user names, and in failures headers, keys, and queries of addresses.
 *
 * @since 0.1.0
 */
import type * as Schema from "effect/Schema"

/**
 * What is taken out of a tape: texts and regular expressions, each of which is replaced by `<redacted>` wherever it occurs, or a function
 * that returns what is written for each text. Names of agents and tools and ids of calls stay.
 *
 * @category models
 * @since 0.1.0
 */
export type Redact = ReadonlyArray<string | RegExp> | ((text: string) => string)

/** Returns a text as it is written to a tape. */
export type Change = (text: string) => string

const mask = "<redacted>"

const isPatterns = (redact: unknown): boolean =>
  Array.isArray(redact) && redact.every((pattern) => typeof pattern === "string" || pattern instanceof RegExp)

/** Makes a function of texts. */
export const toFunction = (redact: Redact | undefined): Change => {
  if (redact === undefined) return (text) => text
  if (typeof redact === "function") return redact
  if (!isPatterns(redact)) {
    throw new TypeError("`redact` must be a list of texts and regular expressions, or a function of a text")
  }
  // With the flag `y` a pattern would only be replaced at the beginning of a text.
  const patterns = redact.filter((pattern) => pattern !== "").map((pattern) =>
    typeof pattern === "string" ? pattern : new RegExp(pattern.source, `${pattern.flags.replace(/[gy]/g, "")}g`)
  )
  return (text) => patterns.reduce<string>((text, pattern) => text.replaceAll(pattern, mask), text)
}

/** Changes every text in a value, and the names of its fields. Fields for which `isKept` returns true stay. */
export const everyText = (
  json: Schema.Json,
  change: Change,
  isKept: (field: string) => boolean = () => false
): Schema.Json => {
  if (typeof json === "string") return change(json)
  if (typeof json !== "object" || json === null) return json
  if (Array.isArray(json)) return json.map((item: Schema.Json) => everyText(item, change, isKept))
  return Object.fromEntries(
    Object.entries(json).map(([field, value]): [string, Schema.Json] =>
      isKept(field) ? [field, value] : [change(field), everyText(value, change, isKept)]
    )
  )
}

/** Fields whose values stay: ids, tags and the like, which aren't text. */
const ours: ReadonlySet<string> = new Set(["_tag", "id", "type", "name", "mediaType", "providerExecuted", "outcome"])

/** Changes the texts in parts of an answer, but not their ids, names and types. In a provider's metadata, every text is changed. */
export const parts = (json: Schema.Json, change: Change): Schema.Json => {
  if (Array.isArray(json)) return json.map((item: Schema.Json) => parts(item, change))
  if (typeof json !== "object" || json === null) return json
  return Object.fromEntries(
    Object.entries(json).map(([field, value]): [string, Schema.Json] => {
      if (ours.has(field)) return [field, value]
      return [field, field === "state" || field === "modelOutput" ? parts(value, change) : everyText(value, change)]
    })
  )
}

/** Removes the user and the query from an address. */
const withoutQuery = (text: string): string =>
  text.replace(/\b([a-z][a-z0-9+.-]*:\/\/)([^\s/?#@]*@)?([^\s?#)"'\]]*)(\?[^\s#)"'\]]*)?/gi, "$1$3")

/** A pattern for keys that are written out. A partly masked key, such as `sk-abc***xyz`, doesn't match. */
const written = (begin: string): string => String.raw`${begin}(?:[\w~+/=-]|\.(?=\w)){6,}(?![\w~+/=-]|\.\w|\.{2}|[*…])`

/** Finds keys: they begin as keys of known providers do, or have 32 or more letters and digits, too many for a name. */
const keys = new RegExp(
  String.raw`(?<![\w*….-])(?:${written(String.raw`(?:(?:sk|pk|rk|gsk|xai|hf|r8|pplx|nvapi)[-_]|AIza|Bearer )`)}|${
    written(String.raw`(?=[\w-]*\d)(?=[\w-]*[a-z])(?=[\w-]{32})`)
  })`,
  "gi"
)

/**
 * Finds what an error says was given as a key. A plain word counts only after `provided:` and the like, since a key may also be "expired".
 */
const given = new RegExp(
  String.raw`(?<![a-z])((?:key|token|secret|credentials?|authorization|password)\b` +
    String.raw`(?:["'\x60)]*\s*(?:[:=]|is\b|was\b|provided\b|passed\b|given\b|received\b|used\b))*[\s"'\x60(]*)` +
    written(String.raw`(?:(?<=(?:provided|passed|given|received)\s*[:=]\s*["'\x60]?)|(?=[\w~.-]*[\d_+/=~-]))`),
  "gi"
)

/** Removes keys from the message of a failure, because some providers repeat the key of the request. */
const withoutKeys = (text: string): string => text.replace(keys, mask).replace(given, `$1${mask}`)

const reasonFields: ReadonlySet<string> = new Set(["_tag", "kind", "reason", "module", "method", "status"])

const isRecord = (json: Schema.Json | undefined): json is { readonly [field: string]: Schema.Json } =>
  typeof json === "object" && json !== null && !Array.isArray(json)

const withoutHeaders = (json: Schema.Json): Schema.Json => {
  if (!isRecord(json)) return json
  const { response, ...rest } = json
  return isRecord(response) ? { ...rest, response: { ...response, headers: {} } } : rest
}

/** Removes from an encoded failure its headers, the error of the network, the query of each address, and keys. */
export const failure = (json: Schema.Json, change: Change): Schema.Json => {
  if (!isRecord(json) || !isRecord(json["reason"])) return json
  const { cause: _, http, ...reason } = json["reason"]
  const kept = http === undefined || http === null ? reason : { ...reason, http: withoutHeaders(http) }
  const clean: Change = (text) => message(text, change)
  return { ...json, reason: everyText(kept, clean, (field) => reasonFields.has(field)) }
}

/** Removes from a failure's text everything that is removed from the failure itself. */
export const message = (text: string, change: Change): string => change(withoutKeys(withoutQuery(text)))
