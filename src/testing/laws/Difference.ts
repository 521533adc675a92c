/**
 * Where two values differ, in a few words.
 *
 * @since 0.1.0
 */
import * as Equal from "effect/Equal"
import * as Formatter from "effect/Formatter"

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !ArrayBuffer.isView(value) && !(value instanceof URL)

const shown = (value: unknown): string => {
  const text = Formatter.format(value)
  return text.length > 200 ? `${text.slice(0, 199)}…` : text
}

/** Returns the first path at which two values differ and both values there, or `undefined` if they are equal. */
export const difference = (self: unknown, that: unknown, path = ""): string | undefined => {
  if (Equal.equals(self, that)) return undefined
  if (isObject(self) && isObject(that) && Array.isArray(self) === Array.isArray(that)) {
    for (const key of new Set([...Object.keys(self), ...Object.keys(that)])) {
      const found = difference(self[key], that[key], path === "" ? key : `${path}.${key}`)
      if (found !== undefined) return found
    }
    return undefined
  }
  return `${path === "" ? "it" : path} is ${shown(self)}, and ${shown(that)} is expected`
}
