import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Exit } from "effect"
import { MockModel, MockResponse } from "../../src/testing/index.ts"
import { ask, say, streamParts } from "./ask.ts"
import { as, defectOf, overloaded, reasonOf } from "./outcome.ts"

class Journal extends Context.Service<Journal, Array<string>>()("test/Journal") {}

describe("MockModel.firstOf", () => {
  it.effect("answers with the first that doesn't decline, and keeps the state of each", () =>
    Effect.gen(function*() {
      const prompts = ["weather", "a", "weather", "b", "weather"]
      const said = yield* Effect.forEach(prompts, (prompt) => say(prompt))
      assert.deepStrictEqual(said, ["sunny", "1", "rain", "2", "otherwise"])
    }).pipe(Effect.provide(MockModel.layer(MockModel.firstOf(
      MockModel.conditional(MockModel.when(/weather/, MockModel.queue("sunny", "rain"))),
      MockModel.queue("1", "2"),
      MockModel.make("otherwise")
    )))))

  it.effect("takes a failure and a defect for an answer", () =>
    Effect.gen(function*() {
      const bug = new RangeError("out of range")
      const failing = MockModel.firstOf(MockModel.make(() => Effect.fail(overloaded)), MockModel.make("never"))
      assert.strictEqual(yield* Effect.flip(Effect.provide(ask(), MockModel.layer(failing))), overloaded)
      const throwing = MockModel.firstOf(
        MockModel.make((): string => {
          throw bug
        }),
        MockModel.make("never")
      )
      assert.strictEqual(yield* defectOf(Effect.provide(ask(), MockModel.layer(throwing))), bug)
    }))

  it.effect("says why each of them declined", () =>
    Effect.gen(function*() {
      const handler = MockModel.firstOf(
        MockModel.queue(),
        MockModel.conditional(MockModel.when({ agent: "sales" }, "sold"))
      )
      assert.strictEqual(
        yield* reasonOf(as("triage")(Effect.provide(ask(), MockModel.layer(handler)))),
        [
          "none of 2 handlers has an answer",
          "  1. nothing was queued",
          "  2. none of 1 conditions holds",
          "    1. agent is \"sales\": saw agent \"triage\""
        ].join("\n")
      )
    }))
})

describe("MockModel.byAgent", () => {
  it.effect("names the nearest agent where one is meant, and none where none is", () =>
    Effect.gen(function*() {
      const layer = MockModel.layer(MockModel.byAgent({ billing: MockModel.queue("a"), tech: MockModel.queue("b") }))
      const reason = (agent: string) => reasonOf(as(agent)(Effect.provide(ask(), layer)))
      const known = "there are handlers for \"billing\", \"tech\" only"
      assert.strictEqual(yield* reason("Biling"), `${known}; the nearest is "billing"`)
      assert.strictEqual(yield* reason("warehouse"), known)
    }))
})

describe("MockModel.tap", () => {
  it.effect("tells of each request before and after, and changes nothing", () =>
    Effect.gen(function*() {
      const journal: Array<string> = []
      const listen = (name: string) => ({
        before: (request: MockModel.MockRequest) =>
          Effect.map(Journal, (j) => j.push(`${name} < ${request.callCount}`)),
        after: (request: MockModel.MockRequest, outcome: MockModel.Outcome) =>
          void journal.push(`${name} > ${request.callCount} ${Exit.isSuccess(outcome) ? outcome.value._tag : "failed"}`)
      })
      const handler = MockModel.make(({ callCount }) => callCount === 1 ? "one" : Effect.fail(overloaded))
      const layer = MockModel.layer(MockModel.tap(MockModel.tap(handler, listen("inner")), listen("outer")))
      yield* Effect.gen(function*() {
        assert.strictEqual(yield* say(), "one")
        assert.strictEqual(yield* Effect.flip(streamParts), overloaded)
        assert.deepStrictEqual((yield* MockModel.calls)[0]?.response, MockResponse.text("one"))
      }).pipe(Effect.provide(layer), Effect.provideService(Journal, journal))
      assert.deepStrictEqual(journal, [
        "outer < 1",
        "inner < 1",
        "inner > 1 MockResponse",
        "outer > 1 MockResponse",
        "outer < 2",
        "inner < 2",
        "inner > 2 failed",
        "outer > 2 failed"
      ])
    }))

  it.effect("is as if it weren't there without anything to tell", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* say("Hi"), "Hi")
      assert.strictEqual(yield* reasonOf(ask()), "all 1 queued responses are used up")
    }).pipe(Effect.provide(MockModel.layer(MockModel.tap(MockModel.queue(({ lastUserText }) => lastUserText), {})))))

  it.effect("dies of what it throws, before and after", () =>
    Effect.gen(function*() {
      const bug = new Error("broken tap")
      const broken = () => {
        throw bug
      }
      for (const options of [{ before: broken }, { after: broken }]) {
        const layer = MockModel.layer(MockModel.tap("fine", options))
        assert.strictEqual(yield* defectOf(Effect.provide(ask(), layer)), bug)
      }
    }))
})
