import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, ExecutionPlan, Exit, Fiber, Layer, Option, Schedule, Schema, Stream } from "effect"
import { AiError, type LanguageModel, Tool, Toolkit } from "effect/ai"
import { TestClock } from "effect/testing"
import { Agent, AgentError, type AgentEvent, AgentState, AgentStatus, Conversation, StopWhen, Usage } from "troupe"
import { MockModel, MockResponse } from "troupe/testing"
import { imbalances } from "./balanced.ts"

const overloaded = new AiError.InternalProviderError({ description: "overloaded" })
const noKey = new AiError.AuthenticationError({ kind: "InvalidKey" })

const model = (...responses: ReadonlyArray<MockResponse.Input>) => MockModel.layer(MockModel.queue(...responses))

/** The model calls among events, with their attempts and times. */
const attempts = (events: ReadonlyArray<AgentEvent.AgentEvent>) =>
  events.flatMap((event): ReadonlyArray<readonly [string, ...ReadonlyArray<number>]> =>
    event._tag === "ModelCallStarted" || event._tag === "ModelCallFailed"
      ? [[event._tag, event.attempt, event.at]]
      : event._tag === "ModelResponded"
      ? [[event._tag, event.at]]
      : []
  )

const observed = <A, E, R>(self: Effect.Effect<A, E, R>) =>
  Effect.suspend(() => {
    const events: Array<AgentEvent.AgentEvent> = []
    return self.pipe(
      Agent.observe((event) => Effect.sync(() => events.push(event))),
      Effect.exit,
      Effect.map((exit) => ({ events, exit }))
    )
  })

/** The events of a stream, and the state that they lead to, however it ends. */
const streamed = Effect.fnUntraced(function*<E, R>(stream: Stream.Stream<AgentEvent.AgentEvent, E, R>) {
  const events: Array<AgentEvent.AgentEvent> = []
  const exit = yield* Effect.exit(Stream.runForEach(stream, (event) => Effect.sync(() => events.push(event))))
  const end = events[events.length - 1]
  assert.isTrue(end !== undefined && "state" in end)
  assert.strictEqual(imbalances(events).join("\n"), "")
  return { events, exit, state: end !== undefined && "state" in end ? end.state : AgentState.make("") }
})

const counted = { runs: 0 }
const Count = Tool.make("count", { success: Schema.Finite })
const Tools = Toolkit.make(Count)
const handlers = Tools.toLayer({ count: () => Effect.sync(() => ++counted.runs) })

describe("A model call that fails", () => {
  it.effect("fails the run with the model's own error, the number of attempts, and the state so far", () =>
    Effect.gen(function*() {
      const agent = Agent.make("asker")
      const error = yield* Effect.flip(Agent.run(agent, "Hello")).pipe(Effect.provide(model(MockResponse.fail(noKey))))
      assert.isTrue(AgentError.isAgentError(error))
      const { reason, state } = error
      assert.isTrue(reason._tag === "ModelCallFailed")
      if (reason._tag !== "ModelCallFailed") return
      assert.strictEqual(reason.attempts, 1)
      assert.strictEqual(reason.error.reason._tag, "AuthenticationError")
      assert.deepStrictEqual(
        state.status,
        AgentStatus.failed({ tag: "ModelCallFailed", message: error.message, agent: "asker", step: 0 })
      )
      assert.deepStrictEqual(state.conversation.turns, [{ _tag: "User", parts: [Conversation.text("Hello")] }])
      const tag = yield* Agent.run(agent, "Hello").pipe(
        Effect.catchReason("AgentError", "ModelCallFailed", (reason) => Effect.succeed(reason.error.reason._tag)),
        Effect.provide(model(MockResponse.fail(noKey)))
      )
      assert.strictEqual(tag, "AuthenticationError")
    }))

  it.effect("is made again by the agent's schedule, and each attempt is told", () =>
    Effect.gen(function*() {
      const agent = Agent.make("asker", { retry: Schedule.max([Schedule.spaced("1 second"), Schedule.recurs(2)]) })
      const fiber = yield* observed(Agent.run(agent, "Hello")).pipe(
        Effect.provide(model(MockResponse.fail(overloaded), MockResponse.fail(overloaded), "Hi")),
        Effect.forkChild
      )
      yield* TestClock.adjust("10 seconds")
      const { events, exit } = yield* Fiber.join(fiber)
      assert.strictEqual(exit._tag, "Success")
      assert.deepStrictEqual(attempts(events), [
        ["ModelCallStarted", 0, 0],
        ["ModelCallFailed", 0, 0],
        ["ModelCallStarted", 1, 1000],
        ["ModelCallFailed", 1, 1000],
        ["ModelCallStarted", 2, 2000],
        ["ModelResponded", 2000]
      ])
      assert.strictEqual(imbalances(events).join("\n"), "")
    }))

  it.effect("isn't made again when asking again can't help, nor once the schedule ends", () =>
    Effect.gen(function*() {
      const agent = Agent.make("asker", { retry: Schedule.recurs(2) })
      const attemptsOf = (...responses: ReadonlyArray<MockResponse.MockResponse>) =>
        Agent.run(agent, "Hello").pipe(
          Effect.flip,
          Effect.map(({ reason }) => reason._tag === "ModelCallFailed" ? [reason.attempts, reason.error.reason] : []),
          Effect.provide(model(...responses))
        )
      assert.deepStrictEqual(yield* attemptsOf(MockResponse.fail(noKey)), [1, noKey])
      assert.deepStrictEqual(yield* attemptsOf(MockResponse.fail(overloaded), MockResponse.fail(noKey)), [2, noKey])
      const thrice = [overloaded, overloaded, overloaded].map((reason) => MockResponse.fail(reason))
      assert.deepStrictEqual(yield* attemptsOf(...thrice), [3, overloaded])
    }))

  it.effect("counts the attempts of each step from 0", () =>
    Effect.gen(function*() {
      const agent = Agent.make("asker", { retry: Schedule.recurs(5), toolkit: Tools })
      const { events } = yield* observed(Agent.run(agent, "Hello")).pipe(
        Effect.provide(handlers),
        Effect.provide(model(
          MockResponse.fail(overloaded),
          MockResponse.toolCall("count", {}),
          MockResponse.fail(overloaded),
          "Counted."
        ))
      )
      assert.deepStrictEqual(
        attempts(events).map(([tag, attempt]) => tag === "ModelResponded" ? [tag] : [tag, attempt]),
        [0, 1].flatMap(
          () => [["ModelCallStarted", 0], ["ModelCallFailed", 0], ["ModelCallStarted", 1], ["ModelResponded"]]
        )
      )
    }))

  it.effect("fails a stream that dies after any number of deltas without half a turn", () =>
    Effect.gen(function*() {
      const agent = Agent.make("asker", { toolkit: Tools })
      const response = MockResponse.all(
        MockResponse.reasoning("One two"),
        "three four five",
        MockResponse.toolCall("count", {})
      )
      for (let after = 0; after <= 6; after++) {
        counted.runs = 0
        const { events, exit, state } = yield* streamed(Agent.stream(agent, "Hello")).pipe(
          Effect.provide(handlers),
          Effect.provide(model(MockResponse.breakAfter(response, after, overloaded)))
        )
        assert.strictEqual(exit._tag, "Failure")
        assert.strictEqual(state.status._tag, "Failed")
        assert.strictEqual(Conversation.count(state.conversation), 1)
        // What had begun to arrive has a price that nobody knows, whatever the provider then says.
        assert.strictEqual(state.usage.requests, after === 0 ? 0 : 1)
        assert.strictEqual(Usage.exact(state.usage.output), after === 0 ? 0 : undefined)
        assert.strictEqual(counted.runs, 0)
        assert.strictEqual(events.filter(({ _tag }) => _tag.endsWith("Delta")).length, after)
      }
    }))

  it.effect("leaves unknown what an attempt used that broke off, and counts nothing where the provider refused", () =>
    Effect.gen(function*() {
      const description = "no"
      const lost = new AiError.NetworkError({ reason: "TransportError", method: "POST", url: "", description })
      const reasons: ReadonlyArray<readonly [AiError.AiErrorReason, brokenOff: 0 | 1]> = [
        [lost, 1],
        [new AiError.InvalidOutputError({ description }), 1],
        [new AiError.InvalidResponseError({ description }), 1],
        [new AiError.UnknownError({ description }), 1],
        [new AiError.NetworkError({ reason: "EncodeError", method: "POST", url: "", description }), 0],
        [new AiError.InternalProviderError({ description }), 0],
        [noKey, 0],
        [overloaded, 0],
        [new AiError.RateLimitError({}), 0],
        [new AiError.InvalidRequestError({ description }), 0]
      ]
      const retry = Schedule.recurs(1).pipe(Schedule.setInputType<AiError.AiError>())
      for (const [reason, count] of reasons) {
        for (const after of [0, 2]) {
          const responses = [
            MockResponse.breakAfter("three four five", after, reason),
            MockResponse.withUsage("Hi", { input: 5 })
          ]
          const whole = yield* Agent.settle(Agent.make("asker", { retry }), "Hello").pipe(
            Effect.provide(model(...responses))
          )
          const { events, state } = yield* streamed(Agent.stream(Agent.make("asker", { retry }), "Hello")).pipe(
            Effect.provide(model(...responses))
          )
          const isRetried = state.status._tag === "Complete"
          // Nobody sees how far an answer had come that isn't streamed. Where it is, what has begun isn't free.
          for (const [{ steps, usage }, unreported] of [[whole, count], [state, after > 0 ? 1 : count]] as const) {
            assert.deepStrictEqual(usage.input, { known: isRetried ? 5 : 0, unreported })
            assert.strictEqual(Usage.exact(usage.input), unreported === 1 ? undefined : isRetried ? 5 : 0)
            assert.strictEqual(steps, isRetried ? 1 : 0)
          }
          assert.deepStrictEqual(
            events.flatMap((event) => event._tag === "ModelCallFailed" ? [event.isBrokenOff] : []),
            [count === 1 || after > 0 ? true : undefined]
          )
        }
      }
    }))

  it.effect("keeps what a stream said of its model and its tokens before it broke off", () =>
    Effect.gen(function*() {
      const usage = {
        inputTokens: { uncached: undefined, total: 7, cacheRead: undefined, cacheWrite: undefined },
        outputTokens: { total: 3, text: undefined, reasoning: undefined }
      }
      const said = [
        { type: "response-metadata", modelId: "small" },
        { type: "text-start", id: "1" },
        { type: "text-delta", id: "1", delta: "Hal" }
      ] as const
      const finish = { type: "finish", reason: "stop", usage } as const
      const error = { type: "error", error: "overloaded" } as const
      const free = StopWhen.cost({ limit: 1, prices: { small: { input: 0, output: 0 } } })
      for (const [stream, known] of [[[...said, error], 0], [[...said, finish, error], 7]] as const) {
        const agent = Agent.make("asker", { retry: Schedule.recurs(1), toolkit: Tools, stopWhen: free })
        const { state } = yield* streamed(Agent.stream(agent, "Hello")).pipe(
          Effect.provide(handlers),
          Effect.provide(model(
            MockResponse.raw({ stream: stream as never }),
            MockResponse.withModel(MockResponse.toolCall("count", {}), "small"),
            "Hi"
          ))
        )
        assert.deepStrictEqual(state.run.models?.["small"]?.input, { known, unreported: known === 0 ? 2 : 1 })
        assert.strictEqual(state.run.models?.["small"]?.requests, 2)
        // Its model is free, so the cost is known though the tokens aren't.
        assert.strictEqual(state.status._tag, "Complete")
      }
    }))

  it.effect("leaves unknown what an attempt used that was interrupted", () =>
    Effect.gen(function*() {
      const states: Array<AgentState.AgentState> = []
      const fiber = yield* Effect.forkChild(
        Agent.run(Agent.make("asker"), "Hello").pipe(
          Agent.observe((event) => Effect.sync(() => event._tag === "RunInterrupted" && states.push(event.state)))
        )
      )
      yield* TestClock.adjust("1 second")
      yield* Fiber.interrupt(fiber)
      assert.deepStrictEqual(states.map(({ usage }) => usage), [Usage.add(Usage.empty, {})])
    }).pipe(Effect.provide(model(MockResponse.hang()))))

  it.effect("asks again for a stream that dies after any number of deltas, and keeps the whole one alone", () =>
    Effect.gen(function*() {
      const agent = Agent.make("asker", { retry: Schedule.recurs(1), toolkit: Tools })
      const response = MockResponse.all("three four five", MockResponse.toolCall("count", {}))
      for (let after = 0; after <= 4; after++) {
        counted.runs = 0
        const { events, state } = yield* streamed(Agent.stream(agent, "Hello")).pipe(
          Effect.provide(handlers),
          Effect.provide(model(MockResponse.breakAfter(response, after, overloaded), response, "Done."))
        )
        assert.strictEqual(state.status._tag, "Complete")
        assert.deepStrictEqual(state.conversation.turns.map(Conversation.textOf), ["Hello", "three four five", "Done."])
        assert.strictEqual(counted.runs, 1)
        const again = events.findIndex((event) => event._tag === "ModelCallStarted" && event.attempt === 1)
        const heard = events.slice(again).map((event) => event._tag === "TextDelta" ? event.delta : "").join("")
        assert.strictEqual(heard, "three four fiveDone.")
      }
    }))

  it.effect("takes an error within a stream for a failure that says what it was", () =>
    Effect.gen(function*() {
      const agent = Agent.make("asker")
      const stream = (error: unknown) =>
        streamed(Agent.stream(agent, "Hello")).pipe(
          Effect.provide(model(MockResponse.raw({
            stream: [
              { type: "text-start", id: "1" },
              { type: "text-delta", id: "1", delta: "Half a" },
              { type: "error", error }
            ]
          })))
        )
      for (const error of ["no more room", { message: "no more room" }, new Error("no more room")]) {
        const { events, state } = yield* stream(error)
        assert.strictEqual(Conversation.count(state.conversation), 1)
        assert.isTrue(state.status._tag === "Failed" && state.status.error.message.includes("no more room"))
        assert.isTrue(events.some((event) => event._tag === "TextDelta" && event.delta === "Half a"))
      }
      const stubborn = Agent.make("asker", { retry: Schedule.recurs(1) })
      const broken = MockResponse.raw({ stream: [{ type: "error", error: "overloaded" }] })
      const { state } = yield* streamed(Agent.stream(stubborn, "Hello")).pipe(Effect.provide(model(broken, "Hi")))
      assert.strictEqual(AgentState.text(state), "Hi")
    }))

  it.effect("keeps a text that ended without a finish, and knows no reason for its end", () =>
    Effect.gen(function*() {
      const { state } = yield* streamed(Agent.stream(Agent.make("asker"), "Hello")).pipe(
        Effect.provide(model(MockResponse.raw({
          stream: [{ type: "text-start", id: "1" }, { type: "text-delta", id: "1", delta: "That is it" }]
        })))
      )
      const turn = Conversation.lastAssistant(state.conversation)
      assert.deepStrictEqual([turn?.finishReason, turn?.usage, AgentState.text(state)], ["unknown", {}, "That is it"])
    }))
})

/** A model that counts how often it is built. */
const built = (name: string, counts: Record<string, number>, ...responses: ReadonlyArray<MockResponse.Input>) =>
  Layer.fresh(Layer.merge(
    model(...responses),
    Layer.effectDiscard(Effect.sync(() => {
      counts[name] = (counts[name] ?? 0) + 1
    }))
  )) as Layer.Layer<LanguageModel.LanguageModel>

describe("An agent's own model", () => {
  it.effect("answers in place of the environment's, is built once in a run, and once in each", () =>
    Effect.gen(function*() {
      const counts: Record<string, number> = {}
      const agent = Agent.make("asker", { toolkit: Tools }).pipe(
        Agent.withModel(built("own", counts, MockResponse.toolCall("count", {}), "Mine."))
      )
      const program = Agent.run(agent, "Hello").pipe(Effect.map(AgentState.text), Effect.provide(handlers))
      assert.strictEqual(yield* program, "Mine.")
      assert.deepStrictEqual(counts, { own: 1 })
      assert.strictEqual(yield* Effect.provide(program, model("Not mine.")), "Mine.")
      assert.deepStrictEqual(counts, { own: 2 })
    }))

  it.effect("that can't be built fails the run with its own error, and tells it", () =>
    Effect.gen(function*() {
      const agent = Agent.withModel(Agent.make("asker"), Layer.effectContext(Effect.fail("no key" as const)))
      const { events, exit } = yield* observed(Agent.run(agent, "Hello"))
      assert.deepStrictEqual(Exit.findErrorOption(exit), Option.some("no key" as const))
      assert.strictEqual(imbalances(events).join("\n"), "")
      assert.deepStrictEqual(events.map(({ _tag }) => _tag), ["RunStarted", "RunFailed"])
      const state = yield* Agent.settle(agent, "Hello")
      assert.deepStrictEqual(
        state.status,
        AgentStatus.failed({ tag: "Failure", message: "no key", agent: "asker", step: 0 })
      )
    }))

  it.effect("that can't be built leaves a conversation with the words that it was to answer, and failed", () =>
    Effect.gen(function*() {
      const first = yield* Agent.run(Agent.make("asker"), "One").pipe(Effect.provide(model("1")))
      const causes = [Effect.fail("no key"), Effect.die("no key")]
      for (const cause of causes) {
        const agent = Agent.withModel(Agent.make("asker"), Layer.effectContext(cause))
        const { events, exit, state } = yield* streamed(Agent.stream(agent, "Two", { state: first }))
        assert.deepStrictEqual(events.map(({ _tag }) => _tag), ["RunStarted", "RunFailed"])
        assert.deepStrictEqual(state.conversation.turns.map(Conversation.textOf), ["One", "1", "Two"])
        assert.isTrue(state.status._tag === "Failed" && state.status.error.message === "no key")
        assert.strictEqual(exit._tag, "Failure")
        assert.deepStrictEqual(AgentState.reopen(state).status, AgentStatus.inProgress)
      }
    }))

  it.effect("falls back by plan in the middle of a run: what was done stays done, each model is built once", () =>
    Effect.gen(function*() {
      counted.runs = 0
      const counts: Record<string, number> = {}
      const plan = ExecutionPlan.make(
        {
          provide: built(
            "first",
            counts,
            MockResponse.toolCall("count", {}),
            MockResponse.fail(overloaded),
            MockResponse.fail(noKey)
          )
        },
        { provide: built("second", counts, MockResponse.toolCall("count", {}), "Counted.") }
      )
      const agent = Agent.make("asker", { toolkit: Tools }).pipe(Agent.withModel(plan))
      const { events, exit } = yield* observed(Agent.run(agent, "Hello")).pipe(Effect.provide(handlers))
      assert.strictEqual(exit._tag === "Success" && AgentState.text(exit.value), "Counted.")
      assert.deepStrictEqual(counts, { first: 1, second: 1 })
      assert.strictEqual(counted.runs, 2)
      assert.deepStrictEqual(
        attempts(events).map(([tag, attempt]) => tag === "ModelResponded" ? [tag] : [tag, attempt]),
        [
          ["ModelCallStarted", 0],
          ["ModelResponded"],
          ["ModelCallStarted", 0],
          ["ModelCallFailed", 0],
          ["ModelCallStarted", 1],
          ["ModelResponded"],
          ["ModelCallStarted", 0],
          ["ModelCallFailed", 0],
          ["ModelCallStarted", 1],
          ["ModelResponded"]
        ]
      )
      assert.strictEqual(imbalances(events).join("\n"), "")
    }))

  it.effect("fails with the last model's error once all of a plan have failed", () =>
    Effect.gen(function*() {
      const plan = ExecutionPlan.make(
        { provide: built("first", {}, MockResponse.fail(overloaded)) },
        { provide: built("second", {}, MockResponse.fail(noKey)) }
      )
      const error = yield* Effect.flip(Agent.run(Agent.withModel(Agent.make("asker"), plan), "Hello"))
      assert.isTrue(AgentError.isAgentError(error))
      if (!AgentError.isAgentError(error) || error.reason._tag !== "ModelCallFailed") return
      assert.deepStrictEqual([error.reason.attempts, error.reason.error.reason], [2, noKey])
      assert.strictEqual(error.state.status._tag, "Failed")
    }))
})

class Temperature extends Context.Service<Temperature, number>()("test/Temperature") {}
const Style = Context.Reference<string>("test/Style", { defaultValue: () => "plain" })

describe("A request", () => {
  it.effect("is made with the agent's settings, which its tools don't see", () =>
    Effect.gen(function*() {
      const seen: Array<string> = []
      const agent = Agent.make("asker", {
        toolkit: Tools,
        settings: Context.add(Context.make(Style, "terse"), Temperature, 0.5)
      })
      const state = yield* Agent.run(agent, "Hello").pipe(
        Effect.provide(Tools.toLayer({
          count: () =>
            Effect.map(Style, (style) => {
              seen.push(style)
              return 1
            })
        })),
        Effect.provide(MockModel.layer(MockModel.make(({ iteration }) =>
          Effect.gen(function*() {
            if (iteration === 0) return MockResponse.toolCall("count", {})
            return `${yield* Style} at ${yield* Temperature}`
          })
        ))),
        Effect.provideService(Temperature, 1)
      )
      assert.strictEqual(AgentState.text(state), "terse at 0.5")
      assert.deepStrictEqual(seen, ["plain"])
    }))

  it.effect("forces a call only where it is the first of a run", () =>
    Effect.gen(function*() {
      const choices = (toolChoice: "required" | "auto" | "none" | { readonly tool: "count" }) =>
        Effect.gen(function*() {
          const agent = Agent.make("asker", { toolkit: Tools, toolChoice })
          const state = yield* Agent.run(agent, "Hello")
          yield* Agent.continueConversation(agent, state, "Again")
          return (yield* MockModel.calls).map(({ request }) => request.toolChoice)
        }).pipe(
          Effect.provide(handlers),
          Effect.provide(model(MockResponse.toolCall("count", {}), "One.", MockResponse.toolCall("count", {}), "Two."))
        )
      assert.deepStrictEqual(yield* choices("required"), ["required", "auto", "required", "auto"])
      const named = { tool: "count" } as const
      assert.deepStrictEqual(yield* choices(named), [named, "auto", named, "auto"])
      assert.deepStrictEqual(yield* choices("none"), ["none", "none", "none", "none"])
    }))

  it.effect("offers no tool where the agent has none", () =>
    Effect.gen(function*() {
      yield* Agent.run(Agent.make("asker"), "Hello")
      assert.deepStrictEqual((yield* MockModel.calls).map(({ request }) => request.toolNames), [[]])
    }).pipe(Effect.provide(model("Hi"))))
})
