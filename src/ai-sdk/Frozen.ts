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
  if (!isPlain(value)) return value
  // Lists are walked without `Object.keys`: making the names of their places is slow, and every step makes messages.
  if (Array.isArray(value)) { for (const part of value) freeze(part) }
  else for (const key of Object.keys(value)) freeze(value[key as keyof A])
  return Object.freeze(value)
}

/** Copies a value and all that is in it, so that a provider can't change the original. */
export const copy = <A>(value: A): A => {
  if (!isPlain(value)) return value
  if (Array.isArray(value)) return value.map(copy<unknown>) as A
  const copied: Record<string, unknown> = {}
  for (const key of Object.keys(value)) {
    const part = copy<unknown>(value[key as keyof A])
    if (key === "__proto__") Object.defineProperty(copied, key, { value: part, enumerable: true })
    else copied[key] = part
  }
  return copied as A
}
