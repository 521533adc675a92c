import { assert, describe, it } from "@effect/vitest"
import { Effect, ExecutionPlan, Layer, Schema, Stream } from "effect"
import { AiError, LanguageModel, Tool, Toolkit } from "effect/ai"
import { Agent, AgentState, ContextWindow, Conversation, Mode } from "troupe"
import { Cassette, MockModel, MockResponse } from "troupe/testing"
import { content, newPath, observed, withFiles } from "./tape.ts"

class Broken extends Schema.TaggedError<Broken>("test/Broken")("Broken", { why: Schema.String }) {}

const Weather = Toolkit.make(
  Tool.make("get_weather", { parameters: Schema.Struct({ on: Schema.Date }), success: Schema.Date, failure: Broken }),
  Tool.make("get_news", { success: Schema.String })
)

/** A toolkit with handlers of its own, and what they did. */
const own = () => {
  const done: Array<string> = []
  const handlers = Weather.toLayer({
    get_weather: Effect.fnUntraced(function*({ on }, { preliminary }) {
      done.push(`weather on ${on.getUTCFullYear()}`)
      if (on.getTime() === 0) return yield* new Broken({ why: "too long ago" })
      yield* preliminary(new Date(1))
      return on
    }),
    get_news: () => Effect.sync(() => void done.push("news")).pipe(Effect.andThen(Effect.die(new Error("no paper"))))
  })
  return { done, toolkit: Effect.runSync(Effect.provide(Weather, handlers)) }
}

/** A model that an agent brings, and how often it was built and asked. */
const counted = (...responses: ReadonlyArray<MockResponse.Input>) => {
  const count = { built: 0, asked: 0 }
  const layer = Layer.unwrap(Effect.sync(() => {
    count.built++
    return MockModel.layer(MockModel.tap(MockModel.queue(...responses), { before: () => void count.asked++ }))
  }))
  return { count, layer }
}

const nobody = MockModel.layer(MockModel.queue())

const recording = (path: string, options?: Cassette.Options) =>
  Layer.fresh(Cassette.layer(path, { mode: "record", ...options }).pipe(Layer.provide(nobody)))

const playing = (path: string, options?: Cassette.Options) =>
  Layer.fresh(Cassette.layer(path, { mode: "replay", ...options }))

const weather = (on: string) => MockResponse.toolCall("get_weather", { on })
const today = "2026-01-01T00:00:00.000Z"

const results = ({ conversation }: AgentState.AgentState) =>
  conversation.turns.flatMap((turn) =>
    turn._tag === "Assistant"
      ? Conversation.callsOf(turn).map(({ state }) => state._tag === "Settled" && state.result)
      : []
  )

describe("Summaries by a model", () => {
  const summarizing = MockModel.make((request) =>
    request.system.includes("Summarize")
      ? MockResponse.withUsage(`So far: ${request.lastUserText.length}.`, { input: 9, output: 1 })
      : `re ${request.lastUserText}`
  )
  const guideOf = (strategy: ContextWindow.Strategy<unknown, LanguageModel.LanguageModel>, window: object = {}) =>
    Agent.make("guide", { contextWindow: ContextWindow.make({ maxTurns: 4, strategy, ...window }) })
  const talk = (guide: Agent.Agent<"guide", string, unknown, LanguageModel.LanguageModel>) =>
    observed(Agent.runMultiTurn(guide, ["a", "b", "c", "d", "e", "f"]))

  it.effect("are requests of a log, whoever's model it was, and in their places on a tape", () =>
    Effect.gen(function*() {
      let built = 0
      const small = Layer.unwrap(Effect.sync(() => {
        built++
        return MockModel.layer(summarizing)
      }))
      for (const strategy of [ContextWindow.summarize(), ContextWindow.summarize(small)]) {
        const guide = guideOf(strategy)
        const first = yield* talk(guide).pipe(Effect.provide(Layer.fresh(MockModel.layer(summarizing))))
        const summaries = first.events.filter(({ _tag }) => _tag === "ConversationSummarized")
        assert.isAtLeast(summaries.length, 2)
        built = 0
        const again = yield* talk(guide).pipe(
          Effect.tap(Cassette.assertDrained),
          Effect.provide(Layer.fresh(Cassette.fromEvents(first.events)))
        )
        const bare = ({ events }: typeof first) => events.map((event) => ({ ...event, run: "" }))
        assert.deepStrictEqual([built, bare(again)], [0, bare(first)])
        const path = yield* newPath
        const recorder = Cassette.layer(path, { mode: "record" }).pipe(Layer.provide(MockModel.layer(summarizing)))
        const recorded = yield* talk(guide).pipe(Effect.provide(Layer.fresh(recorder)))
        built = 0
        const played = yield* talk(guide).pipe(Effect.tap(Cassette.assertDrained), Effect.provide(playing(path)))
        assert.deepStrictEqual([built, bare(played), bare(recorded)], [0, bare(first), bare(first)])
      }
    }).pipe(withFiles))

  it.effect("differ from a log's if other turns are summarized", () =>
    Effect.gen(function*() {
      const { events } = yield* talk(guideOf(ContextWindow.summarize())).pipe(
        Effect.provide(Layer.fresh(MockModel.layer(summarizing)))
      )
      const { exit } = yield* talk(guideOf(ContextWindow.summarize(), { target: 0.9 })).pipe(
        Effect.provide(Layer.fresh(Cassette.fromEvents(events)))
      )
      assert.include(String(exit), "CassetteDrift")
    }))
})

describe("A cassette around what an agent brings along", () => {
  it.effect("records its model and its handlers, and plays without building the one or running the others", () =>
    Effect.gen(function*() {
      const path = yield* newPath
      const { done, toolkit } = own()
      const { count, layer } = counted(
        MockResponse.all(weather(today), weather("1970-01-01T00:00:00.000Z")),
        "It is warm."
      )
      const agent = Agent.withModel(Agent.make("own", { toolkit, toolConcurrency: 1 }), layer)
      const run = observed(Agent.run(agent, "How warm?"))
      const recorded = yield* run.pipe(Effect.provide(recording(path)))
      assert.deepStrictEqual([count, done], [{ built: 1, asked: 2 }, ["weather on 2026", "weather on 1970"]])
      const played = yield* run.pipe(Effect.tap(Cassette.assertDrained), Effect.provide(playing(path)))
      assert.deepStrictEqual(played, recorded)
      assert.deepStrictEqual(
        played.events.flatMap((event) => event._tag === "ToolCallProgressed" ? [event.result] : []),
        ["1970-01-01T00:00:00.001Z"]
      )
      const last = played.exit._tag === "Success" ? results(played.exit.value) : []
      assert.deepStrictEqual(last, [today, { _tag: "Broken", why: "too long ago" }])
      const fromLog = yield* run.pipe(Effect.provide(Cassette.fromEvents(recorded.events)))
      assert.deepStrictEqual(fromLog.exit, recorded.exit)
      assert.deepStrictEqual([count, done.length], [{ built: 1, asked: 2 }, 2])
    }).pipe(withFiles))

  it.effect("plays a crash of its handler", () =>
    Effect.gen(function*() {
      const path = yield* newPath
      const { done, toolkit } = own()
      const { layer } = counted(MockResponse.toolCall("get_news", {}))
      const run = observed(Agent.run(Agent.withModel(Agent.make("own", { toolkit }), layer), "What is new?"))
      const recorded = yield* run.pipe(Effect.provide(recording(path)))
      const played = yield* run.pipe(Effect.provide(playing(path)))
      assert.include(String(recorded.exit), "no paper")
      assert.deepStrictEqual(String(played.exit), String(recorded.exit))
      assert.deepStrictEqual(done, ["news"])
      const boss = Agent.make("boss", { agents: [Agent.asTool(Agent.make("own", { toolkit }))] })
      const calls = counted(MockResponse.toolCall("own", { task: "News" }), MockResponse.toolCall("get_news", {})).layer
      const called = observed(Agent.run(boss, "What is new?"))
      const below = yield* called.pipe(Effect.provide(calls))
      for (const [log, again] of [[recorded, run], [below, called]] as const) {
        const fromLog = yield* again.pipe(Effect.provide(Cassette.fromEvents(log.events)))
        assert.include(String(fromLog.exit), "no paper")
        assert.deepStrictEqual(String(fromLog.exit), String(log.exit))
      }
      assert.deepStrictEqual(done, ["news", "news"])
    }).pipe(withFiles))

  it.effect("lets its handlers run as they are where that is asked for", () =>
    Effect.gen(function*() {
      const path = yield* newPath
      const { done, toolkit } = own()
      const { count, layer } = counted(weather(today), "It is warm.")
      const run = Agent.run(Agent.withModel(Agent.make("own", { toolkit }), layer), "How warm?")
      const recorded = yield* run.pipe(Effect.provide(recording(path, { ownHandlers: false })))
      assert.notInclude(yield* content(path), "ToolCallSettled")
      const played = yield* run.pipe(
        Effect.tap(Cassette.assertDrained),
        Effect.provide(playing(path, { ownHandlers: false }))
      )
      assert.deepStrictEqual(played, recorded)
      assert.deepStrictEqual([count.asked, done.length], [2, 2])
    }).pipe(withFiles))

  it.effect("records each model of a plan, and of a mode, and plays them in their places", () =>
    Effect.gen(function*() {
      const path = yield* newPath
      const overloaded = MockResponse.fail(new AiError.InternalProviderError({ description: "overloaded" }))
      const first = counted(overloaded, overloaded, overloaded)
      const second = yield* Layer.build(
        counted("From the second.", MockResponse.toolCall("enter_research_mode", {}), "Out again.").layer
      )
      const mode = counted("From the mode.")
      const agent = Agent.withModel(
        Agent.make("own", {
          modes: [Mode.make("research", { model: mode.layer, invokable: true, enter: () => Effect.void })]
        }),
        ExecutionPlan.make({ provide: first.layer }, { provide: second })
      )
      const talk = Effect.gen(function*() {
        const state = yield* Agent.run(agent, "One")
        return yield* Agent.continueConversation(agent, state, "Two")
      })
      const recorded = yield* observed(talk).pipe(Effect.provide(recording(path)))
      assert.deepStrictEqual([first.count, mode.count], [{ built: 2, asked: 2 }, { built: 1, asked: 1 }])
      const played = yield* observed(talk).pipe(Effect.tap(Cassette.assertDrained), Effect.provide(playing(path)))
      assert.deepStrictEqual(played, recorded)
      assert.include(String(played.events.map(({ _tag }) => _tag)), "ModelCallFailed,ModelCallStarted,ModelResponded")
      assert.include(JSON.stringify(played.events), "From the mode.")
      assert.deepStrictEqual([first.count.built, mode.count.built], [2, 1])
    }).pipe(withFiles))

  it.effect("records one request where its model asks the one around it", () =>
    Effect.gen(function*() {
      const path = yield* newPath
      const around = Layer.effect(
        LanguageModel.LanguageModel,
        Effect.flatMap(LanguageModel.LanguageModel, (outer) =>
          LanguageModel.make({
            generateText: ({ prompt }) =>
              Effect.map(outer.generateText({ prompt }), ({ text }) => [{ type: "text", text: `${text}!` }]),
            streamText: ({ prompt }) =>
              Stream.flatMap(outer.streamText({ prompt }), (part) =>
                part.type === "text-delta"
                  ? Stream.make(
                    { type: "text-start", id: "1" } as const,
                    { type: "text-delta", id: "1", delta: `${part.delta}!` } as const,
                    { type: "text-end", id: "1" } as const
                  )
                  : Stream.empty)
          }))
      )
      const agent = Agent.withModel(Agent.make("own"), around)
      for (const run of [Agent.run(agent, "Hi"), Agent.stream(agent, "Hi").pipe(Stream.runDrain)]) {
        const recorded = yield* observed(run).pipe(
          Effect.provide(Layer.fresh(
            Cassette.layer(path, { mode: "record" }).pipe(
              Layer.provide(MockModel.layer(MockModel.queue("Hello")))
            )
          ))
        )
        assert.strictEqual((yield* content(path)).trim().split("\n").length, 2)
        const played = yield* observed(run).pipe(Effect.tap(Cassette.assertDrained), Effect.provide(playing(path)))
        assert.deepStrictEqual(played.exit, recorded.exit)
        assert.include(yield* content(path), "Hello!")
      }
    }).pipe(withFiles))

  it.effect("records what stands in for that already", () =>
    Effect.gen(function*() {
      const path = yield* newPath
      const { count, layer } = counted("Real.")
      const agent = Agent.withModel(Agent.make("own"), layer)
      const standIn = MockModel.layer(MockModel.queue("Mocked."), { replacesOwn: true })
      const recorder = Cassette.layer(path, { mode: "record" }).pipe(Layer.provide(standIn))
      const run = Effect.map(Agent.run(agent, "Hi"), AgentState.text)
      assert.strictEqual(yield* run.pipe(Effect.provide(recorder)), "Mocked.")
      assert.strictEqual(yield* run.pipe(Effect.provide(playing(path))), "Mocked.")
      assert.deepStrictEqual(count, { built: 0, asked: 0 })
    }).pipe(withFiles))

  it.effect("records mock handlers that stand in for its own, however their layers are merged", () =>
    Effect.gen(function*() {
      const { done, toolkit } = own()
      const run = Effect.map(Agent.run(Agent.make("own", { toolkit }), "How warm?"), results)
      const mocked = "1999-01-01T00:00:00.000Z"
      const model = MockModel.layer(MockModel.queue(weather(today), "It is warm."))
      const handlers = MockModel.handlers(Weather, { get_weather: new Date(mocked) })
      for (const isOutside of [true, false]) {
        const path = yield* newPath
        const recorder = Cassette.layer(path, { mode: "record" })
        const layer = isOutside ? Layer.provideMerge(recorder, handlers) : Layer.merge(handlers, recorder)
        const recording = Layer.fresh(Layer.provideMerge(layer, model))
        assert.deepStrictEqual(yield* Effect.provide(run, recording), [mocked])
        assert.deepStrictEqual(yield* Effect.provide(run, playing(path)), [mocked])
      }
      assert.deepStrictEqual(done, [])
    }).pipe(withFiles))
})

describe("A handler that asks a model itself", () => {
  const Desk = Toolkit.make(
    Tool.make("consult", { success: Schema.String }),
    Tool.make("look_up", { success: Schema.Int })
  )
  const model = MockModel.layer(MockModel.conditional(
    MockModel.when(
      (request) => request.lastToolResults.length > 0,
      ({ lastToolResults }) => `${lastToolResults[0]?.result}`
    ),
    MockModel.when(/joke/, "Knock, knock."),
    MockModel.when({ agent: "expert" }, MockResponse.toolCall("look_up", {})),
    MockModel.otherwise(MockResponse.toolCall("consult", {}))
  ))
  const handlers = Desk.toLayer(Effect.gen(function*() {
    const services = yield* Effect.context<LanguageModel.LanguageModel>()
    return {
      look_up: () => Effect.succeed(7),
      consult: Effect.fnUntraced(
        function*() {
          const joke = yield* LanguageModel.generateText({ prompt: "A joke?" })
          const heard = yield* Stream.runCollect(LanguageModel.streamText({ prompt: "Another joke?" }))
          const text = heard.map((part) => part.type === "text-delta" ? part.delta : "").join("")
          const toolkit = yield* Effect.provide(
            Desk,
            Desk.toLayer({ look_up: () => Effect.succeed(7), consult: () => Effect.succeed("") })
          )
          const asked = yield* Agent.run(Agent.make("expert", { toolkit }), "What is it?")
          return [joke.text, text, AgentState.text(asked)].join(" ")
        },
        Effect.provideContext(services),
        Effect.orDie
      )
    }
  }))
  const desk = Agent.make("desk", { toolkit: Desk })
  const run = Effect.map(Agent.run(desk, "Hello"), AgentState.text).pipe(Effect.tap(Cassette.assertDrained))

  it.effect("is on the tape with its result alone, since a replay doesn't run it", () =>
    Effect.gen(function*() {
      const path = yield* newPath
      const recorder = Cassette.toolkit(Desk, handlers).pipe(
        Layer.provideMerge(Cassette.layer(path, { mode: "record" })),
        Layer.provide(model)
      )
      const said = "Knock, knock. Knock, knock. 7"
      assert.strictEqual(yield* Effect.provide(run, recorder), said)
      const player = Cassette.toolkit(Desk).pipe(Layer.provideMerge(playing(path)))
      assert.strictEqual(yield* Effect.provide(run, player), said)
      const tags = (yield* content(path)).trim().split("\n").map((line) => JSON.parse(line)._tag)
      assert.deepStrictEqual(tags, [
        "ModelCallStarted",
        "ModelResponded",
        "ToolCallStarted",
        "ToolCallSettled",
        "ModelCallStarted",
        "ModelResponded"
      ])
    }).pipe(withFiles))

  it.effect("asks the tape if it runs in the replay too", () =>
    Effect.gen(function*() {
      const path = yield* newPath
      const recorder = Layer.provideMerge(handlers, Cassette.layer(path, { mode: "record" })).pipe(Layer.provide(model))
      const recorded = yield* Effect.provide(run, recorder)
      assert.strictEqual(yield* Effect.provide(run, Layer.provideMerge(handlers, playing(path))), recorded)
    }).pipe(withFiles))
})

describe("An observer that asks a model while another answer arrives", () => {
  const model = MockModel.make(({ lastUserText }) =>
    lastUserText === "How warm?" ? "It is warm." : `on ${lastUserText}`
  )
  const talk = Effect.gen(function*() {
    const heard: Array<string> = []
    const streamed = yield* observed(
      Agent.observe(Stream.runCollect(Agent.stream(Agent.make("guide"), "How warm?")), (event) => {
        if (event._tag !== "TextDelta") return Effect.void
        const asking = LanguageModel.generateText({ prompt: event.delta })
        return Effect.map(Effect.orDie(asking), ({ text }) => void heard.push(text))
      })
    )
    return { heard, streamed }
  })

  it.effect("asks the tape as well, whether its run asks natively or not", () =>
    Effect.gen(function*() {
      const wrapped = Layer.effect(LanguageModel.LanguageModel)(
        Effect.map(LanguageModel.LanguageModel, (service) => ({ ...service }))
      ).pipe(Layer.provide(MockModel.layer(model)))
      for (const layer of [MockModel.layer(model), wrapped]) {
        const path = yield* newPath
        const recorder = Cassette.layer(path, { mode: "record" }).pipe(Layer.provide(layer))
        const recorded = yield* talk.pipe(Effect.provide(Layer.fresh(recorder)))
        assert.deepStrictEqual(recorded.heard, ["on It", "on  is", "on  warm."])
        const played = yield* talk.pipe(Effect.tap(Cassette.assertDrained), Effect.provide(playing(path)))
        assert.deepStrictEqual(played, recorded)
      }
    }).pipe(withFiles))
})
