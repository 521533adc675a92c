/** Values that nobody should give, and some do. */
import { Arbitrary, Schema } from "effect"
import { ofSchema } from "../../src/testing/arbitrary/Choice.ts"
import { below, oneOf } from "./arbitraries.ts"

/** A value of so many levels, of objects and arrays in turn. */
export const nested = (levels: number): unknown => {
  let value: unknown = "bottom"
  for (let level = 0; level < levels; level++) value = level % 2 === 0 ? [value] : { in: value }
  return value
}

/** Counts the levels of a value. */
export const levelsOf = (value: unknown): number => {
  let levels = 0
  for (let inner = [value]; (inner = inner.flatMap(childrenOf)).length > 0;) {
    if (inner.length > 0) levels++
  }
  return levels
}

const childrenOf = (value: unknown): Array<unknown> =>
  typeof value === "object" && value !== null ? [...Object.values(value), undefined] : []

const cyclic = (): unknown => {
  const self: Record<string, unknown> = { name: "cyclic" }
  self.self = self
  return self
}

const oddities: ReadonlyArray<() => unknown> = [
  () => undefined,
  () => Number.NaN,
  () => -Infinity,
  () => -0,
  () => 12n,
  () => Symbol("symbol"),
  () => new Date(Number.NaN),
  () => new Map([["key", new Set([1n])]]),
  () => new Uint8Array([1, 2]),
  () => new Error("went wrong"),
  () => () => "called",
  () => ({
    get broken() {
      throw new Error("no")
    }
  }),
  () => ({ toJSON: () => ({ toJSON: () => nested(10) }) }),
  () => Object.create({ inherited: true }),
  () => JSON.parse(`{"__proto__":{"admin":true}}`),
  () => Array(3),
  () => nested(501),
  () => nested(5_000),
  () => [nested(499), new Map([["deep", nested(499)]])],
  cyclic,
  () => ({ [""]: undefined, list: [undefined, cyclic()] })
]

const odd = Arbitrary.map(below(oddities.length), (index) => oddities[index]!)

/** Makes a value that is JSON, or that isn't, on top or inside. */
export const hostile: Arbitrary.Arbitrary<() => unknown> = oneOf<() => unknown>(
  odd,
  Arbitrary.map(
    Arbitrary.all({ odd, json: ofSchema(Schema.Json) }),
    ({ json, odd }) => () => ({ json, inner: [odd()], other: odd() })
  )
)
