import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { LanguageModel } from "effect/ai"
import { MockModel } from "../../src/testing/index.ts"

const ask = (prompt: string) => Effect.map(LanguageModel.generateText({ prompt }), (response) => response.text)

describe("MockModel.queue", () => {
  it.effect("gives one response after the other", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* ask("a"), "one")
      assert.strictEqual(yield* ask("b"), "two")
    }).pipe(Effect.provide(MockModel.layer(MockModel.queue("one", "two")))))
})
