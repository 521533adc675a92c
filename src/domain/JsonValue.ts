/**
 * JSON copies of values that share nothing with the original.
 *
 * @since 0.1.0
 */
import type * as Schema from "effect/Schema"
import * as ForeignValue from "./ForeignValue.ts"

export const put = (self: Record<string, unknown>, key: string, value: unknown): void => {
  if (key === "__proto__") {
    Object.defineProperty(self, key, { value, enumerable: true, configurable: true, writable: true })
  } else self[key] = value
}

const isPlain = (value: object): value is Readonly<Record<string, unknown>> => {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

/** Copies arrays and plain objects down to so many levels; `other` converts anything else that isn't JSON. */
const copy = (value: unknown, levels: number, other: (value: unknown) => unknown): unknown => {
  switch (typeof value) {
    case "string":
    case "boolean":
      return value
    case "number":
      return Number.isFinite(value) && !Object.is(value, -0) ? value : other(value)
    case "object": {
      if (value === null) return null
      if (levels === 0) return other(value)
      if (Array.isArray(value)) {
        const items: Array<unknown> = []
        for (const item of value) items.push(copy(item, levels - 1, other))
        return items
      }
      if (!isPlain(value)) return other(value)
      const copied: Record<string, unknown> = {}
      for (const key of Object.keys(value)) put(copied, key, copy(value[key], levels - 1, other))
      return copied
    }
    default:
      return other(value)
  }
}

const notJson = new TypeError("Not JSON")

const refuse = (): never => {
  throw notJson
}

const copyOther = (value: unknown): unknown =>
  value instanceof Uint8Array ? new Uint8Array(value) : value instanceof URL ? new URL(value) : value

/** Copies the plain data, the bytes and the URLs in a value, and keeps everything else in it as it is. */
export const detached = (value: unknown): unknown => copy(value, Infinity, copyOther)

const convert = (value: unknown): ForeignValue.Converted => {
  try {
    // `refuse` throws for anything that isn't JSON, so the copy is JSON.
    return { json: copy(value, ForeignValue.maxLevels, refuse) as Schema.Json, changes: [] }
  } catch {
    return ForeignValue.toJson(value)
  }
}

/**
 * Copies a value as JSON. Parts that aren't JSON, or are nested too deeply, become the text or data that says most about them.
 *
 * @category conversions
 * @since 0.1.0
 */
export const fromUnknown = (value: unknown): Schema.Json => convert(value).json

/**
 * Copies a value as JSON, or returns `undefined` if it is nested too deeply.
 *
 * @category conversions
 * @since 0.1.0
 */
export const within = (value: unknown): Schema.Json | undefined => {
  const { changes, json } = convert(value)
  return changes.some(({ was }) => was === "depth") ? undefined : json
}

/** Freezes JSON and all that is in it. */
export const freeze = <A>(json: A): A => {
  if (typeof json !== "object" || json === null) return json
  for (const item of Object.values(json)) freeze(item)
  return Object.freeze(json)
}

/** Copies a value as frozen JSON. */
export const frozen = (value: unknown): Schema.Json => freeze(fromUnknown(value))
