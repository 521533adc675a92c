import { NodeFileSystem } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Effect, FileSystem, Layer, Schema, Stream } from "effect"
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

const agent = Agent.make("main", { instructions: "Be brief.", toolkit: Tools, stopWhen: StopWhen.maxSteps(4) })

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

/** A script in which nothing is left to who plays it: calls have ids, and all usage is known. */
const Script = Arbitrary.map(
  Arbitrary.all({
    answers: ConversationArbitrary.script(Tools, { maxAnswers: 4, maxCalls: 3, misfits: true }),
    finish: Arbitrary.schema(Schema.Literals(["", "", "length", "content-filter"]))
  }),
  ({ answers, finish }) =>
    answers.map((answer, turn): MockResponse.MockResponse => {
      const parts = answer.parts.map((part, index) =>
        part.type === "tool-call" ? { ...part, id: `call_${turn}_${index}` } : part
      )
      const usage = { input: 10 * turn, output: 5, reasoning: turn, cached: 1, ...answer.usage }
      const isLast = turn === answers.length - 1
      return { ...answer, parts, usage, ...(isLast && finish !== "" ? { finishReason: finish } : undefined) }
    })
)

/** The state that a run leaves, whatever it ended with. */
const whole = Effect.map(Effect.exit(Agent.run(agent, input)), lastOf)
const streamed = Effect.gen(function*() {
  const events: Array<AgentEvent.AgentEvent> = []
  const run = Stream.runForEach(Agent.stream(agent, input), (event) => Effect.sync(() => events.push(event)))
  yield* Effect.exit(run)
  return events.findLast(AgentEvent.isRunEnd)?.state
})

/** The state that a run leaves, as JSON. */
const ending = <E, R, A, EL, RL>(
  run: Effect.Effect<AgentState.AgentState | undefined, E, R>,
  layer: Layer.Layer<A, EL, RL>
) =>
  Effect.map(Effect.provide(run, Layer.fresh(layer)), (state) => {
    assert.isDefined(state)
    return JSON.parse(JSON.stringify(AgentState.toJson(state!)))
  })

describe("A script", () => {
  it.effect.prop(
    "comes to the same state by a model, over the wire and from a recording, streamed or not",
    [Script],
    ([script]) =>
      Effect.gen(function*() {
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
          assert.strictEqual(requests.length, expected.usage.requests)
          assert.deepStrictEqual(yield* ending(Effect.tap(run, Cassette.assertDrained), playing), expected)
        }
      }).pipe(Effect.scoped, Effect.provide(NodeFileSystem.layer)),
    { arbitrary: { runs: 20 } }
  )
})
