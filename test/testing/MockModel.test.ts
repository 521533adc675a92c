import { assert, describe, it } from "@effect/vitest"
import { Cause, Context, Effect, Exit, Fiber, Layer, Ref, Schema, Stream } from "effect"
import { AiError, LanguageModel, Prompt } from "effect/ai"
import { TestClock } from "effect/testing"
import * as Agent from "../../src/agent/Agent.ts"
import { CurrentAgent } from "../../src/agent/journal/CurrentAgent.ts"
import * as AiSdkModel from "../../src/ai-sdk/AiSdkModel.ts"
import * as AgentState from "../../src/domain/AgentState.ts"
import { MockModel, MockResponse } from "../../src/testing/index.ts"
import { ask, say, stream, streamParts, Tools } from "./ask.ts"

const state = (iteration: number): AgentState.AgentState => {
  const made = AgentState.make("any")
  return { ...made, run: { ...made.run, iteration } }
}

/** Asks as an agent asks. */
const as = (agent: string, iteration = 0) => <A, E, R>(self: Effect.Effect<A, E, R>) =>
  Effect.provideService(self, CurrentAgent, { agent, path: ["desk", agent], calls: [], state: state(iteration) })

const defectOf = <A, E, R>(self: Effect.Effect<A, E, R>) =>
  Effect.map(Effect.exit(self), (exit) => {
    assert.isTrue(Exit.isFailure(exit))
    return Exit.isFailure(exit) ? Cause.squash(exit.cause) : undefined
  })

const messageOf = <A, E, R>(self: Effect.Effect<A, E, R>) =>
  Effect.map(defectOf(self), (defect) => {
    assert.instanceOf(defect, MockModel.UnansweredRequest)
    return (defect as Error).message
  })

const overloaded = AiError.make({
  module: "Test",
  method: "ask",
  reason: new AiError.InternalProviderError({ description: "overloaded" })
})

class Greeting extends Context.Service<Greeting, string>()("test/Greeting") {}

describe("MockModel.layer", () => {
  it.effect("begins anew with each layer, whose state the handler doesn't hold", () =>
    Effect.gen(function*() {
      const handler = MockModel.byAgent({ a: MockModel.queue("one", MockResponse.toolCall("get_weather", {})) })
      const run = Effect.gen(function*() {
        const text = yield* say()
        const [call] = (yield* ask()).toolCalls
        const counts = (yield* MockModel.calls).map(({ request }) => request.callCount)
        return [text, call?.id, counts]
      }).pipe(as("a"))
      const expected = ["one", "call_1", [1, 2]]
      assert.deepStrictEqual(yield* Effect.provide(run, MockModel.layer(handler)), expected)
      assert.deepStrictEqual(yield* Effect.provide(run, MockModel.layer(handler)), expected)
      const layer = MockModel.layer(handler)
      const [one, two] = yield* Effect.all([Layer.build(Layer.fresh(layer)), Layer.build(Layer.fresh(layer))])
      const both = yield* Effect.all([Effect.provide(run, one), Effect.provide(run, two)], { concurrency: 2 })
      assert.deepStrictEqual(both, [expected, expected])
    }))

  it.effect("gives each of a hundred requests at a time a response of its own, and records it", () =>
    Effect.gen(function*() {
      const responses = Array.from({ length: 100 }, (_, index) => MockResponse.delay(`answer ${index}`, 100 - index))
      yield* Effect.gen(function*() {
        const fiber = yield* Effect.forkChild(
          Effect.forEach(responses, (_, index) => say(`question ${index}`), { concurrency: "unbounded" })
        )
        yield* TestClock.adjust("1 second")
        const said = yield* Fiber.join(fiber)
        assert.deepStrictEqual(said, responses.map((_, index) => `answer ${index}`))
        const calls = yield* MockModel.calls
        assert.deepStrictEqual(calls.map((call) => call.request.lastUserText), said.map((_, i) => `question ${i}`))
        assert.deepStrictEqual(calls.map((call) => call.response), responses)
        assert.deepStrictEqual(calls.map((call) => call.request.callCount), said.map((_, index) => index + 1))
      }).pipe(Effect.provide(MockModel.layer(MockModel.queue(...responses))))
    }))

  it.effect("needs what the handler needs, and lets it see the services of who asks", () =>
    Effect.gen(function*() {
      const handler = MockModel.make((request) =>
        Effect.map(Greeting, (greeting) => `${greeting}, ${request.lastUserText}`)
      )
      yield* Effect.gen(function*() {
        assert.strictEqual(yield* say("you"), "Hello, you")
        assert.strictEqual(yield* Effect.provideService(say("you"), Greeting, "Salut"), "Salut, you")
      }).pipe(Effect.provide(MockModel.layer(handler).pipe(Layer.provide(Layer.succeed(Greeting, "Hello")))))
    }))

  it.effect("answers a request for an object", () =>
    Effect.gen(function*() {
      const schema = Schema.Struct({ city: Schema.String })
      const { value } = yield* LanguageModel.generateObject({ prompt: "Where?", schema })
      assert.deepStrictEqual(value, { city: "Paris" })
      const [call] = yield* MockModel.calls
      assert.strictEqual(call?.request.responseFormat.type, "json")
    }).pipe(Effect.provide(MockModel.layer(MockModel.queue("{\"city\":\"Paris\"}")))))
})

describe("MockModel.calls", () => {
  it.effect("have what each request ran with, an agent's settings included", () =>
    Effect.gen(function*() {
      const settings = AiSdkModel.settings({ temperature: 0, seed: 7 })
      yield* Agent.run(Agent.make("a", { settings }), "Hello")
      const [call] = yield* MockModel.calls
      assert.deepStrictEqual(Context.get(call!.request.context, AiSdkModel.CurrentSettings), {
        temperature: 0,
        seed: 7
      })
      assert.deepStrictEqual([call!.request.model, call!.request.settings], [undefined, {}])
    }).pipe(Effect.provide(MockModel.layer(MockModel.queue("Hi")))))

  it.effect("gives requests with their responses, and a request without one while it is in flight", () =>
    Effect.gen(function*() {
      const slow = MockResponse.delay("slow", "1 hour")
      yield* Effect.gen(function*() {
        const fiber = yield* Effect.forkChild(Effect.all([say("1"), say("2")], { concurrency: 2 }))
        yield* TestClock.adjust(1)
        const before = yield* MockModel.calls
        assert.deepStrictEqual(before.map(({ response }) => response), [undefined, MockResponse.text("quick")])
        yield* TestClock.adjust("1 hour")
        yield* Fiber.join(fiber)
        const after = yield* MockModel.calls
        assert.deepStrictEqual(after.map(({ response }) => response), [slow, MockResponse.text("quick")])
        assert.deepStrictEqual(before.map(({ response }) => response), [undefined, MockResponse.text("quick")])
        assert.strictEqual(after[0]?.request, before[0]?.request)
      }).pipe(Effect.provide(MockModel.layer(MockModel.queue(slow, "quick"))))
    }))

  it.effect("has the response of a stream once its last part was read", () =>
    Effect.gen(function*() {
      yield* Stream.runDrain(Stream.take(stream(), 2))
      yield* Stream.runDrain(Stream.takeUntil(stream(), (part) => part.type === "finish"))
      const calls = yield* MockModel.calls
      assert.deepStrictEqual(calls.map(({ response }) => response), [undefined, MockResponse.text("three four")])
      assert.deepStrictEqual(calls.map(({ request }) => request.streaming), [true, true])
    }).pipe(Effect.provide(MockModel.layer(MockModel.queue("one two", "three four")))))

  it.effect("has failures too, and no response where a request died", () =>
    Effect.gen(function*() {
      yield* Effect.flip(ask())
      yield* Effect.flip(streamParts)
      yield* defectOf(ask())
      const calls = yield* MockModel.calls
      assert.deepStrictEqual(calls.map(({ response }) => response?.failure), [
        { error: overloaded, after: 0 },
        { error: overloaded, after: 1 },
        undefined
      ])
    }).pipe(Effect.provide(MockModel.layer(MockModel.make(({ callCount }) =>
      callCount === 1
        ? Effect.fail(overloaded)
        : callCount === 2
        ? MockResponse.breakAfter("Hel", 1, overloaded)
        : Effect.die("gone")
    )))))

  it.effect("shows calls with the ids that they were given", () =>
    Effect.gen(function*() {
      yield* ask()
      const [call] = yield* MockModel.calls
      assert.deepStrictEqual(call?.response?.parts, [
        { type: "tool-call", id: "call_1", name: "get_weather", params: { city: "Oslo" } }
      ])
    }).pipe(Effect.provide(MockModel.layer(MockModel.queue(MockResponse.toolCall("get_weather", { city: "Oslo" }))))))
})

describe("MockModel.make", () => {
  const seen = (prompt: LanguageModel.GenerateTextOptions<{}>["prompt"]) =>
    Effect.gen(function*() {
      const ref = yield* Ref.make<MockModel.MockRequest | undefined>(undefined)
      const layer = MockModel.layer(MockModel.make((request) => Effect.as(Ref.set(ref, request), "ok")))
      yield* Effect.provide(ask(prompt), layer)
      return (yield* Ref.get(ref))!
    })

  it.effect("sees who asks, and what was sent", () =>
    Effect.gen(function*() {
      const prompt = Prompt.make([
        { role: "user", content: "Anyone?" },
        { role: "system", content: "Be brief." },
        { role: "system", content: "Be kind." },
        {
          role: "user",
          content: [
            { type: "text", text: "Hi" },
            { type: "file", mediaType: "image/png", data: "AA==" },
            { type: "text", text: " there" }
          ]
        }
      ])
      const request = yield* as("triage", 3)(seen(prompt))
      assert.strictEqual(request.agent, "triage")
      assert.deepStrictEqual(request.path, ["desk", "triage"])
      assert.strictEqual(request.state?.run.iteration, 3)
      assert.strictEqual(request.iteration, 3)
      assert.strictEqual(request.callCount, 1)
      assert.strictEqual(request.prompt, prompt)
      assert.strictEqual(request.messages, prompt.content)
      assert.strictEqual(request.system, "Be brief.\n\nBe kind.")
      assert.strictEqual(request.lastUserText, "Hi there")
      assert.deepStrictEqual(request.lastToolResults, [])
      assert.deepStrictEqual(request.toolNames, ["search", "get_weather"])
      assert.deepStrictEqual(request.tools, Object.values(Tools.tools))
      assert.strictEqual(request.toolChoice, "auto")
      assert.deepStrictEqual(request.responseFormat, { type: "text" })
      assert.isFalse(request.streaming)
    }))

  it.effect("sees nobody outside a run, and nothing in an empty prompt", () =>
    Effect.gen(function*() {
      const request = yield* seen([])
      assert.strictEqual(request.agent, "")
      assert.deepStrictEqual(request.path, [])
      assert.isUndefined(request.state)
      assert.strictEqual(request.iteration, 0)
      assert.strictEqual(request.system, "")
      assert.strictEqual(request.lastUserText, "")
    }))

  it.effect("sees what tools gave back since the model last spoke, and no earlier results", () =>
    Effect.gen(function*() {
      const call = (id: string) => ({
        role: "assistant" as const,
        content: [Prompt.makePart("tool-call", { id, name: "search", params: {}, providerExecuted: false })]
      })
      const result = (id: string, isFailure = false) => ({
        role: "tool" as const,
        content: [
          Prompt.makePart("tool-result", { id, name: "search", isFailure, result: id, providerExecuted: false })
        ]
      })
      const messages = [call("1"), result("1"), call("2"), result("2", true), { role: "user", content: "So?" }] as const
      const results = (yield* seen(messages)).lastToolResults
      assert.deepStrictEqual(results.map(({ id, isFailure, name, result }) => ({ id, isFailure, name, result })), [
        { id: "2", isFailure: true, name: "search", result: "2" }
      ])
      const later = yield* seen([...messages, { role: "assistant", content: "So." }, { role: "user", content: "And?" }])
      assert.deepStrictEqual(later.lastToolResults, [])
    }))

  it.effect("fails as the function fails, and dies as it throws", () =>
    Effect.gen(function*() {
      const failing = MockModel.layer(MockModel.make(() => Effect.fail(overloaded)))
      assert.strictEqual(yield* Effect.flip(Effect.provide(ask(), failing)), overloaded)
      assert.strictEqual(yield* Effect.flip(Effect.provide(streamParts, failing)), overloaded)
      const bug = new TypeError("no such thing")
      const throwing = MockModel.layer(MockModel.make(() => {
        throw bug
      }))
      assert.strictEqual(yield* defectOf(Effect.provide(ask(), throwing)), bug)
      assert.strictEqual(yield* defectOf(Effect.provide(streamParts, throwing)), bug)
    }))
})

describe("MockModel.queue", () => {
  it.effect("gives its responses in order, whoever asks", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* as("a")(say()), "one")
      assert.strictEqual(yield* as("b")(say()), "two")
      assert.strictEqual(yield* say(), "three")
    }).pipe(Effect.provide(MockModel.layer(MockModel.queue("one", "two", "three")))))

  it.effect("dies of a request too many, and says which", () =>
    Effect.gen(function*() {
      yield* Effect.all([say(), say()])
      assert.strictEqual(
        yield* as("triage")(messageOf(ask("My invoice is wrong"))),
        "No answer to request 3 of agent \"triage\", whose last user text is \"My invoice is wrong\": "
          + "all 2 queued responses are used up"
      )
      assert.strictEqual(
        yield* messageOf(streamParts),
        "No answer to request 4, whose last user text is \"Hello\": all 2 queued responses are used up"
      )
    }).pipe(Effect.provide(MockModel.layer(MockModel.queue("one", "two")))))
})

describe("MockModel.conditional", () => {
  it.effect("answers with the first case that holds, as often as it holds", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* say("weather in Paris"), "sunny")
      assert.strictEqual(yield* say("weather in Oslo"), "sunny")
      assert.strictEqual(yield* say("news"), "3: news")
      assert.strictEqual(yield* say("secret"), "Hush")
    }).pipe(Effect.provide(
      MockModel.layer(MockModel.conditional(
        MockModel.when(({ lastUserText }) => lastUserText.startsWith("weather"), "sunny"),
        MockModel.when(({ callCount }) => callCount === 1, "never"),
        MockModel.when(
          ({ lastUserText }) => Effect.map(Greeting, (greeting) => lastUserText === greeting),
          Effect.fn(function*() {
            return yield* Effect.succeed("Hush")
          })
        ),
        MockModel.otherwise(({ callCount, lastUserText }) => `${callCount}: ${lastUserText}`),
        MockModel.otherwise("never")
      )).pipe(Layer.provide(Layer.succeed(Greeting, "secret")))
    )))

  it.effect("matches each text from its beginning, whatever an expression matched before", () =>
    Effect.gen(function*() {
      const said = yield* Effect.all([say("the weather"), say("weather"), say("weather")])
      assert.deepStrictEqual(said, ["sunny", "sunny", "sunny"])
    }).pipe(Effect.provide(MockModel.layer(MockModel.conditional(MockModel.when(/weather/g, "sunny"))))))

  it.effect("dies where no case holds, and says which were tried", () =>
    Effect.gen(function*() {
      const isLater = (request: MockModel.MockRequest) => request.callCount > 5
      const handler = MockModel.conditional(
        MockModel.when(isLater, "later"),
        MockModel.when((ctx) => ctx.agent === "sales", "sales"),
        MockModel.when({ lastUserText: /invoice/ }, "billing"),
        MockModel.when({ agent: "triage", lastUserText: /invoice/, callCount: 2 }, "triage")
      )
      assert.strictEqual(
        yield* messageOf(Effect.provide(as("triage")(ask("Hi")), MockModel.layer(handler))),
        [
          "No answer to request 1 of agent \"triage\", whose last user text is \"Hi\": none of 4 conditions holds",
          "  1. isLater: saw callCount 1",
          "  2. (ctx) => ctx.agent === \"sales\": saw agent \"triage\"",
          "  3. lastUserText matches /invoice/: saw lastUserText \"Hi\"",
          "  4. agent is \"triage\" and lastUserText matches /invoice/ and callCount is 2: "
          + "saw agent \"triage\", lastUserText \"Hi\"",
          "  the nearest is 4, except for its lastUserText, callCount"
        ].join("\n")
      )
    }))

  it.effect("fails as a condition fails", () =>
    Effect.gen(function*() {
      const handler = MockModel.conditional(MockModel.when(() => Effect.fail(overloaded), "never"))
      assert.strictEqual(yield* Effect.flip(Effect.provide(ask(), MockModel.layer(handler))), overloaded)
    }))
})

describe("MockModel.byAgent", () => {
  const handler = () => {
    const queue = MockModel.queue("one", "two")
    return MockModel.byAgent({ triage: queue, sales: queue })
  }

  it.effect("lets each agent have a handler, with its own state", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* as("triage")(say()), "one")
      assert.strictEqual(yield* as("sales")(say()), "one")
      assert.strictEqual(yield* as("triage")(say()), "two")
      assert.strictEqual(yield* as("sales")(say()), "two")
    }).pipe(Effect.provide(MockModel.layer(handler()))))

  it.effect("dies where an agent has no handler, and says which have", () =>
    Effect.gen(function*() {
      assert.strictEqual(
        yield* as("toString")(messageOf(ask())),
        "No answer to request 1 of agent \"toString\", whose last user text is \"Hello\": "
          + "there are handlers for \"triage\", \"sales\" only"
      )
    }).pipe(Effect.provide(MockModel.layer(handler()))))
})
