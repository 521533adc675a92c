import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { ConversationArbitrary } from "troupe/testing"
import { maxLevels } from "../../src/domain/ForeignValue.ts"
import * as JsonValue from "../../src/domain/JsonValue.ts"
import { hostile, levelsOf, nested } from "./hostile.ts"

const isJson = Schema.is(Schema.Json)

describe("JsonValue", () => {
  it.prop("copies any value as JSON that has no more levels than may be", [hostile], ([make]) => {
    for (const json of [JsonValue.fromUnknown(make()), JsonValue.frozen(make()), JsonValue.within(make()) ?? null]) {
      assert.isTrue(isJson(json))
      assert.isAtMost(levelsOf(json), maxLevels)
      assert.deepStrictEqual(JSON.parse(JSON.stringify(json)), json)
    }
  }, { arbitrary: { runs: 300 } })

  it.prop("copies JSON as it is, and shares nothing with it", [Schema.Json], ([json]) => {
    assert.deepStrictEqual(JsonValue.fromUnknown(json), JSON.parse(JSON.stringify(json)))
    if (typeof json !== "object" || json === null) return
    assert.notStrictEqual(JsonValue.fromUnknown(json), json)
    assert.notStrictEqual(JsonValue.detached(json), json)
  })

  it("gives nothing for what is nested too deeply, in arrays and in objects", () => {
    for (const levels of [0, 1, maxLevels]) assert.strictEqual(levelsOf(JsonValue.within(nested(levels))), levels)
    for (const levels of [maxLevels + 1, 5_000]) assert.isUndefined(JsonValue.within(nested(levels)))
    assert.isUndefined(JsonValue.within(new Map([["deep", nested(maxLevels)]])))
    assert.strictEqual(JsonValue.within(null), null)
  })

  it("keeps keys that mean something to objects as keys", () => {
    const json = JsonValue.fromUnknown(JSON.parse(`{"__proto__":{"admin":true},"constructor":1}`))
    assert.strictEqual(JSON.stringify(json), `{"__proto__":{"admin":true},"constructor":1}`)
    assert.isUndefined((json as { readonly admin?: true }).admin)
  })

  it.prop("leaves what isn't plain data in a detached value", [ConversationArbitrary.state()], ([state]) => {
    assert.deepStrictEqual(JsonValue.detached(state), state)
  })
})
