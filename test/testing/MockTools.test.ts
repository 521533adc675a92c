import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Fiber, Layer, Schedule, Schema } from "effect"
import { AiError, LanguageModel, Tool, Toolkit } from "effect/ai"
import { TestClock } from "effect/testing"
import { Agent, AgentState, Handoff, ToolPolicy } from "troupe"
import { MockModel, MockResponse } from "troupe/testing"
import { defectOf } from "./outcome.ts"

const Weather = Toolkit.make(
  Tool.make("get_weather", {
    parameters: Schema.Struct({ city: Schema.String }),
    success: Schema.Finite,
    failure: Schema.String
  }),
  Tool.make("today", { success: Schema.Date }),
  Tool.make("notify", { success: Schema.Void })
)

const reporter = Agent.make("reporter", { toolkit: Weather })

const weather = (city: string, options?: MockResponse.CallOptions) =>
  MockResponse.toolCall("get_weather", { city }, options)

const told = (request: MockModel.MockRequest) =>
  JSON.stringify(request.lastToolResults.map(({ isFailure, result }) => isFailure ? { failed: result } : result))

const provide = (
  table: MockModel.ToolTable<typeof Weather.tools>,
  ...responses: ReadonlyArray<MockResponse.Input | typeof told>
) =>
  Effect.provide(
    MockModel.handlers(Weather, table).pipe(Layer.provideMerge(MockModel.layer(MockModel.queue(...responses))))
  )

const answer = Effect.map(Agent.run(reporter, "How warm?"), AgentState.text)

/** The toolkit with handlers of its own, which give this weather. */
const bringing = (celsius: number) =>
  Effect.provide(
    Weather,
    Weather.toLayer({
      get_weather: () => Effect.succeed(celsius),
      today: () => Effect.succeed(new Date(0)),
      notify: () => Effect.void
    })
  )

describe("MockModel.handlers", () => {
  it.effect("gives each call what the script gave for it, encoded by its schema", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* answer, "[22,7,{\"failed\":\"no such city\"},\"2026-03-03T00:00:00.000Z\",null]")
      const calls = (yield* MockModel.toolCalls).map(({ outcome, ...call }) => ({
        ...call,
        outcome: outcome !== undefined && Exit.isFailure(outcome)
          ? Exit.fail(Cause.squash(outcome.cause))
          : outcome as unknown
      }))
      assert.deepStrictEqual(calls, [
        { id: "call_1", name: "get_weather", params: { city: "Paris" }, outcome: Exit.succeed(22) },
        { id: "mine", name: "get_weather", params: { city: "Oslo" }, outcome: Exit.succeed(7) },
        { id: "call_2", name: "get_weather", params: { city: "Atlantis" }, outcome: Exit.fail("no such city") },
        { id: "call_3", name: "today", params: {}, outcome: Exit.succeed(new Date("2026-03-03")) },
        { id: "call_4", name: "notify", params: {}, outcome: Exit.succeed(undefined) }
      ])
    }).pipe(provide(
      {},
      MockResponse.all(
        weather("Paris", { result: 22 }),
        weather("Oslo", { result: 7, id: "mine" }),
        weather("Atlantis", { result: "no such city", isFailure: true }),
        MockResponse.toolCall("today", {}, { result: new Date("2026-03-03") }),
        MockResponse.toolCall("notify", {}, { result: undefined })
      ),
      told
    )))

  it.effect("answers by the table where the script says nothing: by value, function or Effect", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* answer, "[5,{\"failed\":\"Rome\"},\"2026-01-01T00:00:00.000Z\",99]")
    }).pipe(provide(
      {
        get_weather: ({ city }) => city === "Rome" ? Effect.fail(city) : city.length,
        today: new Date("2026-01-01")
      },
      MockResponse.all(
        weather("Paris"),
        weather("Rome"),
        MockResponse.toolCall("today", {}),
        weather("Paris", { result: 99 })
      ),
      told
    )))

  it.effect("dies of a call for which nobody has a result, and says which", () =>
    Effect.gen(function*() {
      const defect = yield* defectOf(answer)
      assert.instanceOf(defect, MockModel.UnansweredCall)
      assert.strictEqual(
        (defect as Error).message,
        "No result for call call_1 of tool \"get_weather\" with {\"city\":\"Paris\"}: the script gives it none, "
          + "and the table has today only"
      )
    }).pipe(provide({ today: new Date(0) }, weather("Paris"))))

  it.effect("pairs results with calls that bear the same id, each with its own", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* answer, "[1,2]")
      const ids = (yield* MockModel.toolCalls).map(({ id }) => id)
      assert.deepStrictEqual(ids, ["x", "x-2"])
    }).pipe(
      provide({}, MockResponse.all(weather("a", { id: "x", result: 1 }), weather("b", { id: "x", result: 2 })), told)
    ))

  it.effect("keeps the results of conversations apart whose calls bear the same id, at a time or one after the other", () =>
    Effect.gen(function*() {
      const handler = MockModel.conditional(
        MockModel.when((request) => request.lastToolResults.length > 0, told),
        MockModel.when(/one/, weather("a", { id: "x", result: 1 })),
        MockModel.otherwise(weather("a", { id: "x", result: 2 }))
      )
      const layer = MockModel.handlers(Weather).pipe(Layer.provideMerge(MockModel.layer(handler)))
      const both = ["the one", "another"].map((input) => Effect.map(Agent.run(reporter, input), AgentState.text))
      assert.deepStrictEqual(yield* Effect.provide(Effect.all(both), layer), ["[1]", "[2]"])
      const atOnce = Effect.all(both, { concurrency: 2 })
      assert.deepStrictEqual(yield* Effect.provide(atOnce, Layer.fresh(layer)), ["[1]", "[2]"])
    }))

  it.effect("gives a call that waited in another process what the script gave for it", () =>
    Effect.gen(function*() {
      const Safe = Toolkit.make(Tool.make("open", { success: Schema.String, needsApproval: true }))
      const guard = Agent.make("guard", { toolkit: Safe })
      const layer = MockModel.handlers(Safe).pipe(Layer.provideMerge(MockModel.layer(MockModel.queue(
        MockResponse.toolCall("open", {}, { id: "x", result: "opened" }),
        told
      ))))
      const done = yield* Effect.gen(function*() {
        const waiting = JSON.stringify(AgentState.toJson(yield* Agent.run(guard, "Open it.")))
        const read = yield* Effect.fromResult(AgentState.fromJson(waiting))
        return yield* Agent.resume(guard, yield* Effect.fromResult(AgentState.approve(read, "x")))
      }).pipe(Effect.provide(layer))
      assert.strictEqual(AgentState.text(done), "[\"opened\"]")
    }))

  it.effect("gives each of two runs of one state what the script gave for it", () =>
    Effect.gen(function*() {
      const Safe = Toolkit.make(Tool.make("open", { success: Schema.String, needsApproval: true }))
      const guard = Agent.make("guard", { toolkit: Safe })
      const open = (result: string, id?: string) => MockResponse.toolCall("open", {}, { result, ...(id && { id }) })
      const layer = MockModel.handlers(Safe).pipe(
        Layer.provideMerge(MockModel.layer(MockModel.queue(open("one"), open("two"), told, told)))
      )
      const texts = yield* Effect.gen(function*() {
        const asked = AgentState.ask(AgentState.make("guard"), "Open it.", 0)
        const waiting = [yield* Agent.resume(guard, asked), yield* Agent.resume(guard, asked)]
        return yield* Effect.forEach(waiting, (state) => {
          const [call] = AgentState.pendingApprovals(state)
          const approved = Effect.fromResult(AgentState.approve(state, call!.callId))
          return Effect.map(Effect.flatMap(approved, (state) => Agent.resume(guard, state)), AgentState.text)
        })
      }).pipe(Effect.provide(layer))
      assert.deepStrictEqual(texts, ["[\"one\"]", "[\"two\"]"])

      const Free = Toolkit.make(Tool.make("open", { success: Schema.String }))
      const asked = AgentState.ask(AgentState.make("free"), "Open it.", 0)
      const resumed = Effect.map(Agent.resume(Agent.make("free", { toolkit: Free }), asked), AgentState.text)
      const script = MockModel.queue(open("one", "a"), told, open("two", "a"), told)
      const twice = yield* Effect.all([resumed, resumed]).pipe(
        Effect.provide(MockModel.handlers(Free).pipe(Layer.provideMerge(MockModel.layer(script))))
      )
      assert.deepStrictEqual(twice, ["[\"one\"]", "[\"two\"]"])
    }))

  it.effect("gives each of two runs of one state its own result, though both run at once and their calls bear one id", () =>
    Effect.gen(function*() {
      const Free = Toolkit.make(Tool.make("open", { success: Schema.String }))
      const asked = AgentState.ask(AgentState.make("free"), "Open it.", 0)
      const resumed = Effect.map(Agent.resume(Agent.make("free", { toolkit: Free }), asked), AgentState.text)
      const open = (result: string) =>
        MockResponse.delay(MockResponse.toolCall("open", {}, { id: "a", result }), "1 second")
      const layer = MockModel.handlers(Free).pipe(
        Layer.provideMerge(MockModel.layer(MockModel.queue(open("one"), open("two"), told, told)))
      )
      const fiber = yield* Effect.forkChild(
        Effect.provide(Effect.all([resumed, resumed], { concurrency: 2 }), layer),
        { startImmediately: true }
      )
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* Fiber.join(fiber), ["[\"one\"]", "[\"two\"]"])
    }))

  it.effect("gives a call of an attempt that was made again the last result, also in another process", () =>
    Effect.gen(function*() {
      const Safe = Toolkit.make(Tool.make("open", { success: Schema.String, needsApproval: true }))
      const guard = Agent.make("guard", { toolkit: Safe, retry: Schedule.recurs(1) })
      const open = (result: string) => MockResponse.toolCall("open", {}, { id: "x", result })
      const overloaded = new AiError.InternalProviderError({ description: "overloaded" })
      const layer = MockModel.handlers(Safe).pipe(Layer.provideMerge(MockModel.layer(MockModel.queue(
        MockResponse.breakAfter(open("first"), 3, overloaded),
        open("second"),
        told
      ))))
      const done = yield* Effect.gen(function*() {
        const waiting = yield* Agent.run(guard, "Open it.")
        assert.lengthOf(yield* MockModel.calls, 2)
        const read = yield* Effect.fromResult(AgentState.fromJson(JSON.stringify(AgentState.toJson(waiting))))
        return yield* Agent.resume(guard, yield* Effect.fromResult(AgentState.approve(read, "x")))
      }).pipe(Effect.provide(layer))
      assert.strictEqual(AgentState.text(done), "[\"second\"]")
    }))

  it.effect("takes an id that ends in a number for what it is", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* answer, "[1,2]")
      const before = yield* MockModel.toolCalls
      assert.deepStrictEqual(before.map(({ id }) => id), ["x", "x-2"])
      yield* Effect.exit(answer)
      assert.strictEqual(before.length, 2)
    }).pipe(
      provide({}, MockResponse.all(weather("a", { id: "x", result: 1 }), weather("b", { id: "x-2", result: 2 })), told)
    ))

  it.effect("gives a call that is tried again the same, and takes down each attempt", () =>
    Effect.gen(function*() {
      const Flaky = Toolkit.make(
        ToolPolicy.set(Tool.make("flaky", { success: Schema.String, failure: Schema.String }), {
          retry: Schedule.recurs(2)
        })
      )
      const layer = MockModel.handlers(Flaky).pipe(Layer.provideMerge(MockModel.layer(MockModel.queue(
        MockResponse.toolCall("flaky", {}, { result: "down", isFailure: true }),
        told
      ))))
      yield* Effect.gen(function*() {
        const state = yield* Agent.run(Agent.make("flaky", { toolkit: Flaky }), "Go")
        assert.strictEqual(AgentState.text(state), "[{\"failed\":\"down\"}]")
        assert.strictEqual((yield* MockModel.toolCalls).length, 3)
      }).pipe(Effect.provide(layer))
    }))

  it.effect("doesn't send the model's provider what a tool will give", () =>
    Effect.gen(function*() {
      yield* answer
      const [call] = yield* MockModel.calls
      assert.deepStrictEqual(call?.response?.parts, [
        { type: "tool-call", id: "mine", name: "get_weather", params: { city: "Paris" } }
      ])
    }).pipe(provide({}, weather("Paris", { id: "mine", result: 22 }), "Thanks.")))

  it.effect("leaves real tools to themselves: they are run, whatever the script gave", () =>
    Effect.gen(function*() {
      const real = Weather.toLayer({
        get_weather: () => Effect.succeed(3),
        today: () => Effect.succeed(new Date(0)),
        notify: () => Effect.void
      })
      const said = yield* Effect.provide(answer, [
        real,
        MockModel.layer(MockModel.queue(weather("Paris", { result: 22 }), told))
      ])
      assert.strictEqual(said, "[3]")
    }))

  it.effect("stands in for handlers that a toolkit brings, which aren't run, also under a policy", () =>
    Effect.gen(function*() {
      const own = yield* bringing(1)
      for (const toolkit of [own, ToolPolicy.setAll(own, { timeout: "1 second" })]) {
        yield* Effect.gen(function*() {
          const state = yield* Agent.run(Agent.make("own", { toolkit }), "How warm?")
          assert.strictEqual(AgentState.text(state), "[22,7,{\"failed\":\"Rome\"}]")
          const calls = yield* MockModel.toolCalls
          assert.deepStrictEqual(calls.map(({ params }) => params), ["Paris", "Oslo", "Rome"].map((city) => ({ city })))
        }).pipe(provide(
          { get_weather: ({ city }) => city === "Rome" ? Effect.fail(city) : 22 },
          MockResponse.all(weather("Paris"), weather("Oslo", { result: 7 }), weather("Rome")),
          told
        ))
      }
    }))

  it.effect("stands in for no other tool of its name, wherever two toolkits bring theirs", () =>
    Effect.gen(function*() {
      const Other = Toolkit.make(Tool.make("get_weather", { success: Schema.String }))
      const other = Agent.make("other", {
        description: "Knows other weather",
        toolkit: yield* Effect.provide(Other, Other.toLayer({ get_weather: () => Effect.succeed("real") }))
      })
      const agent = Agent.make("own", { toolkit: yield* bringing(1), handoffs: [Handoff.to(other)] })
      const run = Effect.map(Agent.run(agent, "How warm?"), AgentState.text)
      const model = MockModel.layer(MockModel.byAgent({
        own: MockModel.queue(weather("Paris"), MockResponse.toolCall("handoff_to_other", {})),
        other: MockModel.queue(
          MockResponse.toolCall("get_weather", {}),
          (request) =>
            JSON.stringify(request.messages.flatMap((message) =>
              message.role === "tool"
                ? message.content.flatMap((part) =>
                  "result" in part && part.name === "get_weather" ? [part.result] : []
                )
                : []
            ))
        )
      }))
      const first = MockModel.handlers(Weather, { get_weather: 22 })
      const second = MockModel.handlers(Other, { get_weather: "mocked" })
      const saidWith = (layer: Layer.Layer<never, never, MockModel.MockModel> | typeof first | typeof second) =>
        Effect.provide(run, Layer.provideMerge(layer, Layer.fresh(model)))
      const results = yield* Effect.all([
        saidWith(Layer.empty),
        saidWith(first),
        saidWith(Layer.merge(first, second)),
        saidWith(Layer.merge(second, first))
      ])
      assert.deepStrictEqual(results, [
        "[1,\"real\"]",
        "[22,\"real\"]",
        "[22,\"mocked\"]",
        "[22,\"mocked\"]"
      ])
    }))

  it.effect("works where effect/ai itself runs the tools", () =>
    Effect.gen(function*() {
      const response = yield* LanguageModel.generateText({ prompt: "How warm?", toolkit: Weather })
      assert.deepStrictEqual(response.toolResults.map(({ result }) => result), [22])
    }).pipe(provide({}, weather("Paris", { result: 22 }))))
})
