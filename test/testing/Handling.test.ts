import { assert, describe, it } from "@effect/vitest"
import { Effect, ExecutionPlan, Layer, Ref, Result, Schema, Stream } from "effect"
import { Tool, Toolkit } from "effect/ai"
import { Agent, AgentError, AgentState, Conversation, Dialogue, Session } from "troupe"
import { MockModel, MockResponse } from "troupe/testing"
import { defectOf, overloaded } from "./outcome.ts"

const helper = Agent.make("helper", { instructions: "You are helpful." })

const Weather = Toolkit.make(
  Tool.make("get_weather", {
    parameters: Schema.Struct({ location: Schema.optionalKey(Schema.String) }),
    success: Schema.Struct({ temp: Schema.Finite })
  }),
  Tool.make("fetch_data", { parameters: Schema.Struct({ query: Schema.String }), success: Schema.String })
)
const forecaster = Agent.make("forecaster", { instructions: "You know the weather.", toolkit: Weather })

const Live = Weather.toLayer({
  get_weather: () => Effect.succeed({ temp: 75 }),
  fetch_data: ({ query }) => Effect.succeed(`${query} rose by 3 %`)
})

const say = (prompt: string, agent: typeof helper = helper) => Effect.map(Agent.run(agent, prompt), AgentState.text)

const roles = (state: AgentState.AgentState) =>
  Result.getOrThrow(Conversation.toPrompt(state.conversation)).content.map(({ role }) => role)

const provide = <R>(handler: MockModel.Handler<R>) => Effect.provide(MockModel.layer(handler))

describe("A queue", () => {
  it.effect("answers a question each", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* say("Question 1"), "Response 1")
      assert.strictEqual(yield* say("Question 2"), "Response 2")
      yield* MockModel.assertDrained
    }).pipe(provide(MockModel.queue("Response 1", "Response 2"))))

  it.effect("takes a response with calls, whose tools give what it says", () =>
    Effect.gen(function*() {
      const state = yield* Agent.run(forecaster, "The weather in Paris?")
      assert.strictEqual(AgentState.text(state), "It is {\"temp\":72}.")
      assert.deepStrictEqual((yield* MockModel.toolCalls).map(({ name, params }) => [name, params]), [
        ["get_weather", { location: "Paris" }]
      ])
    }).pipe(
      Effect.provide(MockModel.handlers(Weather)),
      provide(MockModel.queue(
        MockResponse.toolCall("get_weather", { location: "Paris" }, { result: { temp: 72 } }),
        ({ lastToolResults }) => `It is ${JSON.stringify(lastToolResults[0]?.result)}.`
      ))
    ))

  it.effect("keeps its place from one run to the next, and says where it ended", () =>
    Effect.gen(function*() {
      const state = yield* Agent.run(helper, "One")
      yield* Agent.continueConversation(helper, state, "Two")
      assert.strictEqual(
        ((yield* defectOf(say("Three"))) as Error).message,
        "No answer to request 3 of agent \"helper\", whose last user text is \"Three\": all 2 queued responses are used up"
      )
    }).pipe(provide(MockModel.queue("1", "2"))))
})

describe("A function of the request", () => {
  it.effect("sees what the user said last, with or without an Effect", () =>
    Effect.gen(function*() {
      const plain = ({ lastUserText }: MockModel.MockRequest) =>
        /weather/i.test(lastUserText) ? "It's sunny!" : "I don't know"
      for (const handler of [MockModel.make(plain), MockModel.make((request) => Effect.sync(() => plain(request)))]) {
        assert.deepStrictEqual(
          yield* Effect.all([say("What's the weather?"), say("Who are you?")]).pipe(provide(handler)),
          ["It's sunny!", "I don't know"]
        )
      }
    }))

  it.effect("decides by a word in the question", () =>
    Effect.gen(function*() {
      assert.include(yield* say("What's the weather in Paris?"), "72°F")
      assert.include(yield* say("How about London?"), "65°F")
      assert.include(yield* say("And Atlantis?"), "don't know")
    }).pipe(provide(MockModel.make(({ lastUserText }) => {
      if (/paris/i.test(lastUserText)) return "It's 72°F in Paris"
      if (/london/i.test(lastUserText)) return "It's 65°F in London"
      return "I don't know that location"
    }))))

  it.effect("sees who asks, how often, what was sent, with which tools, and what was said before", () =>
    Effect.gen(function*() {
      const seen = yield* Ref.make<ReadonlyArray<MockModel.MockRequest>>([])
      const handler = MockModel.make((request) =>
        Effect.as(Ref.update(seen, (all) => [...all, request]), MockResponse.text(`Call ${request.callCount}`))
      )
      yield* Effect.gen(function*() {
        const state = yield* Agent.run(forecaster, "Question 1")
        yield* Agent.continueConversation(forecaster, state, "Question 2")
      }).pipe(Effect.provide(Live), provide(handler))
      const [first, second] = yield* Ref.get(seen)
      assert.deepStrictEqual([first?.callCount, second?.callCount], [1, 2])
      assert.deepStrictEqual([first?.agent, first?.path], ["forecaster", ["forecaster"]])
      assert.deepStrictEqual(first?.messages.map(({ role }) => role), ["system", "user"])
      assert.strictEqual(first?.system, "You know the weather.")
      assert.deepStrictEqual(first?.toolNames, ["get_weather", "fetch_data"])
      assert.strictEqual(first?.toolChoice, "auto")
      assert.strictEqual(first?.state?.initialQuery, "Question 1")
      assert.deepStrictEqual(second?.messages.map(({ role }) => role), ["system", "user", "assistant", "user"])
      assert.strictEqual(second?.state && Conversation.lastAssistantText(second.state.conversation), "Call 1")
    }))

  it.effect("is asked for each step of a run, and counts the steps from 0 anew in each run", () =>
    Effect.gen(function*() {
      const call = MockResponse.toolCall("get_weather", {})
      const handler = MockModel.make(({ iteration }) => iteration < 2 ? call : "It's sunny")
      yield* Effect.gen(function*() {
        const state = yield* Agent.run(forecaster, "What's the weather?")
        assert.deepStrictEqual(roles(state), ["user", "assistant", "tool", "assistant", "tool", "assistant"])
        yield* Agent.continueConversation(forecaster, state, "And now?")
        const calls = yield* MockModel.calls
        assert.deepStrictEqual(calls.map(({ request }) => request.iteration), [0, 1, 2, 0, 1, 2])
        assert.deepStrictEqual(calls.map(({ request }) => request.callCount), [1, 2, 3, 4, 5, 6])
      }).pipe(Effect.provide(Live), provide(handler))
    }))

  it.effect("answers from what a tool gave", () =>
    Effect.gen(function*() {
      const state = yield* Agent.run(forecaster, "Get sales data")
      assert.strictEqual(AgentState.text(state), "The data shows: sales rose by 3 %")
      assert.deepStrictEqual(roles(state), ["user", "assistant", "tool", "assistant"])
    }).pipe(
      Effect.provide(Live),
      provide(MockModel.make(({ callCount, lastToolResults }) =>
        callCount === 1
          ? MockResponse.all("I'll fetch that data", MockResponse.toolCall("fetch_data", { query: "sales" }))
          : `The data shows: ${lastToolResults[0]?.result}`
      ))
    ))

  it.effect("surfaces what it throws, and a failure as the model's own", () =>
    Effect.gen(function*() {
      const bug = new TypeError("broken handler")
      const throwing = MockModel.make((): string => {
        throw bug
      })
      assert.strictEqual(yield* defectOf(say("Hello").pipe(provide(throwing))), bug)
      const error = yield* Effect.flip(say("Hello").pipe(provide(MockModel.make(() => Effect.fail(overloaded)))))
      assert.isTrue(AgentError.isAgentError(error) && error.reason._tag === "ModelCallFailed")
      if (error.reason._tag === "ModelCallFailed") assert.strictEqual(error.reason.error, overloaded)
    }))
})

describe("Rules", () => {
  it.effect("answer by what the user said, and otherwise", () =>
    Effect.gen(function*() {
      assert.include(yield* say("What's the weather?"), "sunny")
      assert.include(yield* say("What time is it?"), "3 PM")
      assert.include(yield* say("Random question"), "don't understand")
    }).pipe(provide(MockModel.conditional(
      MockModel.when(/weather/, "It's sunny!"),
      MockModel.when(({ lastUserText }) => lastUserText.includes("time"), "It's 3 PM"),
      MockModel.otherwise("I don't understand")
    ))))

  it.effect("answer the steps of a run by their number", () =>
    Effect.gen(function*() {
      const state = yield* Agent.run(forecaster, "What's the weather?")
      assert.deepStrictEqual(roles(state), ["user", "assistant", "tool", "assistant"])
      assert.strictEqual(AgentState.text(state), "It's sunny based on the tool result")
    }).pipe(
      Effect.provide(Live),
      provide(MockModel.conditional(
        MockModel.when(
          { callCount: 1, lastUserText: /weather/ },
          MockResponse.all("I'll check", MockResponse.toolCall("get_weather", {}))
        ),
        MockModel.when({ callCount: 2 }, "It's sunny based on the tool result")
      ))
    ))
})

describe("A transcript", () => {
  it.effect("is followed through a run", () =>
    Effect.gen(function*() {
      const state = yield* Agent.run(forecaster, "What's the weather?")
      assert.strictEqual(AgentState.text(state), "It's 75°F and sunny")
      assert.deepStrictEqual(roles(state), ["user", "assistant", "tool", "assistant"])
      yield* MockModel.assertDrained
    }).pipe(
      Effect.provide(Live),
      provide(MockModel.transcript([
        { role: "user", content: "What's the weather?" },
        { role: "assistant", content: "I'll check the weather", toolCalls: [{ name: "get_weather" }] },
        { role: "tool", name: "get_weather", content: { temp: 75 } },
        { role: "assistant", content: "It's 75°F and sunny" }
      ]))
    ))
})

describe("A state machine", () => {
  it.effect("moves with each request, and not three states in one", () =>
    Effect.gen(function*() {
      const machine = MockModel.stateMachine({
        initial: "greeting",
        states: {
          greeting: { respond: "Hello! How can I help?", transitions: { weather: /weather/, capital: /capital/ } },
          weather: {
            respond: MockResponse.all("Let me check", MockResponse.toolCall("get_weather", {})),
            defaultNext: "weather_result"
          },
          weather_result: { respond: "It's sunny!", defaultNext: "greeting" },
          capital: { respond: "Which country?", defaultNext: "greeting" }
        }
      })
      yield* Effect.gen(function*() {
        const state = yield* Agent.run(forecaster, "What's the weather?")
        assert.strictEqual(AgentState.text(state), "Hello! How can I help?")
        assert.deepStrictEqual(yield* MockModel.history(machine), ["greeting", "weather"])
        const next = yield* Agent.continueConversation(forecaster, state, "So?")
        assert.strictEqual(AgentState.text(next), "It's sunny!")
        assert.deepStrictEqual(yield* MockModel.history(machine), ["greeting", "weather", "weather_result", "greeting"])
      }).pipe(Effect.provide(Live), provide(machine))
    }))
})

describe("Agents that talk to each other", () => {
  const a = Agent.make("a")
  const b = Agent.make("b")
  const dialogue = (maxTurns: number) => Dialogue.make(a, b, { maxTurns })
  const said = (state: Effect.Success<ReturnType<typeof Dialogue.run>>) =>
    state.transcript.flatMap((entry) => entry._tag === "Agent" ? [`${entry.speaker}: ${Dialogue.textOf(entry)}`] : [])

  it.effect("have a handler each, which sees what the other said", () =>
    Effect.gen(function*() {
      const state = yield* Dialogue.run(dialogue(3), "Begin.")
      assert.deepStrictEqual(said(state), [
        "a: Hello from Agent A!",
        "b: Hi back from Agent B!",
        "a: Hello from Agent A!"
      ])
    }).pipe(provide(MockModel.byAgent({
      a: MockModel.make("Hello from Agent A!"),
      b: MockModel.make(({ lastUserText }) => /hello/i.test(lastUserText) ? "Hi back from Agent B!" : "I heard you")
    }))))

  it.effect("keep their own state, and answer in turns", () =>
    Effect.gen(function*() {
      let greeted = false
      const handler = MockModel.byAgent({
        a: MockModel.firstOf(
          MockModel.queue("Hi, I'm Agent A!", "Nice to meet you too!"),
          MockModel.make("Goodbye from A")
        ),
        b: MockModel.make(({ lastUserText }) => {
          if (greeted || !/hi/i.test(lastUserText)) return "Agent B acknowledges"
          greeted = true
          return "Hello Agent A, nice to meet you!"
        })
      })
      const state = yield* Dialogue.run(dialogue(5), "Begin.").pipe(provide(handler))
      assert.deepStrictEqual(said(state), [
        "a: Hi, I'm Agent A!",
        "b: Hello Agent A, nice to meet you!",
        "a: Nice to meet you too!",
        "b: Agent B acknowledges",
        "a: Goodbye from A"
      ])
    }))

  it.effect("don't share what one handler counts, though it stands for both", () =>
    Effect.gen(function*() {
      const counting = MockModel.queue("Message 1", "Message 2", "Message 3")
      const state = yield* Dialogue.run(dialogue(6), "Begin.").pipe(
        provide(MockModel.byAgent({ a: counting, b: counting }))
      )
      assert.deepStrictEqual(
        said(state),
        [1, 2, 3].flatMap((count) => [`a: Message ${count}`, `b: Message ${count}`])
      )
    }))
})

describe("Around a mock model", () => {
  it.effect("events of a call fire as around any model, with the request recorded before it is answered", () =>
    Effect.gen(function*() {
      const order: Array<string> = []
      let recorded: Effect.Effect<ReadonlyArray<MockModel.Call>> = Effect.succeed([])
      const handler = MockModel.make((request) =>
        Effect.map(recorded, (calls) => {
          order.push(
            `asked as ${request.callCount} of ${calls.length}, response: ${calls.at(-1)?.response !== undefined}`
          )
          return request.callCount === 1 ? MockResponse.fail(overloaded) : "ok"
        })
      )
      const run = Agent.run(helper, "Hello").pipe(
        Agent.observe((event) => Effect.sync(() => order.push(event._tag))),
        Effect.exit
      )
      yield* Effect.gen(function*() {
        recorded = (yield* MockModel.MockModel).calls
        yield* Effect.andThen(run, run)
        assert.isTrue((yield* recorded).every(({ response }) => response !== undefined))
      }).pipe(provide(handler))
      assert.deepStrictEqual(order, [
        "RunStarted",
        "StepStarted",
        "ModelCallStarted",
        "asked as 1 of 1, response: false",
        "ModelCallFailed",
        "StepCompleted",
        "RunFailed",
        "RunStarted",
        "StepStarted",
        "ModelCallStarted",
        "asked as 2 of 2, response: false",
        "ModelResponded",
        "StepCompleted",
        "RunCompleted"
      ])
    }))

  it.effect("usage, metadata, thoughts, files and sources reach the conversation, and stay", () =>
    Effect.gen(function*() {
      const first = yield* Agent.run(helper, "Who was Ada?")
      const state = yield* Agent.continueConversation(helper, first, "Thanks.")
      const turn = state.conversation.turns.find((turn) => turn._tag === "Assistant")
      assert.deepStrictEqual(turn?._tag === "Assistant" && turn.parts.map((part) => part._tag), [
        "Reasoning",
        "Text",
        "File",
        "Source",
        "Source"
      ])
      assert.deepStrictEqual(turn?._tag === "Assistant" && turn.usage, { input: 10, output: 5 })
      assert.deepStrictEqual(turn?._tag === "Assistant" && turn.parts[0], {
        _tag: "Reasoning",
        text: "A mathematician.",
        metadata: { mock: { signature: "s" } }
      })
      assert.deepStrictEqual(turn?._tag === "Assistant" && turn.parts[1], {
        _tag: "Text",
        text: "The first programmer.",
        metadata: { mock: { citations: [1] } }
      })
      assert.deepStrictEqual([state.usage.input.known, state.usage.input.unreported], [10, 1])
    }).pipe(provide(MockModel.queue(
      MockResponse.withUsage(
        MockResponse.all(
          MockResponse.reasoning("A mathematician.", { metadata: { mock: { signature: "s" } } }),
          MockResponse.text("The first programmer.", { metadata: { mock: { citations: [1] } } }),
          MockResponse.file("image/png", "AA=="),
          MockResponse.source({ sourceType: "url", id: "1", url: "https://effect.website/", title: "Effect" }),
          MockResponse.source({ sourceType: "document", id: "2", mediaType: "text/plain", title: "Letters" })
        ),
        { input: 10, output: 5 }
      ),
      "You're welcome."
    ))))

  it.effect("a refusal is a text that ends for the content filter", () =>
    Effect.gen(function*() {
      const events = yield* Stream.runCollect(Agent.stream(helper, "How do I break in?"))
      const responded = events.find((event) => event._tag === "ModelResponded")
      assert.strictEqual(responded?._tag === "ModelResponded" && responded.finishReason, "content-filter")
    }).pipe(provide(MockModel.queue(MockResponse.withFinishReason("I can't help with that.", "content-filter")))))

  it.effect("agents that are called by agents are answered by the same model", () =>
    Effect.gen(function*() {
      const boss = Agent.make("boss", { agents: [Agent.asTool(helper)] })
      assert.strictEqual(AgentState.text(yield* Agent.run(boss, "Go")), "All done.")
      const calls = yield* MockModel.calls
      assert.deepStrictEqual(calls.map(({ request }) => request.path.join("/")), ["boss", "boss/helper", "boss"])
      assert.deepStrictEqual(calls.map(({ request }) => request.callCount), [1, 2, 3])
    }).pipe(provide(MockModel.byAgent({
      boss: MockModel.queue(MockResponse.toolCall("helper", { task: "help" }), "All done."),
      helper: MockModel.queue("Done.")
    }))))

  it.effect("forks of a session are answered by the same model, as is what it was forked from", () =>
    Effect.gen(function*() {
      const session = yield* Session.make(helper)
      yield* session.call("One")
      const fork = yield* session.fork
      const states = [yield* fork.call("Two"), yield* session.call("Three")]
      assert.deepStrictEqual(states.map((state) => [AgentState.text(state), roles(state).length]), [["2", 4], ["3", 4]])
    }).pipe(Effect.scoped, provide(MockModel.make(({ callCount }) => `${callCount}`))))

  it.effect("runs at a time keep their conversations apart", () =>
    Effect.gen(function*() {
      const states = yield* Effect.forEach([1, 2, 3], (n) => Agent.run(helper, `q${n}`), { concurrency: "unbounded" })
      assert.deepStrictEqual(
        states.map((state) => [roles(state).join(), state.initialQuery, AgentState.text(state)]),
        [1, 2, 3].map((n) => ["user,assistant", `q${n}`, `answer to q${n}`])
      )
    }).pipe(provide(MockModel.make(({ lastUserText }) => `answer to ${lastUserText}`))))

  it.effect("a model inside a model's scope answers what runs in it, and the outer goes on where it was", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* say("1"), "outer 1")
      assert.strictEqual(yield* say("2").pipe(provide(MockModel.queue("inner"))), "inner")
      assert.strictEqual(yield* say("3"), "outer 2")
    }).pipe(provide(MockModel.queue("outer 1", "outer 2"))))

  it.effect("agents that bring a model are answered by it, or by the mock where that is asked for", () =>
    Effect.gen(function*() {
      let built = 0
      const real = Layer.unwrap(Effect.sync(() => {
        built++
        return MockModel.layer(MockModel.make("real"))
      }))
      const agents = [
        Agent.withModel(helper, real),
        Agent.withModel(helper, ExecutionPlan.make({ provide: real })),
        Agent.make("boss", { agents: [Agent.asTool(Agent.withModel(helper, real))] })
      ]
      const handler = MockModel.byAgent({
        helper: MockModel.make("mocked"),
        boss: MockModel.conditional(
          MockModel.when(
            ({ lastToolResults }) => lastToolResults.length > 0,
            ({ lastToolResults }) => `${lastToolResults[0]?.result}`
          ),
          MockModel.otherwise(MockResponse.toolCall("helper", { task: "help" }))
        )
      })
      const saidOf = (options?: MockModel.LayerOptions) =>
        Effect.forEach(agents, (agent) =>
          Agent.run(agent, "Go").pipe(
            Effect.map(AgentState.text),
            Effect.provide(MockModel.layer(handler, options))
          ))
      assert.deepStrictEqual(yield* saidOf({ replacesOwn: true }), ["mocked", "mocked", "mocked"])
      assert.strictEqual(built, 0)
      assert.deepStrictEqual(yield* saidOf(), ["real", "real", "real"])
    }))

  it.effect("records of requests don't change as the conversation goes on", () =>
    Effect.gen(function*() {
      const state = yield* Agent.run(helper, "One")
      const before = yield* MockModel.calls
      const messages = JSON.stringify(before[0]?.request.messages)
      yield* Agent.continueConversation(helper, state, "Two")
      const after = yield* MockModel.calls
      assert.strictEqual(before.length, 1)
      assert.strictEqual(JSON.stringify(after[0]?.request.messages), messages)
      assert.deepStrictEqual(after.map(({ request }) => request.messages.length), [2, 4])
    }).pipe(provide(MockModel.make("ok"))))
})
