import { assert, describe, it } from "@effect/vitest"
import { Effect, Result, Schema, Stream } from "effect"
import { AiError, Tool, Toolkit } from "effect/ai"
import { Agent, AgentError, AgentState, AgentStatus, Conversation, StopWhen } from "troupe"
import { MockModel, MockResponse } from "troupe/testing"
import { deepFreeze } from "../domain/legal.ts"

const Tools = Toolkit.make(
  Tool.make("look", { success: Schema.String }),
  Tool.make("guarded", { success: Schema.String, needsApproval: true })
)
const handlers = Tools.toLayer({ look: () => Effect.succeed("seen"), guarded: () => Effect.succeed("opened") })
const agent = Agent.make("clerk", { toolkit: Tools })

const model = (...responses: ReadonlyArray<MockResponse.Input>) => MockModel.layer(MockModel.queue(...responses))
const look = MockResponse.toolCall("look", {})
const guarded = MockResponse.toolCall("guarded", {}, { id: "g" })

const texts = (state: AgentState.AgentState) => state.conversation.turns.map(Conversation.textOf)

const run = (...responses: ReadonlyArray<MockResponse.Input>) =>
  Agent.settle(agent, "Hello").pipe(
    Effect.map(deepFreeze),
    Effect.provide(handlers),
    Effect.provide(model(...responses))
  )

const goOn = (state: AgentState.AgentState, input: string, ...responses: ReadonlyArray<MockResponse.Input>) =>
  Agent.continueConversation(agent, state, input).pipe(
    Effect.map(deepFreeze),
    Effect.provide(handlers),
    Effect.provide(model(...responses))
  )

describe("Agent.continueConversation", () => {
  it.effect("goes on behind an answer, and keeps what the first words were", () =>
    Effect.gen(function*() {
      const first = yield* run(look, "Hi")
      const second = yield* goOn(first, "Again", "Yes?")
      assert.deepStrictEqual(texts(second), ["Hello", "", "Hi", "Again", "Yes?"])
      assert.deepStrictEqual([second.steps, second.run.steps, second.initialQuery], [3, 1, "Hello"])
    }))

  it.effect("goes on behind a failure", () =>
    Effect.gen(function*() {
      const failed = yield* Agent.settle(
        Agent.make("clerk", { toolkit: Tools, stopWhen: StopWhen.maxSteps(1) }),
        "Hello"
      )
        .pipe(Effect.provide(handlers), Effect.provide(model(look)))
      assert.strictEqual(failed.status._tag, "Failed")
      assert.deepStrictEqual(texts(yield* goOn(failed, "Again", "Yes?")), ["Hello", "", "Again", "Yes?"])
    }))

  it.effect("lets the words wait behind calls that await approval, and asks no model", () =>
    Effect.gen(function*() {
      const awaiting = yield* run(guarded)
      assert.strictEqual(awaiting.status._tag, "WaitingForTools")
      const waiting = yield* goOn(awaiting, "Hurry")
      assert.deepStrictEqual([waiting.status._tag, waiting.steps], ["WaitingForTools", 1])
      assert.strictEqual(AgentState.next(waiting)._tag, "Await")
      const approved = deepFreeze(yield* Effect.fromResult(AgentState.approve(waiting, "g")))
      const [last, calls] = yield* Effect.all([Agent.resume(agent, approved), MockModel.calls]).pipe(
        Effect.provide(handlers),
        Effect.provide(model("Opened."))
      )
      assert.deepStrictEqual(texts(last), ["Hello", "", "Hurry", "Opened."])
      assert.deepStrictEqual(calls[0]?.request.messages.map(({ role }) => role), ["user", "assistant", "tool", "user"])
    }))

  it.effect("runs what was approved meanwhile before the model reads the words", () =>
    Effect.gen(function*() {
      const awaiting = yield* run(guarded)
      const approved = yield* Effect.fromResult(AgentState.approve(awaiting, "g"))
      const last = yield* goOn(approved, "Hurry", "Opened.")
      assert.deepStrictEqual(texts(last), ["Hello", "", "Hurry", "Opened."])
      assert.strictEqual(last.status._tag, "Complete")
    }))
})

describe("Agent.runMultiTurn", () => {
  it.effect("runs inputs one after the other in one conversation", () =>
    Effect.gen(function*() {
      const state = yield* Agent.runMultiTurn(agent, ["One", [Conversation.text("Two")], "Three"])
      assert.deepStrictEqual(texts(state), ["One", "1", "Two", "", "2", "Three", "3"])
      assert.deepStrictEqual([state.initialQuery, state.steps, state.run.steps], ["One", 4, 1])
    }).pipe(Effect.provide(handlers), Effect.provide(model("1", look, "2", "3"))))

  it.effect("stops at the first failure, with the state of then", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(Agent.runMultiTurn(agent, ["One", "", "Three"]))
      assert.strictEqual(error.reason._tag, "InputRejected")
      assert.deepStrictEqual(texts(error.state), ["One", "1"])
    }).pipe(Effect.provide(handlers), Effect.provide(model("1"))))
})

describe("Agent.settle", () => {
  it.effect("gives a failure as a state, from an input or a state", () =>
    Effect.gen(function*() {
      const strict = Agent.make("clerk", { toolkit: Tools, stopWhen: StopWhen.maxSteps(1) })
      const failed = yield* Agent.settle(strict, "Hello")
      assert.isTrue(failed.status._tag === "Failed" && failed.status.error.tag === "StepLimitReached")
      const again = yield* Agent.settle(strict, AgentState.reopen(failed))
      assert.deepStrictEqual(again, failed)
    }).pipe(Effect.provide(handlers), Effect.provide(model(look))))
})

describe("Agent.resume", () => {
  it.effect("gives back a state that has ended, and asks nobody", () =>
    Effect.gen(function*() {
      const complete = yield* run("Hi")
      const failed = yield* run(MockResponse.toolCall("look", {}, { id: "a" }), MockResponse.all())
      const limited = yield* Agent.settle(Agent.make("clerk", { stopWhen: StopWhen.maxSteps(0) }), "Hello").pipe(
        Effect.provide(model())
      )
      for (const state of [complete, failed, limited]) {
        assert.deepStrictEqual(
          yield* Agent.resume(agent, state).pipe(Effect.provide(handlers), Effect.provide(model())),
          state
        )
        assert.strictEqual(
          yield* Agent.step(agent, state).pipe(Effect.provide(handlers), Effect.provide(model())),
          state
        )
      }
    }))

  it.effect("gives back a state that awaits approval", () =>
    Effect.gen(function*() {
      const awaiting = yield* run(guarded)
      assert.deepStrictEqual(
        yield* Agent.resume(agent, awaiting).pipe(Effect.provide(handlers), Effect.provide(model())),
        awaiting
      )
    }))

  it.effect("goes on with a reopened failure of its model by asking again", () =>
    Effect.gen(function*() {
      const failed = yield* run(
        look,
        MockResponse.fail(new AiError.InternalProviderError({ description: "overloaded" }))
      )
      assert.isTrue(failed.status._tag === "Failed" && failed.status.error.step === 1)
      const reopened = AgentState.reopen(failed)
      assert.strictEqual(reopened.status._tag, "InProgress")
      const last = yield* Agent.resume(agent, reopened).pipe(Effect.provide(handlers), Effect.provide(model("Seen.")))
      assert.deepStrictEqual([last.status._tag, last.run.iteration, AgentState.text(last)], ["Complete", 2, "Seen."])
      assert.strictEqual(AgentState.reopen(last).status._tag, "Complete")
    }))
})

/** The reason for which a state can't go on, of an error whose state is failed and otherwise as it was. */
const mismatchOf = Effect.fnUntraced(function*(state: AgentState.AgentState) {
  const error = yield* Effect.flip(Agent.resume(agent, state)).pipe(Effect.provide(handlers), Effect.provide(model()))
  assert.isTrue(error.state.status._tag === "Failed" && error.state.status.error.tag === error.reason._tag)
  assert.deepStrictEqual({ ...error.state, status: state.status }, { ...state, run: error.state.run })
  const stepped = yield* Effect.flip(Agent.step(agent, state)).pipe(Effect.provide(handlers), Effect.provide(model()))
  assert.deepStrictEqual(stepped.reason, error.reason)
  const events = yield* Agent.stream(agent, state).pipe(
    Stream.catch(() => Stream.empty),
    Stream.runCollect,
    Effect.provide(handlers),
    Effect.provide(model())
  )
  assert.deepStrictEqual(events.map(({ _tag }) => _tag), ["RunStarted", "RunFailed"])
  return error.reason
})

describe("A state that doesn't fit", () => {
  it.effect("is of another agent", () =>
    Effect.gen(function*() {
      const state = AgentState.ask(AgentState.make("somebody"), "Hello", 0)
      assert.deepStrictEqual(
        yield* mismatchOf(state),
        new AgentError.AgentMismatch({ agent: "clerk", missing: "agent", wanted: "somebody", available: ["clerk"] })
      )
    }))

  it.effect("has a mode that the agent doesn't have", () =>
    Effect.gen(function*() {
      const asked = AgentState.ask(AgentState.make("clerk"), "Hello", 0)
      const research: AgentState.ModeFrame = {
        name: "research",
        isolation: "none",
        params: {},
        values: {},
        enteredAt: 0,
        turns: 0,
        before: {}
      }
      const state = { ...asked, modes: [research] }
      assert.deepStrictEqual(
        yield* mismatchOf(state),
        new AgentError.AgentMismatch({ agent: "clerk", missing: "mode", wanted: "research", available: [] })
      )
    }))

  it.effect("has a call of a tool that is gone: approved, awaiting, or answered by an agent", () =>
    Effect.gen(function*() {
      const Old = Toolkit.make(Tool.make("old", { success: Schema.String, needsApproval: true }))
      const before = Agent.make("clerk", { toolkit: Old })
      const awaiting = yield* Agent.run(before, "Hello").pipe(
        Effect.provide(Old.toLayer({ old: () => Effect.succeed("old") })),
        Effect.provide(model(MockResponse.toolCall("old", {}, { id: "1" })))
      )
      const approved = yield* Effect.fromResult(AgentState.approve(awaiting, "1"))
      const child = AgentState.ask(AgentState.make("helper"), "Help", 0)
      const delegated = {
        ...awaiting,
        conversation: Conversation.updateCall(awaiting.conversation, "1", { _tag: "Delegated", child })
      }
      for (const state of [awaiting, approved, delegated]) {
        assert.deepStrictEqual(
          yield* mismatchOf(state),
          new AgentError.AgentMismatch({
            agent: "clerk",
            missing: "tool",
            wanted: "old",
            available: ["look", "guarded"]
          })
        )
      }
    }))

  it.effect("may have a pending call of a tool that never was: the model is told", () =>
    Effect.gen(function*() {
      const asked = AgentState.ask(AgentState.make("clerk"), "Hello", 0)
      const conversation = Conversation.append(asked.conversation, {
        _tag: "Assistant",
        agent: "clerk",
        parts: [{ _tag: "Call", id: "1", name: "never", params: {}, state: { _tag: "Pending" } }],
        usage: {},
        finishReason: "tool-calls"
      })
      const state = { ...asked, conversation, status: AgentStatus.waitingForTools }
      const last = yield* Agent.resume(agent, state).pipe(Effect.provide(handlers), Effect.provide(model("Sorry.")))
      assert.strictEqual(AgentState.text(last), "Sorry.")
    }))
})

it.effect("An agent's functions take the agent first or last", () =>
  Effect.gen(function*() {
    const state = yield* agent.pipe(Agent.run("Hello", { systemMessage: "Be kind." }))
    assert.strictEqual(state.systemMessage, "Be kind.")
    const next = yield* agent.pipe(Agent.continueConversation(state, "Again"))
    const events = yield* agent.pipe(Agent.stream("And again", { state: next }), Stream.runCollect)
    const end = events[events.length - 1]
    assert.isTrue(end?._tag === "RunCompleted")
    const last = end?._tag === "RunCompleted" ? end.state : next
    assert.deepStrictEqual(texts(last), ["Hello", "1", "Again", "2", "And again", "3"])
    assert.deepStrictEqual(yield* agent.pipe(Agent.resume(last)), last)
    assert.deepStrictEqual(yield* agent.pipe(Agent.settle(last)), last)
    assert.strictEqual(yield* agent.pipe(Agent.step(last)), last)
    assert.deepStrictEqual(AgentState.output(agent)(last), Result.succeed("3"))
  }).pipe(Effect.provide(handlers), Effect.provide(model("1", "2", "3"))))
