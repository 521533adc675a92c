/**
 * Foreign values as JSON: a copy in which each part that isn't JSON is replaced by the text or data that says most about it.
 *
 * @since 0.1.0
 */
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import { lazy } from "./Lazy.ts"

/**
 * How deeply arrays and objects may be nested. Some programs run out of stack on values that are nested more deeply.
 *
 * @category constants
 * @since 0.1.0
 */
export const maxLevels = 500

/** Checks whether JSON is nested so little that a state can hold it. */
export const isWithinLevels = (json: unknown, levels = maxLevels): boolean =>
  typeof json !== "object" || json === null ||
  (levels > 0 && Object.values(json).every((each) => isWithinLevels(each, levels - 1)))

/**
 * Schema for a place where a value wasn't JSON: its path in the value, and what was there.
 *
 * `was` is a type (`undefined`, `bigint`), the name of a class (`Date`), `toJSON` for a plain object with such a method, `cycle`, `depth`,
 * or `unreadable`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Change = Schema.Struct({
  path: Schema.Array(Schema.Union([Schema.String, Schema.Number])),
  was: Schema.String
})

/** A place where a value wasn't JSON: its path in the value, and what was there. */
export interface Change extends Schema.Schema.Type<typeof Change> {}

/** A value as JSON, with the places where it wasn't. */
export interface Converted {
  readonly json: Schema.Json
  readonly changes: ReadonlyArray<Change>
}

const base64 = lazy(() => Schema.encodeSync(Schema.Uint8ArrayFromBase64))

const className = (value: object): string | undefined => {
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype === null || prototype === Object.prototype) return undefined
  return Predicate.hasProperty(prototype, "constructor") && Predicate.isFunction(prototype.constructor)
    ? prototype.constructor.name
    : "object"
}

/** Returns the data of an object of a known class, such as a date or a map, or the object itself. */
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
 * Returns any value as JSON.
 *
 * @category conversions
 * @since 0.1.0
 */
export const toJson = (value: unknown): Converted => {
  const changes: Array<Change> = []
  const around = new Set<object>()

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
        if (around.has(value)) return changed(path, "cycle", "[cycle]")
        if (path.length >= maxLevels) return changed(path, "depth", "[nested too deeply]")
        around.add(value)
        try {
          return ofObject(value, path)
        } catch {
          return changed(path, "unreadable", "[unreadable]")
        } finally {
          around.delete(value)
        }
      }
    }
  }

  return { json: of(value, []), changes }
}
