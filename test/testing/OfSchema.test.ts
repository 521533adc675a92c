/** Values whose JSON all engines read alike: V8 reads an escaped key as a backslash after it has read that key in another object. */
import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Effect, Schema } from "effect"
import { ofSchema } from "../../src/testing/arbitrary/Choice.ts"

const Key = Schema.Literals(["\\", "a", "b\\c", "\"", "\n", ""])
const Text = Schema.Literals(["\\\":", "\"a\\\":", "\\", "b"])
const keysIn = (value: unknown): ReadonlyArray<string> =>
  typeof value !== "object" || value === null
    ? []
    : [...Object.keys(value), ...Object.values(value).flatMap(keysIn)]

describe("A value of a schema", () => {
  it.effect("has no key with a backslash, and any text", () =>
    Effect.gen(function*() {
      const Keyed = Schema.Array(Schema.Record(Schema.TemplateLiteral([Key, Schema.Literals(["", "x"])]), Text))
      const options = { count: 400, seed: "keys" } as const
      const all = yield* Arbitrary.sampleEffect(Arbitrary.schema(Keyed), options)
      const kept = yield* Arbitrary.sampleEffect(ofSchema(Keyed), options)
      assert.isTrue(all.some((value) => keysIn(value).some((key) => key.includes("\\"))))
      assert.isFalse(kept.some((value) => keysIn(value).some((key) => key.includes("\\"))))
      const texts = new Set(kept.flatMap((records) => records.flatMap((record) => Object.values(record))))
      assert.deepStrictEqual([...texts].sort(), ["\\\":", "\"a\\\":", "\\", "b"].sort())
    }))

  it.effect("has no key with a backslash beside the same key with a slash", () =>
    Effect.gen(function*() {
      const both = Schema.Struct({ "/": Schema.Null, "\\": Schema.Null })
      const kept = yield* Arbitrary.sampleEffect(ofSchema(both), { count: 1, seed: "both" })
      assert.deepStrictEqual(kept.map(keysIn), [["/"]])
    }))
})
