/**
 * Values of others as JSON: what isn't JSON becomes the text or the data that says most about it.
 *
 * A value that is JSON is given back as it is, the same object.
 *
 * @since 0.1.0
 */
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import { lazy } from "./Lazy.ts"

/**
 * Schema for a place where a value wasn't JSON: its path in the value, and what stood there.
 *
 * `was` is a type (`undefined`, `bigint`), the name of a class (`Date`), `cycle`, or `unreadable`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Change = Schema.Struct({
  path: Schema.Array(Schema.Union([Schema.String, Schema.Number])),
  was: Schema.String
})

/** A place where a value wasn't JSON: its path in the value, and what stood there. */
export interface Change extends Schema.Schema.Type<typeof Change> {}

/** A value as JSON, with the places where it wasn't. */
export interface Converted {
  readonly json: Schema.Json
  readonly changes: ReadonlyArray<Change>
}

const isJson = Schema.is(Schema.Json)
const base64 = lazy(() => Schema.encodeSync(Schema.Uint8ArrayFromBase64))

const cycle = "[cycle]"

const isSound = (value: unknown): value is Schema.Json => {
  try {
    return isJson(value)
  } catch {
    return false
  }
}

const className = (value: object): string | undefined => {
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype === null || prototype === Object.prototype) return undefined
  return Predicate.hasProperty(prototype, "constructor") && Predicate.isFunction(prototype.constructor)
    ? prototype.constructor.name
    : "object"
}

/** The data of an object of a class that has a form of its own, or the object itself. */
const dataOf = (value: object): unknown => {
  if (value instanceof Date && Number.isNaN(value.getTime())) return String(value)
  if (Predicate.hasProperty(value, "toJSON") && Predicate.isFunction(value.toJSON)) return value.toJSON()
  if (value instanceof Error) return { ...value, name: value.name, message: value.message }
  if (value instanceof Map || value instanceof Set) return Array.from<unknown>(value)
  if (value instanceof ArrayBuffer) return base64()(new Uint8Array(value))
  if (ArrayBuffer.isView(value)) return base64()(new Uint8Array(value.buffer, value.byteOffset, value.byteLength))
  return value
}

/**
 * Gives any value as JSON.
 *
 * @category conversions
 * @since 0.1.0
 */
export const toJson = (value: unknown): Converted => {
  if (isSound(value)) return { json: value, changes: [] }
  const changes: Array<Change> = []
  const seen = new Map<object, Schema.Json>()

  const changed = (path: Change["path"], was: string, json: Schema.Json): Schema.Json => {
    changes.push({ path, was })
    return json
  }

  const ofObject = (object: object, path: Change["path"]): Schema.Json => {
    if (Array.isArray(object)) {
      return Array.from<unknown, Schema.Json>(object, (item, index) => of(item, [...path, index]))
    }
    const data = dataOf(object)
    if (data !== object) return changed(path, className(object) ?? "toJSON", of(data, path))
    const name = className(object)
    if (name !== undefined) changes.push({ path, was: name })
    return Object.fromEntries(
      Object.entries(object).flatMap(([key, item]: [string, unknown]) => {
        if (item !== undefined) return [[key, of(item, [...path, key])]]
        changes.push({ path: [...path, key], was: "undefined" })
        return []
      })
    )
  }

  const of = (value: unknown, path: Change["path"]): Schema.Json => {
    switch (typeof value) {
      case "string":
      case "boolean":
        return value
      case "number":
        return Number.isFinite(value) ? value + 0 : changed(path, "number", String(value))
      case "undefined":
        return changed(path, "undefined", null)
      case "bigint":
      case "symbol":
        return changed(path, typeof value, String(value))
      case "function":
        return changed(path, "function", `function ${value.name}`)
      case "object": {
        if (value === null) return null
        const known = seen.get(value)
        if (known !== undefined) return known === cycle ? changed(path, "cycle", cycle) : known
        seen.set(value, cycle)
        let json: Schema.Json
        try {
          json = ofObject(value, path)
        } catch {
          json = changed(path, "unreadable", "[unreadable]")
        }
        seen.set(value, json)
        return json
      }
    }
  }

  return { json: of(value, []), changes }
}
