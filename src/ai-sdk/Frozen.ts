/**
 * Frozen messages and tools: all requests share them, so no provider may change them.
 *
 * @since 0.1.0
 */

/** Checks whether a value is a list or a plain object. Bytes and addresses are neither: they are shared as they are. */
const isPlain = (value: unknown): value is object => {
  if (typeof value !== "object" || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return Array.isArray(value) || prototype === Object.prototype || prototype === null
}

/** Freezes a value and all that is in it. What belongs to a state, a tool or a program has to be copied before. */
export const freeze = <A>(value: A): A => {
  if (!isPlain(value) || Object.isFrozen(value)) return value
  for (const part of Object.values(value)) freeze(part)
  return Object.freeze(value)
}

/** Copies a value and all that is in it, so that a provider can't change what it was taken from. */
export const copy = <A>(value: A): A => {
  if (!isPlain(value)) return value
  const copied: unknown = Array.isArray(value)
    ? value.map((part: unknown) => copy(part))
    : Object.fromEntries(Object.entries(value).map(([key, part]) => [key, copy<unknown>(part)]))
  return copied as A
}
