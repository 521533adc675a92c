import { Context, Effect, type Layer, Schema } from "effect"
import { AiError, type LanguageModel, Tool, Toolkit } from "effect/ai"
import { describe, expectTypeOf, it } from "vitest"
import { Agent } from "../../src/index.ts"
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

  it("collects what replies of a queue, states, fallbacks and taps need", () => {
    const weather = (request: MockModel.MockRequest) => Effect.map(Weather, (weather) => weather + request.agent)
    expectTypeOf(MockModel.queue("a", () => Database, weather)).toEqualTypeOf<MockModel.Handler<Database | Weather>>()
    expectTypeOf(MockModel.repeat(weather)).toEqualTypeOf<MockModel.Handler<Weather>>()
    expectTypeOf(MockModel.failTimes(1, overloaded, weather)).toEqualTypeOf<MockModel.Handler<Weather>>()
    expectTypeOf(MockModel.make(Effect.as(Weather, "a"))).toEqualTypeOf<MockModel.Handler<Weather>>()
    expectTypeOf(MockModel.firstOf(MockModel.make(weather), MockModel.make(() => Database))).toEqualTypeOf<
      MockModel.Handler<Database | Weather>
    >()
    expectTypeOf(MockModel.tap(weather, { before: () => Database })).toEqualTypeOf<
      MockModel.Handler<Database | Weather>
    >()
    expectTypeOf(MockModel.debug(weather, () => Effect.asVoid(Database))).toEqualTypeOf<
      MockModel.Handler<Database | Weather>
    >()
    expectTypeOf(MockModel.debug("a")).toEqualTypeOf<MockModel.Handler>()
    expectTypeOf(MockModel.transcript([{ role: "assistant", content: "a" }])).toEqualTypeOf<MockModel.Handler>()
    const machine = MockModel.stateMachine({
      initial: "a",
      states: {
        a: { respond: weather, transitions: { b: () => Effect.as(Database, true) } },
        b: { respond: "b", defaultNext: "a" }
      }
    })
    expectTypeOf(machine).toEqualTypeOf<MockModel.StateMachine<"a" | "b", Database | Weather>>()
    expectTypeOf(MockModel.history(machine)).toEqualTypeOf<
      Effect.Effect<ReadonlyArray<"a" | "b">, never, MockModel.MockModel>
    >()
  })

  it("moves machines to states that there are", () => {
    MockModel.stateMachine({
      // @ts-expect-error no such state
      initial: "b",
      states: { a: { respond: "a" } }
    })
    MockModel.stateMachine({
      initial: "a",
      // @ts-expect-error no such state
      states: { a: { respond: "a", defaultNext: "b" } }
    })
    MockModel.stateMachine({
      initial: "a",
      // @ts-expect-error no such state
      states: { a: { respond: "a", transitions: { b: /x/ } } }
    })
  })

  it("takes no class for a handler, no promise for a response, and no tuple for a call", () => {
    class Mine {
      readonly handle = () => "a"
    }
    // @ts-expect-error a class isn't a handler
    MockModel.layer(Mine)
    // @ts-expect-error nor is an object of one's own
    MockModel.layer(new Mine())
    // @ts-expect-error a handler is an Effect where it waits
    MockModel.make(async () => "a")
    // @ts-expect-error a number isn't a response
    MockModel.queue("a", 42)
    // @ts-expect-error a handler isn't a response of a queue
    MockModel.queue(MockModel.queue("a"))
    // @ts-expect-error a call has a name
    MockModel.transcript([{ role: "assistant", toolCalls: [["get_weather", {}]] }])
    // @ts-expect-error the model doesn't speak for others
    MockModel.transcript([{ role: "user", content: "a", toolCalls: [] }])
  })

  it("takes tables of what tools give", () => {
    const toolkit = Toolkit.make(
      Tool.make("get_weather", {
        parameters: Schema.Struct({ city: Schema.String }),
        success: Schema.Finite,
        failure: Schema.String
      })
    )
    expectTypeOf(MockModel.handlers(toolkit)).toEqualTypeOf<
      Layer.Layer<Tool.Handler<"get_weather">, never, MockModel.MockModel>
    >()
    MockModel.handlers(toolkit, { get_weather: 22 })
    MockModel.handlers(toolkit, { get_weather: ({ city }) => city === "" ? Effect.fail("no city") : city.length })
    // @ts-expect-error the tool gives a number
    MockModel.handlers(toolkit, { get_weather: "22" })
    // @ts-expect-error it fails with a text
    MockModel.handlers(toolkit, { get_weather: () => Effect.fail(22) })
    // @ts-expect-error no such tool
    MockModel.handlers(toolkit, { weather: 22 })
  })

  it("lets no run compile without a model", () => {
    const run = Agent.run(Agent.make("a"), "Hello")
    // @ts-expect-error nobody provides a LanguageModel
    void Effect.runPromise(run)
    void Effect.runPromise(Effect.provide(run, MockModel.layer(MockModel.queue("a"))))
  })
})
