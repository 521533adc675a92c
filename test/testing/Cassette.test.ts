import { assert, describe, it } from "@effect/vitest"
import {
  Cause,
  Deferred,
  Duration,
  Effect,
  ExecutionPlan,
  Exit,
  Fiber,
  FileSystem,
  Layer,
  Schedule,
  Schema,
  Stream
} from "effect"
import { AiError, LanguageModel, OpenAiStructuredOutput, Prompt, Tool, Toolkit } from "effect/ai"
import { Agent, AgentEvent, AgentState, Conversation, StopWhen, ToolPolicy, Trace } from "troupe"
import { Cassette, MockModel, MockResponse } from "troupe/testing"
import { input, lastOf } from "../agent/laws.ts"
import { agentOf, environment, Script, Tools } from "../agent/scripts.ts"
import { ask as askModel, stream as streamModel } from "./ask.ts"
import { content, newPath, observed, withFiles } from "./tape.ts"

const Weather = Toolkit.make(
  Tool.make("get_weather", {
    parameters: Schema.Struct({ city: Schema.String }),
    success: Schema.Finite,
    failure: Schema.Struct({ why: Schema.String })
  })
)
const agent = Agent.make("weather", { instructions: "Be brief.", toolkit: Weather })

const handlers = Weather.toLayer({
  get_weather: ({ city }) => city === "Atlantis" ? Effect.fail({ why: "it sank" }) : Effect.succeed(22)
})

type Model = Layer.Layer<LanguageModel.LanguageModel>

type Options = Cassette.Options & { readonly mode?: Cassette.Mode }

/** What records a model. */
const recordingModel = (path: string, model: Model, options?: Options) =>
  Cassette.layer(path, { mode: "record", ...options }).pipe(Layer.provide(model))

/** What records a model and the weather. */
const recording = (path: string, model: Model, tools = handlers, options?: Options) =>
  Cassette.toolkit(Weather, tools).pipe(Layer.provideMerge(recordingModel(path, model, options)))

/** What records a run of an agent with the weather, whose model says this. */
const recorder = (path: string, said: ReadonlyArray<MockResponse.Input>, options?: Options) =>
  recording(path, MockModel.layer(MockModel.queue(...said)), handlers, options)

const player = (path: string, options?: Cassette.Options) =>
  Cassette.toolkit(Weather).pipe(Layer.provideMerge(Cassette.layer(path, { mode: "replay", ...options })), Layer.fresh)

const paris = [MockResponse.toolCall("get_weather", { city: "Paris" }, { id: "toolu_01" }), "It is 22 °C."] as const

const run = (query = "How warm is Paris?") => Agent.run(agent, query)

const problem = (exit: Exit.Exit<unknown, unknown>) => Exit.isSuccess(exit) ? undefined : Cause.squash(exit.cause)

/** What a run of a random script comes to: its last state, and what it failed with. */
const outcome = (exit: Exit.Exit<AgentState.AgentState, unknown>) => [lastOf(exit), problem(exit)]

const deltas = (events: ReadonlyArray<AgentEvent.AgentEvent>) =>
  events.flatMap((event) => event._tag === "TextDelta" ? [event.delta] : []).join("")

describe("A cassette", () => {
  it.effect.prop(
    "plays what models and tools did, streamed or not",
    [Script, Schema.Boolean],
    ([script, isSeen]) =>
      Effect.gen(function*() {
        const path = yield* newPath
        const asIs = Agent.run(agentOf(script), input)
        const streamed = Agent.stream(agentOf(script), input).pipe(Stream.runDrain, Effect.exit)
        const direct = outcome(yield* Effect.exit(asIs).pipe(Effect.provide(environment(script))))

        const recording = Cassette.toolkit(Tools, environment(script)).pipe(
          Layer.provideMerge(Cassette.layer(path, { mode: "record" })),
          Layer.provide(environment(script))
        )
        const recorded = yield* observed(asIs).pipe(Effect.provide(recording))
        const expected = outcome(recorded.exit)
        // How far the calls beside a crash come depends on how long each takes, and to be written down takes time.
        if (script.agent.break !== "crash") assert.deepStrictEqual(expected, direct)
        if (isSeen && script.agent.break !== "crash") {
          // Streamed this time, the tape is the same but for what was heard before a failure.
          const first = yield* content(path)
          yield* streamed.pipe(Effect.provide(Layer.fresh(recording)))
          if (!first.includes("ModelCallFailed")) assert.strictEqual(yield* content(path), first)
        }

        const playing = Layer.fresh(
          Cassette.toolkit(Tools).pipe(
            Layer.provideMerge(Cassette.layer(path, { mode: "replay" }))
          )
        )
        const played = yield* Effect.exit(asIs).pipe(Effect.tap(Cassette.assertDrained), Effect.provide(playing))
        assert.deepStrictEqual(outcome(played), expected)
        const seen = yield* observed(asIs).pipe(Effect.provide(playing))
        assert.deepStrictEqual(outcome(seen.exit), expected)
        const last = (yield* observed(streamed).pipe(Effect.provide(playing))).events.findLast(AgentEvent.isRunEnd)
        assert.deepStrictEqual(last?.state, lastOf(played))

        const fromLog = Cassette.toolkit(Tools).pipe(
          Layer.provideMerge(Cassette.fromEvents(recorded.events)),
          Layer.fresh
        )
        const again = yield* Effect.exit(asIs).pipe(Effect.provide(fromLog))
        if (script.agent.break !== "crash") assert.deepStrictEqual(lastOf(again), lastOf(played))
      }).pipe(withFiles),
    { arbitrary: { runs: 25 } }
  )

  it.effect("writes the events of a log, which others can read, and the same again for the same", () =>
    Effect.gen(function*() {
      const path = yield* newPath
      yield* run().pipe(Effect.provide(recorder(path, [...paris])))
      const first = yield* content(path)
      const events = first.trim().split("\n").map((line) =>
        Schema.decodeUnknownSync(Schema.fromJsonString(AgentEvent.AgentEvent))(line)
      )
      assert.deepStrictEqual(events.map((event) => [event._tag, event.step, event.sequence]), [
        ["ModelCallStarted", 0, 0],
        ["ModelResponded", 0, 1],
        ["ToolCallStarted", 0, 2],
        ["ToolCallSettled", 0, 3],
        ["ModelCallStarted", 1, 4],
        ["ModelResponded", 1, 5]
      ])
      assert.include(Trace.toMarkdown(events), "It is 22 °C.")
      assert.strictEqual(first.split("How warm is Paris?").length, 2)
      yield* run().pipe(Effect.provide(recorder(path, [...paris])))
      assert.strictEqual(yield* content(path), first)
    }).pipe(withFiles))

  it.effect("shows how a request differs from the one on the tape", () =>
    Effect.gen(function*() {
      const path = yield* newPath
      yield* run().pipe(Effect.provide(recorder(path, [...paris])))
      const drift = yield* Effect.flip(run("How warm is Oslo?").pipe(Cassette.orFail, Effect.provide(player(path))))
      assert.strictEqual(drift._tag, "CassetteDrift")
      assert.strictEqual(
        drift.message,
        `Request 1 of agent "weather" isn't what the tape "${path}" has:
--- recorded
+++ asked
@@ -1,3 +1,3 @@
 system: Be brief.
-user: How warm is Paris?
+user: How warm is Oslo?
 tools: get_weather`
      )
      const other = Agent.make("weather", { instructions: "Be kind.", toolkit: Weather })
      const system = yield* Effect.flip(
        Agent.run(other, "How warm is Paris?").pipe(Cassette.orFail, Effect.provide(player(path)))
      )
      assert.include(system.message, "-system: Be brief.\n+system: Be kind.")
      const exit = yield* Effect.exit(run("How warm is Oslo?").pipe(Effect.provide(player(path))))
      assert.instanceOf(problem(exit), Cassette.CassetteDrift)
    }).pipe(withFiles))

  it.effect("shows how a call differs from the one on the tape", () =>
    Effect.gen(function*() {
      const path = yield* newPath
      yield* run().pipe(Effect.provide(recorder(path, [...paris])))
      const text = yield* content(path)
      const files = yield* FileSystem.FileSystem
      const lines = text.split("\n").map((line, index) => index === 2 ? line.replace("Paris", "Oslo") : line)
      yield* files.writeFileString(path, lines.join("\n"))
      const drift = yield* Effect.flip(run().pipe(Cassette.orFail, Effect.provide(player(path))))
      assert.include(drift.message, `A call of tool "get_weather" of agent "weather" isn't what the tape`)
      assert.include(drift.message, `-  "city": "Oslo"\n+  "city": "Paris"`)
    }).pipe(withFiles))

  it.effect("shows how a tool and the form of an answer differ from those on the tape", () =>
    Effect.gen(function*() {
      const path = yield* newPath
      yield* run().pipe(Effect.provide(recorder(path, [...paris])))
      type Fields = { readonly [field: string]: Schema.String | Schema.Boolean }
      const other = (description: string | undefined, parameters: Schema.Struct<Fields>) =>
        Agent.make("weather", {
          instructions: "Be brief.",
          toolkit: Toolkit.make(Tool.make("get_weather", { description, parameters, success: Schema.Finite }))
        })
      const driftOf = (description: string | undefined, parameters: Schema.Struct<Fields>) =>
        Agent.run(other(description, parameters), "How warm is Paris?").pipe(
          Cassette.orFail,
          Effect.flip,
          Effect.map(({ message }) => message.slice(message.indexOf("\n"))),
          Effect.provide([player(path), handlers])
        )
      assert.strictEqual(
        yield* driftOf("Asks Paris", Schema.Struct({ city: Schema.Boolean })),
        `
--- recorded
+++ asked
@@ -4,9 +4,10 @@
 tool get_weather:
   {
+    "description": "Asks Paris",
     "parameters": {
       "additionalProperties": true,
       "properties": {
         "city": {
-          "type": "string"
+          "type": "boolean"
         }
       },`
      )
      assert.include(yield* driftOf("Asks", Schema.Struct({ city: Schema.String })), `+    "description": "Asks"`)
      assert.include(yield* driftOf(undefined, Schema.Struct({})), `-        "city": {`)

      const object = (schema: Schema.Codec<unknown, Record<string, unknown>>) =>
        LanguageModel.generateObject({ prompt: "How warm?", objectName: "weather", schema }).pipe(Cassette.orFail)
      const model = MockModel.layer(MockModel.queue(MockResponse.json({ celsius: 22 })))
      const celsius = Schema.Struct({ celsius: Schema.Finite })
      yield* object(celsius).pipe(
        Effect.provide(recordingModel(path, model))
      )
      const drift = yield* Effect.flip(
        object(Schema.Struct({ celsius: Schema.String })).pipe(Effect.provide(player(path)))
      )
      assert.match(drift.message, /\n-\s+"type": "number"\n\+\s+"type": "string"/)
      yield* object(Schema.Struct({ celsius: Schema.Finite })).pipe(Effect.provide(player(path)))
    }).pipe(withFiles))

  it.effect("tells tools of one provider apart by their arguments, and bears schemas that say nothing in JSON", () =>
    Effect.gen(function*() {
      const path = yield* newPath
      const Search = Tool.providerDefined({
        id: "some.search",
        customName: "WebSearch",
        providerName: "web_search",
        args: Schema.Struct({ most: Schema.Int }),
        success: Schema.String
      })
      const Odd = Tool.make("odd", {
        parameters: Schema.Struct({ at: Schema.declare((u): u is Map<string, string> => u instanceof Map) }),
        success: Schema.String
      })
      const ask = (most: number) =>
        LanguageModel.generateText({
          prompt: "Hello",
          toolkit: Toolkit.make(Search({ most }), Odd),
          disableToolCallResolution: true
        }).pipe(Effect.map(({ text }) => text), Cassette.orFail)
      yield* ask(3).pipe(Effect.provide(recordingModel(path, MockModel.layer(MockModel.queue("Hi.")))))
      assert.strictEqual(yield* ask(3).pipe(Effect.provide(player(path))), "Hi.")
      const drift = yield* Effect.flip(ask(4).pipe(Effect.provide(player(path))))
      assert.include(drift.message, `-      "most": 3\n+      "most": 4`)
    }).pipe(withFiles))

  it.effect("finds a call by the name of its tool, too, and its parameters without what is redacted", () =>
    Effect.gen(function*() {
      const path = yield* newPath
      const Places = Toolkit.make(
        ...["near", "far"].map((name) =>
          Tool.make(name, { parameters: Schema.Struct({ of: Schema.String }), success: Schema.String })
        )
      )
      const guide = Agent.make("guide", { toolkit: Places })
      const give = (name: string) => ({ of }: { readonly of: string }) => Effect.succeed(`${name} ${of}`)
      const calls = (names: ReadonlyArray<string>, word: string) =>
        MockModel.layer(MockModel.queue(
          MockResponse.all(...names.map((name) => MockResponse.toolCall(name, { of: word }))),
          "Well."
        ))
      const handlers = Places.toLayer({ near: give("near"), far: give("far") })
      const redact = [/hunter\d/]
      const recording = Cassette.toolkit(Places, handlers).pipe(
        Layer.provideMerge(Cassette.layer(path, { mode: "record", redact })),
        Layer.provide(calls(["near", "far"], "hunter2"))
      )
      yield* Agent.run(guide, "Where?").pipe(Effect.provide(recording))
      // Played beside a model that names the tools the other way around, and another word that is redacted, too.
      const player = Layer.merge(
        Cassette.toolkit(Places).pipe(Layer.provide(Cassette.layer(path, { mode: "replay", redact }))),
        calls(["far", "near"], "hunter3")
      )
      const state = yield* Agent.run(guide, "Where?").pipe(Effect.provide(player))
      assert.deepStrictEqual(
        state.conversation.turns.flatMap((turn) =>
          turn._tag === "Assistant"
            ? Conversation.callsOf(turn).map(({ state }) => state._tag === "Settled" && state.result)
            : []
        ),
        ["far <redacted>", "near <redacted>"]
      )
    }).pipe(withFiles))

  it.effect("says when there is no more on the tape, and what is left over", () =>
    Effect.gen(function*() {
      const path = yield* newPath
      yield* run().pipe(Effect.provide(recorder(path, [...paris])))
      const twice = Effect.andThen(run(), run())
      const exhausted = yield* Effect.flip(twice.pipe(Cassette.orFail, Effect.provide(player(path))))
      assert.strictEqual(exhausted._tag, "CassetteExhausted")
      assert.include(exhausted.message, `Request 3 of agent "weather" isn't on the tape "${path}", which has 2 only:`)
      const stranger = Agent.make("stranger")
      const missing = yield* Effect.flip(
        Agent.run(stranger, "Hello").pipe(Cassette.orFail, Effect.provide(player(path)))
      )
      assert.include(missing.message, "which has none like it (agents on it: weather):\nuser: Hello")
      const left = yield* Effect.flip(Cassette.assertDrained.pipe(Cassette.orFail, Effect.provide(player(path))))
      assert.strictEqual(
        left.message,
        `Never asked for on the tape "${path}":
  a request of agent "weather": user: How warm is Paris?
  a request of agent "weather": tool: call_1 gave 22
  a call of tool "get_weather" of agent "weather": {"city":"Paris"}`
      )
      yield* run().pipe(Effect.andThen(Cassette.assertDrained), Effect.provide(player(path)))
    }).pipe(withFiles))

  it.effect("finds a request whatever its ids are", () =>
    Effect.gen(function*() {
      const path = yield* newPath
      const prompt = (one: string, two: string, other = 22): ReadonlyArray<Prompt.MessageEncoded> => [
        { role: "user", content: [{ type: "text", text: "Which is warmer?" }] },
        {
          role: "assistant",
          content: [one, two].map((id) => ({ type: "tool-call", id, name: "get_weather", params: { city: "Oslo" } }))
        },
        {
          role: "tool",
          content: [{ type: "tool-result", id: one, name: "get_weather", isFailure: false, result: 9 }, {
            type: "tool-result",
            id: two,
            name: "get_weather",
            isFailure: false,
            result: other
          }]
        }
      ]
      yield* askModel(prompt("a", "b")).pipe(
        Effect.provide(recordingModel(path, MockModel.layer(MockModel.queue("Oslo."))))
      )
      const said = yield* askModel(prompt("x", "y")).pipe(Effect.provide(player(path)))
      assert.strictEqual(said.text, "Oslo.")
      const drift = yield* Effect.flip(
        askModel(prompt("x", "y", 23)).pipe(Cassette.orFail, Effect.provide(player(path)))
      )
      assert.include(drift.message, "Request 1 isn't")
      assert.include(drift.message, "-tool: call_2 gave 22\n+tool: call_2 gave 23")
    }).pipe(withFiles))

  it.effect("reads each message of a long run once, to record it, to play it and to play its log", () =>
    Effect.gen(function*() {
      const count = (steps: number) =>
        Effect.gen(function*() {
          const path = yield* newPath
          let read = 0
          const redact = (text: string) => {
            read++
            return text
          }
          const said = Array.from({ length: steps }, (_, n) =>
            MockResponse.toolCall("get_weather", { city: `City ${n}` }))
          const long = Agent.run(Agent.make("weather", { toolkit: Weather, stopWhen: StopWhen.maxSteps(200) }), "Go")
          const { events } = yield* observed(long).pipe(Effect.provide(recorder(path, [...said, "Done."], { redact })))
          const recorded = read
          yield* long.pipe(Effect.tap(Cassette.assertDrained), Effect.provide(player(path, { redact })))
          const played = read - recorded
          const log = Cassette.toolkit(Weather).pipe(Layer.provideMerge(Cassette.fromEvents(events, { redact })))
          yield* long.pipe(Effect.tap(Cassette.assertDrained), Effect.provide(log))
          return [recorded, played, read - recorded - played] as const
        })
      const [short, long] = [yield* count(20), yield* count(80)]
      for (const [way, reads] of long.entries()) assert.isBelow(reads, 5 * short[way]!)
    }).pipe(withFiles))

  it.effect("names the calls of two conversations that begin alike apart", () =>
    Effect.gen(function*() {
      const path = yield* newPath
      const called = (id: string) => [
        Prompt.makeMessage("assistant", {
          content: [Prompt.makePart("tool-call", { id, name: "look", params: {}, providerExecuted: false })]
        }),
        Prompt.makeMessage("tool", {
          content: [
            Prompt.makePart("tool-result", { id, name: "look", result: 1, isFailure: false, providerExecuted: false })
          ]
        })
      ]
      const first = [
        Prompt.makeMessage("user", { content: [Prompt.makePart("text", { text: "Look." })] }),
        ...called("a")
      ]
      const ends = [[], called("b"), called("c")]
      const all = Effect.forEach(
        ends,
        (end) => LanguageModel.generateText({ prompt: Prompt.fromMessages([...first, ...end]) })
      )
      const model = MockModel.layer(MockModel.queue("One.", "Two.", "Three."))
      yield* all.pipe(Effect.provide(recordingModel(path, model)))
      const ids = [...(yield* content(path)).matchAll(/"of":"(\w+)"/g)].map(([, id]) => id)
      // The third request says the same as the second.
      assert.deepStrictEqual(ids, ["call_1", "call_2"])
      const played = yield* all.pipe(Effect.tap(Cassette.assertDrained), Effect.provide(player(path)))
      assert.deepStrictEqual(played.map(({ text }) => text), ["One.", "Two.", "Three."])
    }).pipe(withFiles))

  it.effect("keeps agents apart that run at once and ask the same", () =>
    Effect.gen(function*() {
      const path = yield* newPath
      const helper = Agent.make("helper", { toolkit: Weather })
      const boss = Agent.make("boss", { agents: [Agent.asTool(helper)] })
      const call = (id: string) => MockResponse.toolCall("helper", { task: "Guess" }, { id })
      const second = yield* Deferred.make<void>()
      const model = MockModel.layer(MockModel.byAgent({
        boss: MockModel.queue(MockResponse.all(call("one"), call("two")), "Both guessed."),
        helper: MockModel.make((request) => {
          const end = `${request.lastToolResults[0]?.id} ends`
          if (request.iteration > 0) return Effect.as(Deferred.succeed(second, undefined), end)
          const guess = MockResponse.toolCall("get_weather", { city: "Oslo" }, { id: `w${request.callCount}` })
          // The first that asks is answered once the second is through.
          return request.callCount === 2 ? Effect.as(Deferred.await(second), guess) : guess
        })
      }))
      const recorded = yield* Agent.run(boss, "Guess").pipe(Effect.provide(recording(path, model)))
      const played = yield* Agent.run(boss, "Guess").pipe(
        Effect.tap(Cassette.assertDrained),
        Effect.provide(player(path))
      )
      assert.deepStrictEqual(played.conversation, recorded.conversation)
      const results = JSON.stringify(played.conversation.turns[1])
      assert.isTrue(results.includes("w2 ends") && results.includes("w3 ends"), results)
    }).pipe(withFiles))

  it.effect("plays failures of the model as they were, without headers and queries", () =>
    Effect.gen(function*() {
      const path = yield* newPath
      const limit = new AiError.RateLimitError({
        retryAfter: Duration.seconds(7),
        metadata: { openai: { requestId: "req_1" } },
        http: {
          response: { status: 429, headers: { "set-cookie": "sk-secret", "x-request-id": "r" } },
          body: "slow down"
        }
      })
      const network = new AiError.NetworkError({
        reason: "TransportError",
        method: "POST",
        url: "https://me:sk-secret@example.com/v1?key=sk-secret",
        description: "lost POST https://example.com/v1?key=sk-secret#a",
        cause: new Error("authorization: sk-secret")
      })
      const model = MockModel.layer(MockModel.queue(
        MockResponse.fail(limit),
        MockResponse.fail(network),
        MockResponse.breakAfter("It is warm.", 2, limit)
      ))
      const ask = Effect.flip(LanguageModel.generateText({ prompt: "Hello" }))
      const heard: Array<string> = []
      const listen = LanguageModel.streamText({ prompt: "Hello" }).pipe(
        Stream.runForEach((part) => Effect.sync(() => part.type === "text-delta" && heard.push(part.delta))),
        Effect.flip
      )
      const all = Effect.all([ask, ask, listen])
      const recorded = yield* all.pipe(
        Effect.provide(recordingModel(path, model))
      )
      const [first, second, third] = yield* all.pipe(Effect.provide(player(path)))
      const clean = new AiError.RateLimitError({
        ...limit,
        http: { response: { status: 429, headers: {} }, body: "slow down" }
      })
      assert.deepStrictEqual(first, AiError.make({ module: "MockModel", method: "respond", reason: clean }))
      assert.deepStrictEqual({ ...first.reason }, { ...clean })
      assert.deepStrictEqual({ ...third.reason }, { ...clean })
      assert.isTrue(first.isRetryable)
      assert.strictEqual(first.message, recorded[0].message)
      assert.include(second.message, "lost POST https://example.com/v1#a (POST https://example.com/v1)")
      assert.deepStrictEqual(heard, ["It", " is", "It", " is"])
      assert.notInclude(yield* content(path), "sk-secret")
    }).pipe(withFiles))

  it.effect("plays how long a failure says to wait, whatever its reason", () =>
    Effect.gen(function*() {
      const path = yield* newPath
      const headers = { "retry-after": "7" }
      const model = MockModel.layer(
        MockModel.queue(MockResponse.httpError(529, { headers }), MockResponse.httpError(429, { headers }))
      )
      const ask = Effect.flip(LanguageModel.generateText({ prompt: "Hello" }))
      const both = Effect.map(Effect.all([ask, ask]), (errors) =>
        errors.map(({ reason, retryAfter }) => [reason._tag, retryAfter]))
      const recorded = yield* both.pipe(Effect.provide(recordingModel(path, model)))
      assert.deepStrictEqual(recorded, [
        ["InternalProviderError", Duration.seconds(7)],
        ["RateLimitError", Duration.seconds(7)]
      ])
      assert.deepStrictEqual(yield* both.pipe(Effect.provide(player(path))), recorded)
    }).pipe(withFiles))

  it.effect("has no key that a provider repeats in its failure, neither there nor for who calls the agent", () =>
    Effect.gen(function*() {
      const written = ["sk-proj-aBcD1234efGH5678.ijKL", "my-proxy-key-1", "hunterhunter"]
      const masked = "sk-abc***xyz"
      const [path, again] = [yield* newPath, yield* newPath]
      for (const key of [...written, masked]) {
        const message = `Incorrect API key provided: ${key}. Find yours at https://example.com/api-keys.`
        const model = MockModel.layer(MockModel.byAgent({
          boss: MockModel.queue(MockResponse.toolCall("worker", { task: "Work" }), "It failed."),
          worker: MockModel.repeat(MockResponse.httpError(401, { body: { error: { message } } }))
        }))
        const worker = Agent.make("worker")
        const boss = Agent.make("boss", { agents: [Agent.asTool(worker)] })
        const run = Agent.run(boss, "Go").pipe(Effect.map(AgentState.text))
        yield* run.pipe(Effect.provide(Cassette.layer(path, { mode: "record" }).pipe(Layer.provide(model))))
        assert.strictEqual(yield* run.pipe(Effect.provide(player(path))), "It failed.")
        const tape = yield* content(path)
        assert.strictEqual(tape.includes(key), key === masked, tape)
        assert.include(tape, "https://example.com/api-keys")
      }
      const plain = "This model's maximum context length is 128000 tokens; your token_count 130000. The key is expired."
      const failing = MockModel.layer(
        MockModel.queue(MockResponse.httpError(400, { body: { error: { message: plain } } }))
      )
      const ask = Effect.flip(LanguageModel.generateText({ prompt: "Hello" }))
      yield* ask.pipe(Effect.provide(recordingModel(again, failing)))
      assert.include((yield* ask.pipe(Effect.provide(player(again)))).message, plain)
    }).pipe(withFiles))

  it.effect("plays failures and defects of tools as they were, without queries", () =>
    Effect.gen(function*() {
      const path = yield* newPath
      const lost = AiError.make({
        module: "Inner",
        method: "ask",
        reason: new AiError.NetworkError({
          reason: "TransportError",
          method: "GET",
          url: "https://example.com/?key=sk-secret"
        })
      })
      const tools = Weather.toLayer({
        get_weather: ({ city }) =>
          city === "Paris" ? Effect.fail(lost) : Effect.die(new Error("https://a.example?b=sk-secret"))
      })
      const model = MockModel.layer(MockModel.queue(
        paris[0],
        MockResponse.toolCall("get_weather", { city: "Oslo" }, { id: "toolu_02" })
      ))
      const recorded = yield* observed(run()).pipe(Effect.provide(recording(path, model, tools)))
      const text = yield* content(path)
      assert.notInclude(text, "sk-secret")
      assert.include(text, "https://a.example")
      const played = yield* observed(run()).pipe(Effect.provide(player(path)))
      assert.deepStrictEqual(problem(played.exit), new Error("https://a.example"))
      const results = (events: ReadonlyArray<AgentEvent.AgentEvent>) =>
        JSON.stringify(events.flatMap((event) => event._tag === "ToolCallSettled" ? [event.result] : []))
      assert.strictEqual(results(played.events), results(recorded.events).replaceAll("?key=sk-secret", ""))
    }).pipe(withFiles))

  it.effect("lets a tool leave its result for later where it did, and wait for it again", () =>
    Effect.gen(function*() {
      const path = yield* newPath
      const later = Weather.toLayer({ get_weather: () => ToolPolicy.deferResult })
      const recorded = yield* Effect.provide(run(), recording(path, MockModel.layer(MockModel.queue(...paris)), later))
      assert.include(yield* content(path), "ResultAwaited")
      const again = yield* Effect.gen(function*() {
        const waiting = yield* run()
        const given = yield* Effect.fromResult(AgentState.giveResult(waiting, "toolu_01", 22))
        return [waiting, AgentState.pendingResults(given)] as const
      }).pipe(Effect.provide(player(path)))
      assert.deepStrictEqual(again, [recorded, []])
    }).pipe(withFiles))

  it.effect("lets a tool crash when it did, and not before the calls beside it ended that had", () =>
    Effect.gen(function*() {
      const path = yield* newPath
      const gate = yield* Deferred.make<void>()
      const tools = Weather.toLayer({
        get_weather: ({ city }) =>
          city === "Paris"
            ? Effect.andThen(Deferred.await(gate), Effect.die(new Error("gone")))
            : Effect.succeed(9)
      })
      const call = (city: string) => MockResponse.toolCall("get_weather", { city })
      const model = MockModel.layer(MockModel.queue(MockResponse.all(call("Paris"), call("Oslo"))))
      yield* Effect.gen(function*() {
        const fiber = yield* Effect.forkChild(Effect.exit(run()))
        const files = yield* FileSystem.FileSystem
        const isThere = Effect.map(files.readFileString(`${path}.recording-1`), (text) => text.includes(`"result":9`))
        yield* Effect.repeat(Effect.tap(isThere, () => Effect.yieldNow), { until: (isThere) => isThere })
        yield* Deferred.succeed(gate, undefined)
        yield* Fiber.join(fiber)
      }).pipe(Effect.provide(recording(path, model, tools)))
      const { events, exit } = yield* observed(Effect.ensuring(run(), Cassette.assertDrained)).pipe(
        Effect.provide(player(path))
      )
      assert.deepStrictEqual(problem(exit), new Error("gone"))
      const results = events.flatMap((event) => event._tag === "ToolCallSettled" ? [event.result] : [])
      assert.deepStrictEqual(results, [`The tool "get_weather" crashed.`, 9])
    }).pipe(withFiles))

  it.effect("lets a call have no result that came while the crash beside it was written down", () =>
    Effect.gen(function*() {
      const path = yield* newPath
      const tools = Weather.toLayer({
        get_weather: ({ city }) =>
          city === "Paris" ? Effect.andThen(Effect.yieldNow, Effect.die(new Error("gone"))) : Effect.succeed(9)
      })
      const call = (city: string) => MockResponse.toolCall("get_weather", { city })
      const model = MockModel.layer(MockModel.queue(MockResponse.all(call("Paris"), call("Oslo"))))
      yield* Effect.exit(run()).pipe(Effect.provide(recording(path, model, tools)))
      const lines = (yield* content(path)).trim().split("\n")
      const calls = lines.filter((line) => line.includes("ToolCall"))
      const crash = calls.filter((line) => line.includes("crashed") || line.includes("Paris"))
      assert.deepStrictEqual([calls.length, crash.length], [4, 2])
      const files = yield* FileSystem.FileSystem
      const late = [...lines, ...crash, ...calls].filter((line, at) =>
        at < lines.length ? !calls.includes(line) : at < lines.length + crash.length || !crash.includes(line)
      )
      yield* files.writeFileString(path, `${late.join("\n")}\n`)
      const { events, exit } = yield* observed(run()).pipe(Effect.provide(player(path)))
      assert.deepStrictEqual(problem(exit), new Error("gone"))
      const results = events.flatMap((event) => event._tag === "ToolCallSettled" ? [event.outcome] : [])
      assert.deepStrictEqual(results, ["Failed", "Interrupted"])
    }).pipe(withFiles))

  it.effect("lets no secret reach the tape", () =>
    Effect.gen(function*() {
      const path = yield* newPath
      const secret = "hunter2"
      const model = [
        MockResponse.all(
          MockResponse.reasoning(`I know ${secret}`, { metadata: { anthropic: { signature: `s-${secret}` } } }),
          MockResponse.toolCall("get_weather", { city: `Paris ${secret}` }),
          MockResponse.toolCall("get_weather", { city: "Atlantis" })
        ),
        `The word is ${secret}.`
      ] as const
      // A pattern is replaced wherever it occurs, whatever its flags, and isn't changed.
      const redact = [secret, Object.freeze(/\d{4}-\d\d-\d\d/gy)]
      const guide = (day: string) =>
        Agent.make("guide", { instructions: `Today is ${day}. The word is ${secret}.`, toolkit: Weather })
      const first = yield* Agent.run(guide("2026-01-01"), `Is it ${secret}?`).pipe(
        Effect.provide(recorder(path, [...model], { redact }))
      )
      assert.include(AgentState.text(first), secret)
      const files = yield* FileSystem.FileSystem
      const bytes = new TextDecoder("latin1").decode(yield* files.readFile(path))
      assert.notInclude(bytes, secret)
      assert.notInclude(bytes, "2026-01-01")
      assert.deepStrictEqual(yield* files.readDirectory(path.replace(/\/[^/]*$/, "")), ["tape.jsonl"])
      const again = yield* Agent.run(guide("2027-12-31"), `Is it ${secret}?`).pipe(
        Effect.tap(Cassette.assertDrained),
        Effect.provide(player(path, { redact }))
      )
      assert.strictEqual(AgentState.text(again), "The word is <redacted>.")
      assert.include(JSON.stringify(again.conversation), "it sank")
    }).pipe(withFiles))

  it.effect("refuses a mode and a redaction that can't be meant, and leaves the tape as it is", () =>
    Effect.gen(function*() {
      const path = yield* newPath
      yield* run().pipe(Effect.provide(recorder(path, [...paris])))
      const tape = yield* content(path)
      const wrong: ReadonlyArray<readonly [Cassette.Options & { readonly mode: Cassette.Mode }, string]> = [
        [{ mode: "play" as never }, "is \"play\", and must be one of \"record\", \"replay\", \"auto\""],
        [{ mode: "record", redact: "hunter2" as never }, "`redact` must be a list of texts"],
        [{ mode: "replay", redact: [7 as never] }, "`redact` must be a list of texts"]
      ]
      for (const [options, words] of wrong) {
        const exit = yield* Effect.exit(Effect.provide(run(), recorder(path, ["Hm."], options)))
        const error = problem(exit)
        assert.instanceOf(error, TypeError)
        assert.include(String(error), words)
      }
      assert.strictEqual(yield* content(path), tape)
    }).pipe(withFiles))

  it.effect("records with auto where there is no tape, and then plays", () =>
    Effect.gen(function*() {
      const path = yield* newPath
      let asked = 0
      const model = MockModel.layer(MockModel.make(() => `Answer ${++asked}`))
      const auto = Layer.fresh(Cassette.layer(path).pipe(Layer.provide(model)))
      const ask = Effect.map(LanguageModel.generateText({ prompt: "Hello" }), ({ text }) => text)
      assert.strictEqual(yield* ask.pipe(Effect.provide(auto)), "Answer 1")
      assert.strictEqual(yield* ask.pipe(Effect.provide(auto)), "Answer 1")
      assert.strictEqual(asked, 1)
    }).pipe(withFiles))

  it.effect("leaves the tape as it was where a recording is interrupted", () =>
    Effect.gen(function*() {
      const path = yield* newPath
      yield* run().pipe(Effect.provide(recorder(path, [...paris])))
      const before = yield* content(path)
      const begun = yield* Deferred.make<void>()
      const model = MockModel.layer(
        MockModel.make(() => Effect.as(Deferred.succeed(begun, undefined), MockResponse.hang()))
      )
      const fiber = yield* LanguageModel.generateText({ prompt: "Hello" }).pipe(
        Effect.provide(recordingModel(path, model)),
        Effect.forkChild
      )
      yield* Deferred.await(begun)
      yield* Fiber.interrupt(fiber)
      assert.strictEqual(yield* content(path), before)
      assert.include(yield* content(`${path}.recording`), `"tag":"Interrupted"`)
      const again = yield* LanguageModel.generateText({ prompt: "Hello" }).pipe(
        Effect.forkChild,
        Effect.flatMap((fiber) => Effect.as(Effect.repeat(Effect.yieldNow, { times: 100 }), fiber)),
        Effect.provide(player(`${path}.recording`))
      )
      assert.isUndefined(again.pollUnsafe())
      yield* Fiber.interrupt(again)
    }).pipe(withFiles))

  it.effect("doesn't write over a tape that another recording wrote meanwhile, and keeps what it has", () =>
    Effect.gen(function*() {
      const path = yield* newPath
      const ask = LanguageModel.generateText({ prompt: "Hello" })
      const recorderOf = (text: string) =>
        Layer.fresh(
          recordingModel(path, Layer.fresh(MockModel.layer(MockModel.queue(text))))
        )
      for (const before of ["", "An older one"]) {
        if (before !== "") yield* ask.pipe(Effect.provide(recorderOf(before)))
        const slow = Effect.gen(function*() {
          yield* ask
          yield* ask.pipe(Effect.provide(recorderOf("The quick one")))
          return "slow"
        })
        const conflict = yield* Effect.flip(slow.pipe(Effect.provide(recorderOf("The slow one")), Cassette.orFail))
        assert.strictEqual(
          conflict.message,
          `Another recording wrote the tape "${path}" meanwhile. This one is kept in "${path}.recording".`
        )
        assert.include(yield* content(path), "The quick one")
        assert.notInclude(yield* content(path), "The slow one")
        assert.include(yield* content(`${path}.recording`), "The slow one")
        assert.notInclude(yield* content(`${path}.recording`), "The quick one")
        const files = yield* FileSystem.FileSystem
        assert.deepStrictEqual(yield* files.readDirectory(path.replace(/\/[^/]*$/, "")), [
          "tape.jsonl",
          "tape.jsonl.recording"
        ])
        yield* files.remove(path)
      }
    }).pipe(withFiles))

  it.effect("plays preliminary results and what was interrupted, which never ends", () =>
    Effect.gen(function*() {
      const path = yield* newPath
      const begun = yield* Deferred.make<void>()
      const slow = Weather.toLayer({
        get_weather: Effect.fnUntraced(function*(_, context) {
          yield* context.preliminary(20)
          yield* context.preliminary(21)
          yield* Deferred.succeed(begun, undefined)
          return yield* Effect.never
        })
      })
      yield* Effect.gen(function*() {
        const fiber = yield* Effect.forkChild(run())
        yield* Deferred.await(begun)
        yield* Fiber.interrupt(fiber)
      }).pipe(Effect.provide(recording(path, MockModel.layer(MockModel.queue(...paris)), slow)))
      const progress: Array<Schema.Json> = []
      const told = yield* Deferred.make<void>()
      const fiber = yield* run().pipe(
        Agent.observe((event) => {
          if (event._tag === "ToolCallProgressed") progress.push(event.result)
          return progress.length === 2 ? Deferred.succeed(told, undefined) : Effect.void
        }),
        Effect.provide(player(path)),
        Effect.forkChild
      )
      yield* Deferred.await(told)
      yield* Effect.repeat(Effect.yieldNow, { times: 100 })
      assert.isUndefined(fiber.pollUnsafe())
      yield* Fiber.interrupt(fiber)
      assert.deepStrictEqual(progress, [20, 21])
    }).pipe(withFiles))

  it.effect("plays objects, and what providers ran and cited", () =>
    Effect.gen(function*() {
      const path = yield* newPath
      const rich = MockResponse.withUsage(
        MockResponse.all(
          MockResponse.reasoning("Well", { metadata: { x: { signature: "abc" } } }),
          MockResponse.providerCall("search", { query: "Paris" }, "22 °C"),
          MockResponse.file("image/png", new Uint8Array([1, 2, 3])),
          MockResponse.source({ sourceType: "url", id: "s1", url: "https://example.com/a?b=c", title: "A" }),
          MockResponse.source({ sourceType: "document", id: "s2", mediaType: "text/plain", title: "B" }),
          "It is warm."
        ),
        { input: 5, output: 3, reasoning: 1, cached: 2 }
      )
      const model = MockModel.layer(MockModel.queue(rich, rich, MockResponse.json({ celsius: 22 })))
      const object = LanguageModel.generateObject({
        prompt: "How warm?",
        objectName: "weather",
        schema: Schema.Struct({ celsius: Schema.Finite })
      })
      const all = Effect.all([
        Effect.map(askModel(), ({ content }) => content),
        Effect.map(Stream.runCollect(streamModel()), (parts) =>
          parts.filter((part) => !part.type.includes("delta") && !part.type.includes("params"))),
        Effect.map(object, ({ value }) =>
          value)
      ])
      const bare = yield* all.pipe(Effect.provide(model))
      const recorded = yield* all.pipe(
        Effect.provide(recordingModel(path, Layer.fresh(model)))
      )
      assert.deepStrictEqual(recorded, bare)
      const played = yield* all.pipe(Effect.tap(Cassette.assertDrained), Effect.provide(player(path)))
      assert.deepStrictEqual(played, bare)
    }).pipe(withFiles))

  it.effect("plays approvals that a provider asks for, and what it is answered", () =>
    Effect.gen(function*() {
      const librarian = Agent.make("librarian")
      const asking = MockResponse.all(
        "Let me see.",
        MockResponse.approvalRequest("mcp.search", { for: "it" }, { id: "w1", metadata: { house: { a: 1 } } }),
        MockResponse.approvalRequest("mcp.lend", { what: "it" }, { id: "w2", approvalId: "ap2" })
      )
      const whole = Agent.run(librarian, "Where is it?")
      const streamed = Effect.map(
        Stream.runLast(Agent.states(librarian, "Where is it?")),
        (last) => last._tag === "Some" ? last.value : assert.fail("no state")
      )
      /** Runs until the approvals wait, agrees to one and not to the other, and goes on. */
      const answered = (run: typeof whole) =>
        Effect.gen(function*() {
          const waiting = yield* run
          const half = yield* Effect.fromResult(AgentState.approve(waiting, "w1"))
          const both = yield* Effect.fromResult(AgentState.deny(half, "w2", "It is lent."))
          const done = yield* Agent.resume(librarian, both)
          return [AgentState.pendingApprovals(waiting), AgentState.text(done), done.conversation]
        })
      for (const run of [whole, streamed]) {
        const path = yield* newPath
        const asked: Array<unknown> = []
        const model = MockModel.layer(MockModel.make(({ messages }) => {
          const last = messages.at(-1)
          asked.push(
            last?.role !== "tool" ?
              "" :
              last.content.map((part) =>
                part.type === "tool-approval-response" && `${part.approvalId}: ${part.approved ? "yes" : part.reason}`
              )
          )
          return asked.length === 1 ? asking : "On shelf 7."
        }))
        const { events, exit } = yield* observed(answered(run)).pipe(Effect.provide(recordingModel(path, model)))
        const recorded = yield* exit
        assert.deepStrictEqual(
          (recorded[0] as ReturnType<typeof AgentState.pendingApprovals>).map(({ callId, name }) => [callId, name]),
          [["w1", "mcp.search"], ["w2", "mcp.lend"]]
        )
        assert.deepStrictEqual(asked[1], ["mcpr_w1: yes", "ap2: It is lent."])
        for (const layer of [player(path), Cassette.fromEvents(events)]) {
          for (const way of [whole, streamed]) {
            const played = yield* answered(way).pipe(
              Effect.tap(Cassette.assertDrained),
              Effect.provide(Layer.fresh(layer))
            )
            assert.deepStrictEqual(played, recorded)
          }
        }
        // Another answer isn't on the tape.
        const other = Effect.gen(function*() {
          const waiting = yield* run
          const half = yield* Effect.fromResult(AgentState.approve(waiting, "w1"))
          return yield* Agent.resume(librarian, yield* Effect.fromResult(AgentState.approve(half, "w2")))
        })
        const drift = yield* Effect.flip(other.pipe(Cassette.orFail, Effect.provide(player(path))))
        assert.strictEqual(drift._tag, "CassetteDrift")
      }
    }).pipe(withFiles))

  it.effect("plays an object that a provider writes in a form of its own", () =>
    Effect.gen(function*() {
      const path = yield* newPath
      const text = `{"celsius":22,"note":null}`
      const model = Layer.effect(
        LanguageModel.LanguageModel,
        LanguageModel.make({
          generateText: () => Effect.succeed([{ type: "text", text }]),
          streamText: () => Stream.empty,
          codecTransformer: OpenAiStructuredOutput.toCodecOpenAI
        })
      )
      const ask = LanguageModel.generateObject({
        prompt: "How warm?",
        schema: Schema.Struct({ celsius: Schema.Finite, note: Schema.optionalKey(Schema.String) })
      }).pipe(Effect.map(({ value }) => value))
      assert.deepStrictEqual(yield* ask.pipe(Effect.provide(recordingModel(path, model))), { celsius: 22 })
      assert.deepStrictEqual(yield* ask.pipe(Effect.provide(player(path))), { celsius: 22 })
    }).pipe(withFiles))

  it.effect("plays models and tools that no agent uses", () =>
    Effect.gen(function*() {
      const path = yield* newPath
      const ask = LanguageModel.generateText({ prompt: "How warm is Paris?", toolkit: Weather }).pipe(
        Effect.map(({ toolResults }) => toolResults.map(({ result }) => result))
      )
      assert.deepStrictEqual(yield* ask.pipe(Effect.provide(recorder(path, [...paris]))), [22])
      const played = yield* ask.pipe(Effect.tap(Cassette.assertDrained), Effect.provide(player(path)))
      assert.deepStrictEqual(played, [22])
    }).pipe(withFiles))

  it.effect("plays a stream in which a provider reports an error", () =>
    Effect.gen(function*() {
      const path = yield* newPath
      const broken = MockResponse.raw({
        stream: [
          { type: "text-start", id: "t" },
          { type: "text-delta", id: "t", delta: "It is" },
          { type: "error", error: "boom" }
        ]
      })
      const listen = observed(Stream.runDrain(Agent.stream(agent, "How warm is Paris?")))
      const recorded = yield* listen.pipe(Effect.provide(recorder(path, [broken])))
      const played = yield* listen.pipe(Effect.provide(player(path)))
      assert.deepStrictEqual(problem(played.exit), problem(recorded.exit))
      assert.deepStrictEqual(played.events.at(-1), { ...recorded.events.at(-1), sequence: played.events.length - 1 })
      assert.strictEqual(deltas(played.events), "It is")
    }).pipe(withFiles))

  it.effect("plays the events of a run that wasn't recorded, from a list, a stream or a file", () =>
    Effect.gen(function*() {
      const path = yield* newPath
      // What a tool doesn't know of is in the log of a call, and isn't in what the tool is given.
      const call = MockResponse.toolCall("get_weather", { city: "Paris", unit: "C" }, { id: "toolu_01" })
      const model = MockModel.layer(MockModel.queue(call, "It is 22 °C.", "You are welcome."))
      const talk = Effect.gen(function*() {
        const state = yield* run()
        return yield* Agent.continueConversation(agent, state, "Thanks!")
      })
      const { events, exit } = yield* observed(talk).pipe(Effect.provide([handlers, model]))
      const lines = events.map((event) => Schema.encodeSync(Schema.fromJsonString(AgentEvent.AgentEvent))(event))
      const files = yield* FileSystem.FileSystem
      yield* files.makeDirectory(path.replace(/\/[^/]*$/, ""))
      yield* files.writeFileString(path, `${lines.join("\n")}\n`)
      const layers = [
        Cassette.fromEvents(events),
        Cassette.fromEvents(Stream.fromIterable(events)),
        Cassette.layer(path, { mode: "replay" })
      ]
      for (const layer of layers) {
        const env = Layer.fresh(Cassette.toolkit(Weather).pipe(Layer.provideMerge(layer)))
        const played = yield* talk.pipe(Effect.tap(Cassette.assertDrained), Effect.provide(env))
        assert.deepStrictEqual(played, lastOf(exit))
        const rude = Effect.flatMap(run(), (state) => Agent.continueConversation(agent, state, "Hm."))
        const drift = yield* Effect.flip(rude.pipe(Cassette.orFail, Effect.provide(env)))
        assert.include(drift.message, "-user: Thanks!\n+user: Hm.")
      }
      // Of a log that nobody has redacted, what is asked and what a call was given are redacted as they are compared.
      const clean = Layer.fresh(
        Cassette.toolkit(Weather).pipe(Layer.provideMerge(Cassette.fromEvents(events, { redact: ["Paris"] })))
      )
      const played = yield* talk.pipe(Effect.tap(Cassette.assertDrained), Effect.provide(clean))
      assert.deepStrictEqual(played, lastOf(exit))
      // The later run alone: what it began with is read off its end.
      const later = events.slice(events.findLastIndex((event) => event._tag === "RunStarted"))
      const state = yield* run().pipe(Effect.provide([handlers, Layer.fresh(model)]))
      const thank = (text: string) =>
        Agent.continueConversation(agent, state, text).pipe(
          Cassette.orFail,
          Effect.provide(Layer.fresh(Cassette.toolkit(Weather).pipe(Layer.provideMerge(Cassette.fromEvents(later)))))
        )
      assert.strictEqual(AgentState.text(yield* thank("Thanks!")), "You are welcome.")
      assert.include((yield* Effect.flip(thank("Hm."))).message, "-user: Thanks!\n+user: Hm.")
    }).pipe(withFiles))

  it.effect("plays a model beside tools that run, and its defects", () =>
    Effect.gen(function*() {
      const path = yield* newPath
      yield* run().pipe(Effect.provide(recorder(path, [...paris])))
      const beside = Layer.mergeAll(handlers, Cassette.layer(path, { mode: "replay" }))
      const state = yield* run().pipe(Effect.tap(Cassette.assertDrained), Effect.provide(beside))
      assert.strictEqual(AgentState.text(state), "It is 22 °C.")
      const crash = MockModel.layer(MockModel.make(() => Effect.die(new Error("it can't be"))))
      const listen = Effect.exit(Stream.runDrain(LanguageModel.streamText({ prompt: "Hello" })))
      const ask = Effect.exit(LanguageModel.generateText({ prompt: "Hello" }))
      const both = Effect.all([listen, ask])
      yield* both.pipe(Effect.provide(recordingModel(path, crash)))
      const played = yield* both.pipe(Effect.provide(player(path)))
      assert.deepStrictEqual(played.map(problem), [new Error("it can't be"), new Error("it can't be")])
    }).pipe(withFiles))

  it.effect("plays that a model and a tool died, whatever they died of", () =>
    Effect.gen(function*() {
      const trap = new Proxy({}, {
        get: () => {
          throw new Error("trap")
        }
      })
      for (const defect of [Object.create(null), trap, Symbol("gone"), undefined]) {
        for (const isModel of [true, false]) {
          const path = yield* newPath
          const model = MockModel.layer(isModel ? MockModel.make(() => Effect.die(defect)) : MockModel.queue(...paris))
          const tools = Weather.toLayer({ get_weather: () => Effect.die(defect) })
          yield* Effect.exit(run()).pipe(Effect.provide(recording(path, model, tools)))
          const played = yield* Effect.exit(run()).pipe(
            Effect.tap(Cassette.assertDrained),
            Effect.provide(player(path))
          )
          const died = Exit.isFailure(played) && Cause.hasDies(played.cause) ? Cause.squash(played.cause) : undefined
          assert.isFalse(died instanceof Cassette.CassetteExhausted, String(died))
          assert.isTrue(Exit.isFailure(played))
        }
      }
    }).pipe(withFiles))

  it.effect("streams what it has, whether it was streamed when recorded or not", () =>
    Effect.gen(function*() {
      const path = yield* newPath
      yield* run().pipe(Effect.provide(recorder(path, [...paris])))
      const { events } = yield* observed(Stream.runDrain(Agent.stream(agent, "How warm is Paris?"))).pipe(
        Effect.provide(player(path))
      )
      assert.strictEqual(deltas(events), "It is 22 °C.")
    }).pipe(withFiles))

  it.effect("plays each attempt of a request that was repeated", () =>
    Effect.gen(function*() {
      const path = yield* newPath
      const overloaded = new AiError.InternalProviderError({ description: "overloaded" })
      const patient = Agent.make("patient", { retry: Schedule.recurs(2) })
      const recorded = yield* observed(Agent.run(patient, "Hello")).pipe(
        Effect.provide(recorder(path, [MockResponse.fail(overloaded), "Here I am."]))
      )
      const played = yield* observed(Agent.run(patient, "Hello")).pipe(Effect.provide(player(path)))
      assert.deepStrictEqual(played.events, recorded.events)
      assert.include(yield* content(path), `"attempt":1`)
      const fromLog = yield* Agent.run(patient, "Hello").pipe(
        Effect.map(AgentState.text),
        Effect.provide(Cassette.fromEvents(recorded.events))
      )
      assert.strictEqual(fromLog, "Here I am.")
    }).pipe(withFiles))

  it.effect("survives each failure of a log that the run survived, whatever its reason", () =>
    Effect.gen(function*() {
      const tool = { toolName: "get_weather", description: "not JSON" }
      const http = { method: "POST", url: "https://example.com/v1" }
      const reasons: ReadonlyArray<AiError.AiErrorReason> = [
        new AiError.RateLimitError({}),
        new AiError.RateLimitError({ retryAfter: Duration.sum(Duration.hours(1), Duration.millis(1500)) }),
        new AiError.QuotaExhaustedError({}),
        new AiError.AuthenticationError({ kind: "ExpiredKey" }),
        new AiError.AuthenticationError({ kind: "InvalidKey", description: "Ask for one. Soon." }),
        new AiError.ContentPolicyError({ description: "rude" }),
        new AiError.InvalidRequestError({ parameter: "top_p", constraint: "is too high", description: "Lower it." }),
        new AiError.InvalidRequestError({ description: "No" }),
        new AiError.InvalidResponseError({ description: "no JSON" }),
        new AiError.InternalProviderError({ description: "overloaded:\ntwice" }),
        new AiError.NetworkError({ reason: "TransportError", description: "lost (twice)", ...http }),
        new AiError.NetworkError({ reason: "EncodeError", description: "a loop", ...http }),
        new AiError.NetworkError({ reason: "InvalidUrlError", description: "no host", ...http }),
        new AiError.InvalidOutputError({ description: "no words" }),
        new AiError.StructuredOutputError({ description: "no object", responseText: "" }),
        new AiError.UnsupportedSchemaError({ description: "a Date" }),
        new AiError.UnknownError({ description: "who knows" }),
        new AiError.ToolNotFoundError({ toolName: "get_news", availableTools: ["get_weather", "get_time"] }),
        new AiError.ToolNotFoundError({ toolName: "get_news", availableTools: [] }),
        new AiError.ToolParameterValidationError(tool),
        new AiError.InvalidToolResultError(tool),
        new AiError.ToolResultEncodingError({ ...tool, toolResult: null }),
        new AiError.ToolConfigurationError(tool),
        new AiError.ToolkitRequiredError({ pendingApprovals: ["get_weather"] }),
        new AiError.InvalidUserInputError({ description: "a video" })
      ]
      assert.strictEqual(new Set(reasons.map(({ _tag }) => _tag)).size, AiError.AiErrorReason.members.length)
      for (const reason of reasons) {
        const heard: Array<AiError.AiErrorReason> = []
        const patient = Agent.make("patient", {
          retry: Schedule.recurs(2).pipe(
            Schedule.setInputType<AiError.AiError>(),
            Schedule.while(({ input }) => Effect.sync(() => heard.push(input.reason) > 0))
          )
        })
        for (const broken of [MockResponse.fail(reason), MockResponse.breakAfter("A b c", 1, reason)]) {
          for (const way of [Agent.run(patient, "Hello"), Stream.runDrain(Agent.stream(patient, "Hello"))]) {
            heard.length = 0
            const first = yield* observed(Effect.asVoid(way)).pipe(
              Effect.provide(Layer.fresh(MockModel.layer(MockModel.queue(broken, "Hi."))))
            )
            const again = yield* observed(Effect.asVoid(way)).pipe(
              Effect.provide(Layer.fresh(Cassette.fromEvents(first.events)))
            )
            assert.strictEqual(Exit.isSuccess(first.exit), reason.isRetryable, reason._tag)
            assert.deepStrictEqual(again.events, first.events)
            if (!reason.isRetryable) continue
            assert.deepStrictEqual({ ...heard[1] }, { ...reason })
            assert.strictEqual(heard[1]?._tag, reason._tag)
          }
        }
      }
    }))

  it.effect("goes on with the same model of a plan as in the log, if that depends on the failure", () =>
    Effect.gen(function*() {
      const isLost = (error: unknown) =>
        AiError.isAiError(error) && error.reason._tag === "NetworkError" && error.reason.description === "lost"
      const lost = new AiError.NetworkError({ reason: "TransportError", description: "lost", method: "POST", url: "/" })
      const run = (first: Model, second: Model) =>
        Agent.run(
          Agent.withModel(
            Agent.make("two"),
            ExecutionPlan.make({ provide: first }, { provide: second, while: isLost })
          ),
          "Hello"
        )
      const mock = (said: MockResponse.Input) => MockModel.layer(MockModel.queue(said))
      const { events, exit } = yield* observed(run(mock(MockResponse.fail(lost)), mock("Here I am.")))
      assert.strictEqual(AgentState.text(yield* exit), "Here I am.")
      const nobody = MockModel.layer(MockModel.queue())
      const again = yield* run(nobody, nobody).pipe(Effect.provide(Cassette.fromEvents(events)))
      assert.strictEqual(AgentState.text(again), "Here I am.")
    }))

  it.effect("says which line of a file is no event, and that there is no file", () =>
    Effect.gen(function*() {
      const path = yield* newPath
      const missing = yield* Effect.flip(run().pipe(Effect.provide(player(path))))
      assert.strictEqual(missing._tag, "PlatformError")
      yield* run().pipe(Effect.provide(recorder(path, [...paris])))
      const files = yield* FileSystem.FileSystem
      yield* files.writeFileString(path, (yield* content(path)).replace(`"attempt":0`, `"attempt":"none"`))
      const invalid = yield* Effect.flip(run().pipe(Effect.provide(player(path))))
      assert.include(invalid.message, `Line 1 of the tape "${path}" isn't an event:`)
      yield* files.writeFileString(path, "\n{")
      assert.include((yield* Effect.flip(run().pipe(Effect.provide(player(path))))).message, "Line 2 of the tape")
    }).pipe(withFiles))
})
