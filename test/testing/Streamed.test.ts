import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Result, Schema, Stream } from "effect"
import { LanguageModel, Tool, Toolkit } from "effect/ai"
import { Agent, AgentState } from "troupe"
import { MockModel, MockResponse } from "troupe/testing"

const Tools = Toolkit.make(
  Tool.make("add", {
    parameters: Schema.Struct({ a: Schema.Finite, b: Schema.Finite }),
    success: Schema.Finite,
    failure: Schema.String
  }),
  Tool.make("today", { success: Schema.Date }),
  Tool.make("search", { success: Schema.String })
)
const table = { add: ({ a, b }: { readonly a: number; readonly b: number }) => a + b, today: new Date(0) }

const Answer = Schema.Struct({ answer: Schema.String, at: Schema.Date })

const plain = Agent.make("plain", { toolkit: Tools })
const structured = Agent.make("structured", { toolkit: Tools, output: Answer })

const Metadata = Schema.optionalKey(Schema.Struct({ mock: Schema.Json }))
const Tokens = Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1000 })))

const Item = Schema.TaggedUnion({
  Text: { text: Schema.String, metadata: Metadata },
  Reasoning: { text: Schema.String, metadata: Metadata },
  Add: { a: Schema.Int, b: Schema.Int, id: Schema.optionalKey(Schema.Literals(["x", "y", ""])) },
  AddGiven: { result: Schema.Int, isFailure: Schema.Boolean },
  Today: {},
  Unknown: { params: Schema.Json },
  ProviderCall: { result: Schema.String },
  File: { data: Schema.Uint8Array },
  Source: { title: Schema.String },
  Final: { answer: Schema.String, isWrong: Schema.Boolean },
  FinalText: { answer: Schema.String }
})

const at = "1970-01-01T00:00:00.000Z"

const toResponse = Item.match({
  Text: ({ text, ...rest }) => MockResponse.text(text, rest),
  Reasoning: ({ text, ...rest }) => MockResponse.reasoning(text, rest),
  Add: ({ a, b, ...rest }) => MockResponse.toolCall("add", { a, b }, rest),
  AddGiven: ({ isFailure, result }) =>
    MockResponse.toolCall("add", { a: 0, b: 0 }, { result: isFailure ? `${result}` : result, isFailure }),
  Today: () => MockResponse.toolCall("today", {}),
  Unknown: ({ params }) => MockResponse.toolCall("unknown", params),
  ProviderCall: ({ result }) => MockResponse.providerCall("search", {}, result),
  File: ({ data }) => MockResponse.file("image/png", data),
  Source: ({ title }) => MockResponse.source({ sourceType: "url", id: "s", url: "https://effect.website/", title }),
  Final: ({ answer, isWrong }) => MockResponse.toolCall("final_answer", isWrong ? { answer } : { answer, at }),
  FinalText: ({ answer }) => MockResponse.json({ answer, at })
})

const Turn = Schema.Struct({
  items: Schema.Array(Item),
  usage: Schema.optionalKey(Schema.Struct({ input: Tokens, output: Tokens, cached: Tokens, reasoning: Tokens })),
  metadata: Metadata,
  finishReason: Schema.optionalKey(Schema.Literals(["stop", "length", "content-filter", "tool-calls", "other"])),
  chunks: Schema.NonEmptyArray(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 5 }))),
  cut: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 6 }))),
  status: Schema.optionalKey(Schema.Literals([400, 429, 500]))
})

const Script = Schema.Struct({ isStructured: Schema.Boolean, turns: Schema.Array(Turn) })

const fromTurn = (turn: typeof Turn.Type): MockResponse.MockResponse => {
  const { chunks, cut, finishReason, items, metadata, status, usage } = turn
  if (status !== undefined) return MockResponse.httpError(status)
  const response = MockResponse.chunked(MockResponse.all(...items.map(toResponse)), chunks)
  const whole: MockResponse.MockResponse = {
    ...response,
    ...(usage === undefined ? undefined : { usage }),
    ...(metadata === undefined ? undefined : { metadata }),
    ...(finishReason === undefined ? undefined : { finishReason })
  }
  return cut === undefined ? whole : MockResponse.cut(whole, cut)
}

/** A model of a script, and tools that give what it says. Both begin anew each time. */
const environment = (script: typeof Script.Type) =>
  MockModel.handlers(Tools, table).pipe(Layer.provideMerge(Layer.fresh(MockModel.layer(
    MockModel.firstOf(
      MockModel.queue(...script.turns.map(fromTurn)),
      MockModel.make(MockResponse.json({ answer: "end", at }))
    )
  ))))

const inEnvironment = <A, E>(
  script: typeof Script.Type,
  self: Effect.Effect<A, E, Layer.Success<ReturnType<typeof environment>>>
) =>
  Effect.gen(function*() {
    const result = yield* self
    const calls = (yield* MockModel.calls).map(({ request, response }) => ({
      prompt: JSON.stringify(request.prompt),
      tools: request.toolNames,
      response: response === undefined ? undefined : { ...response, failure: response.failure?.error.message }
    }))
    const toolCalls = (yield* MockModel.toolCalls).map(({ id, name, params }) => ({ id, name, params }))
    return { result, calls, toolCalls }
  }).pipe(Effect.provide(environment(script)))

const agentOf = (script: typeof Script.Type) =>
  (script.isStructured ? structured : plain) as Agent.Agent<string, unknown, never, never>

const lastOf = (events: ReadonlyArray<{ readonly _tag: string }>) => {
  const last = events.at(-1)
  assert.isTrue(last !== undefined && "state" in last)
  return (last as unknown as { readonly state: AgentState.AgentState }).state
}

describe("A script", () => {
  it.effect.prop(
    "gives the same state of an agent streamed or not, and the same calls",
    [Script],
    ([script]) =>
      Effect.gen(function*() {
        const agent = agentOf(script)
        const whole = yield* inEnvironment(script, Agent.settle(agent, "Go"))
        const events: Array<{ readonly _tag: string }> = []
        const streamed = yield* inEnvironment(
          script,
          Stream.runForEach(Agent.stream(agent, "Go"), (event) => Effect.sync(() => events.push(event))).pipe(
            Effect.exit
          )
        )
        assert.deepStrictEqual(lastOf(events), whole.result)
        assert.deepStrictEqual(streamed.calls, whole.calls)
        assert.deepStrictEqual(streamed.toolCalls, whole.toolCalls)
      }),
    { arbitrary: { runs: 50 } }
  )

  it.effect("gives an object, and the output of an agent, by one and the same response", () =>
    Effect.gen(function*() {
      const schema = Schema.Struct({ answer: Schema.String })
      const agent = Agent.make("structured", { output: schema })
      const value = { answer: "42" }
      const asked = yield* LanguageModel.generateObject({ prompt: "Go", schema })
      assert.deepStrictEqual(asked.value, value)
      const state = yield* Agent.run(agent, "Go")
      assert.deepStrictEqual(AgentState.output(agent, state), Result.succeed(value))
      const events = yield* Stream.runCollect(Agent.stream(agent, "Go"))
      assert.deepStrictEqual(AgentState.output(agent, lastOf(events)), Result.succeed(value))
    }).pipe(Effect.provide(MockModel.layer(MockModel.make(MockResponse.json({ answer: "42" }))))))
})
