/**
 * Choices that arbitraries are made of.
 *
 * @since 0.1.0
 */
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"

/** A whole number from 0 to below `limit`; a failure shrinks towards 0. */
export const below = (limit: number): Arbitrary.Arbitrary<number> => between(0, limit - 1)

/** A whole number from `minimum` to `maximum`; a failure shrinks towards `minimum`. */
export const between = (minimum: number, maximum: number): Arbitrary.Arbitrary<number> =>
  Arbitrary.map(
    Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: maximum - minimum }))),
    (above) => minimum + above
  )

/**
 * A value of a schema, without a backslash in a key of its JSON. V8, of Node 24 and 26 too, may read an escaped key as `\` if it has read
 * the key `\` at the same place of another object before. Laws about stored states would fail for that once in thousands of runs.
 */
export const ofSchema = <S extends Schema.Constraint>(schema: S): Arbitrary.Arbitrary<S["Type"]> =>
  Arbitrary.map(Arbitrary.schema(schema), (value) => withoutBackslashes(value) as S["Type"])

/** Returns the very same value if no key in it has a backslash. */
const withoutBackslashes = (value: unknown): unknown => {
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return value
  const before = Object.entries(value)
  const after = before.map(([key, each]) => [key.replaceAll("\\", "/"), withoutBackslashes(each)] as const)
  if (after.every(([key, each], at) => key === before[at]![0] && each === before[at]![1])) return value
  return Array.isArray(value) ? after.map(([, each]) => each) : Object.fromEntries(after)
}

/** One of several arbitraries, each as likely as the others; a failure shrinks towards the first. */
export const oneOf = <A>(
  first: Arbitrary.Arbitrary<A>,
  ...rest: ReadonlyArray<Arbitrary.Arbitrary<A>>
): Arbitrary.Arbitrary<A> =>
  Arbitrary.flatMap(below(rest.length + 1), (index): Arbitrary.Arbitrary<A> => rest[index - 1] ?? first)

/** One of several values; a failure shrinks towards the first. */
export const pick = <A>(first: A, ...rest: ReadonlyArray<A>): Arbitrary.Arbitrary<A> =>
  Arbitrary.map(below(rest.length + 1), (index) => index === 0 ? first : rest[index - 1]!)

/** The same value each time, the very same object. */
export const one = <A>(value: A): Arbitrary.Arbitrary<A> => Arbitrary.map(Arbitrary.Constant(null), () => value)

/** Freezes a value and all that is in it. Bytes can't be frozen. */
export const deepFreeze = <A>(value: A): A => {
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value) || Object.isFrozen(value)) return value
  Object.freeze(value)
  for (const key of Reflect.ownKeys(value)) deepFreeze(Reflect.get(value, key))
  return value
}

/** Freezes a value after changes that reading it from JSON would make: objects without a prototype become plain ones, and -0 becomes 0. */
// A rebuilt value equals the original.
export const plain = <A>(value: A): A => deepFreeze(rebuilt(value) as A)

const rebuilt = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(rebuilt)
  if (Object.is(value, -0)) return 0
  if (typeof value !== "object" || value === null) return value
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || prototype === Object.prototype
    ? Object.fromEntries(Object.entries(value).map(([key, each]) => [key, rebuilt(each)]))
    : value
}
