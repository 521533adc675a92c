/**
 * Values of our own: a copy that nobody else holds, as JSON.
 *
 * @since 0.1.0
 */
import type * as Schema from "effect/Schema"
import * as ForeignValue from "./ForeignValue.ts"

const notJson = new TypeError("Not JSON")

const copy = (value: unknown): Schema.Json => {
  switch (typeof value) {
    case "string":
    case "boolean":
      return value
    case "number":
      if (!Number.isFinite(value)) throw notJson
      return value + 0 // JSON has no -0
    case "object": {
      if (value === null) return null
      if (Array.isArray(value)) return value.map(copy)
      const prototype: unknown = Object.getPrototypeOf(value)
      if (prototype !== Object.prototype && prototype !== null) throw notJson
      const copied: Record<string, Schema.Json> = {}
      for (const key of Object.keys(value)) {
        if (key === "__proto__") throw notJson
        copied[key] = copy((value as Record<string, unknown>)[key])
      }
      return copied
    }
    default:
      throw notJson
  }
}

/**
 * Copies a value as JSON. What isn't JSON becomes the text or the data that says most about it.
 *
 * @category conversions
 * @since 0.1.0
 */
export const fromUnknown = (value: unknown): Schema.Json => {
  try {
    return copy(value)
  } catch {
    return ForeignValue.toJson(value).json
  }
}

const freeze = (json: Schema.Json): Schema.Json => {
  if (typeof json !== "object" || json === null) return json
  for (const item of Object.values(json)) freeze(item)
  return Object.freeze(json)
}

/** Copies a value as JSON that can't be changed. */
export const frozen = (value: unknown): Schema.Json => freeze(fromUnknown(value))
