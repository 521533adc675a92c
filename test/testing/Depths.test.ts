import { NodeFileSystem } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Effect, FileSystem, Layer, Schedule, Schema, Stream } from "effect"
import { Tool, Toolkit } from "effect/ai"
import { Agent, AgentEvent, AgentState, StopWhen } from "troupe"
import { Cassette, ConversationArbitrary, MockModel, MockProvider, MockResponse } from "troupe/testing"
import { input, lastOf } from "../agent/laws.ts"
import * as OpenAi from "./openAi.ts"

class Broken extends Schema.TaggedError<Broken>("test/Broken")("Broken", { why: Schema.String }) {}

const Tools = Toolkit.make(
  Tool.make("get_weather", {
    parameters: Schema.Struct({ city: Schema.String, days: Schema.optionalKey(Schema.Int) }),
    success: Schema.Struct({ celsius: Schema.Finite, at: Schema.Date })
  }),
  Tool.make("say", { parameters: Schema.Struct({ words: Schema.Array(Schema.String) }), success: Schema.String }),
  Tool.make("break", { failure: Broken, failureMode: "return" })
)

const handlers = Tools.toLayer({
  get_weather: ({ city, days = 0 }) => Effect.succeed({ celsius: city.length, at: new Date(days % 1000) }),
  say: ({ words }) => Effect.succeed(words.join(" ")),
  break: () => Effect.fail(new Broken({ why: "it was old" }))
})

const agent = Agent.make("main", {
  instructions: "Be brief.",
  toolkit: Tools,
  stopWhen: StopWhen.maxSteps(4),
  retry: Schedule.recurs(1)
})

/** Says what the model was sent, so that a prompt that is another on its way gives another state. */
const told: MockModel.ReplyFunction = ({ lastToolResults, messages, system, toolNames }) =>
  MockResponse.withUsage(
    JSON.stringify([
      system,
      toolNames,
      messages.length,
      lastToolResults.map(({ id, name, result }) => [id, name, result])
    ]),
    { input: 7, output: 3, reasoning: 1, cached: 2 }
  )

/** A script in which nothing is left to who plays it: calls have ids, and all usage is known. Some answers are failures. */
const Script = Arbitrary.map(
  Arbitrary.all({
    answers: ConversationArbitrary.script(Tools, { maxAnswers: 4, maxCalls: 3, misfits: true }),
    finish: Arbitrary.schema(Schema.Literals(["", "", "length", "content-filter"])),
    failures: Arbitrary.schema(
      Schema.Array(Schema.Literals(["", "", 400, 401, 429, 500, 529, "cut"])).check(Schema.isMaxLength(4))
    )
  }),
  ({ answers, failures, finish }) =>
    answers.map((answer, turn): MockResponse.MockResponse => {
      const failure = failures[turn]
      if (typeof failure === "number") return MockResponse.httpError(failure)
      if (failure === "cut") return MockResponse.cut(answer, 1)
      const parts = answer.parts.map((part, index) =>
        part.type === "tool-call" ? { ...part, id: `call_${turn}_${index}` } : part
      )
      const usage = { input: 10 * turn, output: 5, reasoning: turn, cached: 1, ...answer.usage }
      const isLast = turn === answers.length - 1
      return { ...answer, parts, usage, ...(isLast && finish !== "" ? { finishReason: finish } : undefined) }
    })
)

const whole = Agent.run(agent, input)
const streamed = Effect.gen(function*() {
  const events = yield* Stream.runCollect(Agent.stream(agent, input))
  const end = events.findLast(AgentEvent.isRunEnd)
  return end === undefined ? yield* Effect.die("no end") : end.state
})

/** The state that a run leaves, whatever it ended with, as JSON, and how the model failed on the way. */
const ending = <E, R, A, EL, RL>(run: Effect.Effect<AgentState.AgentState, E, R>, layer: Layer.Layer<A, EL, RL>) =>
  Effect.gen(function*() {
    const failures: Array<string> = []
    let refused = 0
    const exit = yield* Effect.exit(
      Agent.observe(run, (event) =>
        Effect.sync(() => {
          if (event._tag !== "ModelCallFailed") return
          failures.push(event.tag)
          if (event.isBrokenOff !== true) refused++
        }))
    )
    const state = lastOf(exit)
    assert.isDefined(state)
    const json = JSON.parse(JSON.stringify(AgentState.toJson(state!)))
    // Each client has words of its own for what failed.
    if (failures.length > 0 && json.status._tag === "Failed") json.status.error.message = failures.at(-1)
    return { state: json, failures, refused }
  }).pipe(Effect.provide(Layer.fresh(layer)))

/** Plays a script at each depth, streamed or not: all come to the same. Gives what that is. */
const played = Effect.fnUntraced(
  function*(script: ConversationArbitrary.Script) {
    const handler = MockModel.firstOf(MockModel.queue(...script), MockModel.make(told))
    const model = MockModel.layer(handler)
    const expected = yield* ending(whole, Layer.merge(model, handlers))

    const path = `${yield* (yield* FileSystem.FileSystem).makeTempDirectoryScoped()}/tape.jsonl`
    const recorder = Cassette.layer(path, { mode: "record" }).pipe(Layer.provide(model))
    const recording = Cassette.toolkit(Tools, handlers).pipe(Layer.provideMerge(recorder))
    assert.deepStrictEqual(yield* ending(whole, recording), expected)
    const playing = Cassette.toolkit(Tools).pipe(Layer.provideMerge(Cassette.layer(path, { mode: "replay" })))

    for (const run of [whole, streamed]) {
      const provider = MockProvider.make({ handler, strict: true })
      assert.deepStrictEqual(yield* ending(run, Layer.merge(OpenAi.layer(provider.fetch), handlers)), expected)
      yield* provider.assertNoMisses
      const requests = yield* provider.requests("openai-chat")
      assert.strictEqual(requests.length, expected.state.usage.requests + expected.refused)
      assert.deepStrictEqual(yield* ending(Effect.ensuring(run, Cassette.assertDrained), playing), expected)
    }
    return expected
  },
  Effect.scoped,
  Effect.provide(NodeFileSystem.layer)
)

describe("A script", () => {
  it.effect.prop(
    "comes to the same state by a model, over the wire and from a recording, streamed or not",
    [Script],
    ([script]) => played(script),
    { arbitrary: { runs: 20 } }
  )

  it.effect("fails alike at each depth: by a status, or where the connection is cut", () =>
    Effect.gen(function*() {
      const cut = MockResponse.cut("It is warm.", 1)
      const said = MockResponse.withUsage("It is warm.", { input: 1, output: 1, reasoning: 0, cached: 0 })
      const failures = (...script: ConversationArbitrary.Script) =>
        Effect.map(played(script), ({ failures, state }) => [...failures, state.status._tag])
      assert.deepStrictEqual(yield* failures(cut, said), ["NetworkError", "Complete"])
      assert.deepStrictEqual(yield* failures(cut, cut, said), ["NetworkError", "NetworkError", "Failed"])
      assert.deepStrictEqual(yield* failures(MockResponse.httpError(429), said), ["RateLimitError", "Complete"])
      assert.deepStrictEqual(yield* failures(MockResponse.httpError(400), said), ["InvalidRequestError", "Failed"])
    }))
})
