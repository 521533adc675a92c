/**
 * What others hold or make, and a state must not share, choke on, or keep silent about.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, ExecutionPlan, Layer, Option, Result, Schema, Stream } from "effect"
import { AiError, LanguageModel, Tool, Toolkit } from "effect/ai"
import { TestClock } from "effect/testing"
import { Agent, AgentEvent, AgentState, Conversation, Session } from "troupe"
import { MockModel, MockResponse } from "troupe/testing"

const model = (...responses: ReadonlyArray<MockResponse.Input>) => MockModel.layer(MockModel.queue(...responses))

const textOf = (state: AgentState.AgentState): string => JSON.stringify(AgentState.toJson(state))

const callsOf = (state: AgentState.AgentState): ReadonlyArray<Conversation.Call> =>
  state.conversation.turns.flatMap((turn) => turn._tag === "Assistant" ? Conversation.callsOf(turn) : [])

describe("A state shares nothing with", () => {
  const Keep = Toolkit.make(Tool.make("keep", {
    parameters: Schema.Struct({ value: Schema.Json }),
    success: Schema.Json,
    needsApproval: true
  }))
  const keeper = Agent.make("keeper", { toolkit: Keep })

  it.effect("handlers that change their parameters, and their results later", () =>
    Effect.gen(function*() {
      const kept: Array<Array<string>> = []
      const tools = Keep.toLayer({
        keep: ({ value }) =>
          Effect.sync(() => {
            const list = (value as { readonly list: Array<string> }).list
            list.push("changed")
            kept.push(list)
            return list
          })
      })
      const asked = yield* Agent.run(keeper, "Keep it").pipe(
        Effect.provide([tools, model(MockResponse.toolCall("keep", { value: { list: ["given"] } }))])
      )
      const approved = Result.getOrThrow(AgentState.approve(asked, "call_1"))
      const before = [textOf(asked), textOf(approved)]
      const done = yield* Agent.resume(keeper, approved).pipe(Effect.provide([tools, model("Kept.")]))
      const after = textOf(done)
      kept[0]!.push("later")
      assert.deepStrictEqual([textOf(asked), textOf(approved)], before)
      assert.strictEqual(textOf(done), after)
      const [call] = callsOf(done)
      assert.deepStrictEqual(call?.params, { value: { list: ["given"] } })
      assert.deepStrictEqual(call?.state._tag === "Settled" && call.state.result, ["given", "changed"])
    }))

  it.effect("the parts that a user gave", () =>
    Effect.gen(function*() {
      const parts = [{ ...Conversation.text("Hello") }]
      const state = yield* Agent.run(Agent.make("greeter"), parts).pipe(Effect.provide(model("Hi.")))
      parts.push(Conversation.text("Again"))
      Object.assign(parts[0]!, { text: "Changed" })
      assert.strictEqual(AgentState.text(state), "Hi.")
      assert.strictEqual(Conversation.lastUserText(state.conversation), "Hello")
    }))
})

describe("A state survives JSON", () => {
  const Anything = Toolkit.make(Tool.make("anything", { parameters: Schema.Unknown, success: Schema.Any }))
  const odd = { nan: Number.NaN, none: undefined, big: 12n, at: new Date(0), zero: -0 }

  it.effect("with parameters and results that aren't JSON", () =>
    Effect.gen(function*() {
      const state = yield* Agent.run(Agent.make("taker", { toolkit: Anything }), "Take it").pipe(
        Effect.provide([
          Anything.toLayer({ anything: () => Effect.succeed({ inner: odd.at }) }),
          model(MockResponse.toolCall("anything", odd), "Taken.")
        ])
      )
      const read = Result.getOrThrow(AgentState.fromJson(textOf(state)))
      assert.deepStrictEqual(read, state)
      const [call] = callsOf(state)
      assert.deepStrictEqual(call?.params, { nan: "NaN", big: "12", at: "1970-01-01T00:00:00.000Z", zero: 0 })
      assert.deepStrictEqual(call?.state._tag === "Settled" && call.state.result, { inner: "1970-01-01T00:00:00.000Z" })
    }))

  it.effect("when its clock has fractions, as its events do", () =>
    Effect.gen(function*() {
      yield* TestClock.adjust("1500 micros")
      const encode = Schema.encodeSync(Schema.toCodecJson(AgentEvent.AgentEvent))
      const state = yield* Agent.run(Agent.make("timer"), "Now").pipe(
        Agent.observe((event) => Effect.sync(() => encode(event))),
        Effect.provide(model("Now."))
      )
      assert.strictEqual(state.run.startedAt, 1)
      assert.deepStrictEqual(AgentState.fromJson(textOf(state)), Result.succeed(state))
      const asked = AgentState.ask(AgentState.make("timer"), "Now", 1.5)
      assert.deepStrictEqual(AgentState.fromJson(textOf(asked)), Result.succeed(asked))
    }))
})

describe("An error without a message", () => {
  class Boom extends Schema.TaggedError<Boom>()("Boom", { level: Schema.Int }) {}
  const Explode = Toolkit.make(Tool.make("explode", { failure: Boom }))
  const Coded = Toolkit.make(Tool.make("coded", { failure: Schema.Struct({ code: Schema.Int }) }))

  it.effect("of a called agent is told by its tag", () =>
    Effect.gen(function*() {
      const child = Agent.make("child", { toolkit: Explode, fatal: ["explode"] })
      const parent = Agent.make("parent", { agents: [Agent.asTool(child)] })
      const state = yield* Agent.run(parent, "Go").pipe(
        Effect.provide(Explode.toLayer({ explode: () => Effect.fail(new Boom({ level: 3 })) })),
        Effect.provide(MockModel.layer(MockModel.byAgent({
          parent: MockModel.queue(MockResponse.toolCall("child", { task: "Explode" }), "It exploded."),
          child: MockModel.queue(MockResponse.toolCall("explode", {}))
        })))
      )
      const [call] = callsOf(state)
      assert.strictEqual(call?.state._tag === "Settled" && call.state.result, `Agent "child" failed: Boom`)
    }))

  it.effect("and without a tag is told by what it is made of", () =>
    Effect.gen(function*() {
      const state = yield* Agent.settle(Agent.make("coder", { toolkit: Coded, fatal: ["coded"] }), "Go").pipe(
        Effect.provide(Coded.toLayer({ coded: () => Effect.fail({ code: 7 }) })),
        Effect.provide(model(MockResponse.toolCall("coded", {})))
      )
      assert.deepStrictEqual(
        state.status._tag === "Failed" && [state.status.error.tag, state.status.error.message],
        ["Failure", `{"code":7}`]
      )
    }))

  it.effect("whose tag is empty leaves a state that can be stored", () =>
    Effect.gen(function*() {
      const agent = Agent.make("tagged", { instructions: () => Effect.fail({ _tag: "" }) })
      const state = yield* Agent.settle(agent, "Go").pipe(Effect.provide(model("Never.")))
      assert.deepStrictEqual(AgentState.fromJson(textOf(state)), Result.succeed(state))
    }))
})

describe("A plan of models", () => {
  const overloaded = new AiError.InternalProviderError({ description: "overloaded" })

  it.effect("serves called agents, handlers and instructions too, and falls back for them", () =>
    Effect.gen(function*() {
      const Ask = Toolkit.make(Tool.make("ask", { success: Schema.String }))
      const child = Agent.make("child", { toolkit: Ask })
      const ask = LanguageModel.generateText({ prompt: "Who?" }).pipe(Effect.map((response) => response.text))
      const parent = Agent.make("parent", {
        agents: [Agent.asTool(child)],
        instructions: () => Effect.orDie(ask)
      }).pipe(Agent.withModel(ExecutionPlan.make(
        { provide: model(...Array.from({ length: 20 }, () => MockResponse.fail(overloaded))) },
        {
          provide: MockModel.layer(
            MockModel.make(({ agent, lastToolResults, messages }) =>
              messages.length === 1 && messages[0]?.role === "user" && messages[0].content.length === 1 &&
                messages[0].content[0]?.type === "text" && messages[0].content[0].text === "Who?"
                ? "You are kind."
                : lastToolResults.length > 0
                ? `${agent} is done.`
                : MockResponse.toolCall(agent === "parent" ? "child" : "ask", agent === "parent" ? { task: "Ask" } : {})
            )
          )
        }
      )))
      const state = yield* Agent.run(parent, "Hello").pipe(
        Effect.provide(Ask.toLayer({ ask: () => Effect.succeed("nobody") }))
      )
      assert.strictEqual(AgentState.text(state), "parent is done.")
      const [call] = callsOf(state)
      assert.strictEqual(call?.state._tag === "Settled" && call.state.result, "child is done.")
    }))

  it.effect("that can't be built at all fails the run with what it failed with", () =>
    Effect.gen(function*() {
      const failure = AiError.make({ module: "Test", method: "make", reason: overloaded })
      const agent = Agent.withModel(
        Agent.make("asker"),
        ExecutionPlan.make({ provide: Layer.effect(LanguageModel.LanguageModel, Effect.fail(failure)) })
      )
      const exit = yield* Effect.exit(Agent.run(agent, "Hello"))
      assert.deepStrictEqual(
        exit._tag === "Failure" && Option.getOrUndefined(Agent.failedState(exit.cause))?.status._tag,
        "Failed"
      )
      const error = yield* Effect.flip(Agent.run(agent, "Hello"))
      assert.isTrue(AiError.isAiError(error))
    }))
})

describe("A state that has ended", () => {
  const agent = Agent.make("asker")
  const overloaded = new AiError.InternalProviderError({ description: "overloaded" })
  const asked = (response: MockResponse.Input) => Agent.settle(agent, "Hello").pipe(Effect.provide(model(response)))

  for (const [status, response] of [["Complete", "Hi."], ["Failed", MockResponse.fail(overloaded)]] as const) {
    it.effect(`as ${status} is the same value once it is resumed, and nothing happens`, () =>
      Effect.gen(function*() {
        const ended = yield* asked(response)
        assert.strictEqual(ended.status._tag, status)
        yield* TestClock.adjust("1 minute")
        const events: Array<string> = []
        yield* Effect.gen(function*() {
          assert.strictEqual(yield* Agent.resume(agent, ended), ended)
          assert.strictEqual(yield* Agent.settle(agent, ended), ended)
          assert.strictEqual(yield* Agent.step(agent, ended), ended)
        }).pipe(Agent.observe(({ _tag }) => Effect.sync(() => events.push(_tag))), Effect.provide(model()))
        assert.deepStrictEqual(events, [])
        assert.deepStrictEqual(yield* Stream.runCollect(Agent.stream(agent, ended)).pipe(Effect.provide(model())), [])
        assert.deepStrictEqual(yield* Stream.runCollect(Agent.states(agent, ended)).pipe(Effect.provide(model())), [])
        const other = yield* Effect.flip(Agent.resume(Agent.make("other"), ended).pipe(Effect.provide(model())))
        assert.strictEqual(other.reason._tag, "AgentMismatch")
      }))
  }

  it.effect("is continued if its answer doesn't fit the agent's output", () =>
    Effect.gen(function*() {
      const typed = Agent.make("asker", { output: Schema.Struct({ n: Schema.Finite }) })
      const done = yield* Agent.resume(typed, yield* asked("Hi.")).pipe(
        Effect.provide(model(MockResponse.toolCall("final_answer", { n: 1 })))
      )
      assert.deepStrictEqual(yield* Effect.fromResult(AgentState.output(typed, done)), { n: 1 })
    }))

  it.effect("isn't changed by a session's resume either, unless it failed", () =>
    Effect.gen(function*() {
      const ended = yield* asked("Hi.")
      const session = yield* Session.make(agent, { state: ended })
      const failed = yield* Session.make(agent, { state: yield* asked(MockResponse.fail(overloaded)) })
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(yield* session.resume, ended)
      assert.deepStrictEqual(yield* Stream.runCollect(session.stream()), [])
      assert.strictEqual(AgentState.text(yield* session.call("Again")), "Again.")
      assert.strictEqual(AgentState.text(yield* failed.resume), "Hello.")
    }).pipe(
      Effect.scoped,
      Effect.provide(MockModel.layer(MockModel.make(({ lastUserText }) => `${lastUserText}.`)))
    ))

  it.effect("answers the call of its caller, without another run", () =>
    Effect.gen(function*() {
      const boss = Agent.make("boss", { agents: [Agent.asTool(agent)] })
      const said = MockModel.layer(MockModel.byAgent({
        boss: MockModel.conditional(
          MockModel.when(({ lastToolResults }) => lastToolResults.length > 0, "Done."),
          MockModel.otherwise(MockResponse.toolCall("asker", { task: "Ask" }))
        ),
        asker: MockModel.queue("Hi.")
      }))
      const begun = AgentState.make("boss")
      const events = yield* Stream.runCollect(Agent.stream(boss, "Go")).pipe(Effect.provide(said))
      const at = events.findIndex(({ _tag, calls }) => _tag === "RunCompleted" && calls.length > 0)
      const again = yield* Stream.runCollect(
        Agent.stream(boss, events.slice(0, at + 1).reduce(AgentState.reduce, begun))
      ).pipe(Effect.provide(said))
      assert.deepStrictEqual(again.flatMap(({ _tag, calls }) => calls.length > 0 ? [_tag] : []), [])
      const last = again[again.length - 1]
      assert.isTrue(last?._tag === "RunCompleted" && AgentState.text(last.state) === "Done.")
    }))
})
