import { Context, Effect, type Layer } from "effect"
import { AiError, type LanguageModel } from "effect/ai"
import { describe, expectTypeOf, it } from "vitest"
import { MockModel, MockResponse } from "../../src/testing/index.ts"

class Database extends Context.Service<Database, string>()("test/Database") {}
class Weather extends Context.Service<Weather, string>()("test/Weather") {}

const overloaded = AiError.make({ module: "Test", method: "ask", reason: new AiError.UnknownError({}) })

describe("MockModel", () => {
  it("needs nothing for plain responses", () => {
    expectTypeOf(MockModel.queue("a", MockResponse.text("b"))).toEqualTypeOf<MockModel.Handler>()
    expectTypeOf(MockModel.make((request) => request.agent)).toEqualTypeOf<MockModel.Handler>()
    expectTypeOf(MockModel.make(() => Effect.fail(overloaded))).toEqualTypeOf<MockModel.Handler>()
    expectTypeOf(MockModel.conditional(MockModel.otherwise("a"))).toEqualTypeOf<MockModel.Handler>()
  })

  it("collects what conditions, responses and agents need", () => {
    const handler = MockModel.byAgent({
      triage: MockModel.conditional(
        MockModel.when(() => Effect.as(Database, true), "a"),
        MockModel.when((request) => request.callCount > 1, () => Weather),
        MockModel.otherwise("b")
      ),
      sales: MockModel.queue("c")
    })
    expectTypeOf(handler).toEqualTypeOf<MockModel.Handler<Database | Weather>>()
    expectTypeOf(MockModel.layer(handler)).toEqualTypeOf<
      Layer.Layer<LanguageModel.LanguageModel | MockModel.MockModel, never, Database | Weather>
    >()
  })

  it("fails with model failures only", () => {
    // @ts-expect-error a model fails with an AiError
    MockModel.make(() => Effect.fail("no"))
    // @ts-expect-error a model fails with an AiError
    MockModel.when(() => Effect.fail("no"), "a")
  })

  it("takes a handler where a handler is asked for", () => {
    // @ts-expect-error a string is a response
    MockModel.layer("a")
  })
})
