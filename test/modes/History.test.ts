/** Which modes there are, and which were entered in a conversation. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import { Agent, AgentState, Handoff, Mode, ModeTransition, Session } from "troupe"
import { MockModel, MockResponse } from "troupe/testing"

const echo = Effect.provide(MockModel.layer(MockModel.make(({ lastUserText }) => `Re: ${lastUserText}`)))
const a = Mode.make("a", { enter: () => Effect.void })
const b = Mode.make("b", { description: "For more.", isolation: "config", invokable: true, enter: () => Effect.void })
const fork = Mode.make("fork", { isolation: "fork", enter: () => Effect.void })
const failing = Mode.make("failing", {
  isolation: "config",
  enter: () => Effect.andThen(Mode.within(Effect.void, b), Effect.fail("no"))
})
const agent = Agent.make("agent", { modes: [a, b] })
const inSession = Effect.provide(Session.layer(agent))
const now = Effect.all([Mode.name, Mode.previous, Mode.history])

describe("The list of modes", () => {
  it.effect("describes those of the agent, and those used alone while they are entered", () =>
    Effect.gen(function*() {
      const own = [
        { name: "a", isolation: "none" },
        { name: "b", description: "For more.", isolation: "config", toolName: "enter_b_mode" }
      ] as const
      assert.deepStrictEqual(yield* Mode.list, own)
      assert.deepStrictEqual(yield* Mode.within(Mode.list, fork), [...own, { name: "fork", isolation: "fork" }])
      let inRun: ReadonlyArray<Mode.Listed> = []
      yield* Agent.run(agent, "Hello").pipe(
        Agent.observe(() => Effect.orDie(Effect.map(Mode.list, (list) => void (inRun = list))))
      )
      assert.deepStrictEqual(inRun, own)
    }).pipe(inSession, echo))
})

describe("The history of modes", () => {
  it.effect("names what was entered, in order, and the previous mode is the one before that on top", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* now, [undefined, undefined, []])
      yield* Effect.gen(function*() {
        assert.deepStrictEqual(yield* now, ["a", undefined, ["a"]])
        assert.deepStrictEqual(yield* Mode.within(now, b), ["b", "a", ["a", "b"]])
        assert.deepStrictEqual(yield* now, ["a", undefined, ["a", "b"]])
        assert.deepStrictEqual(yield* Mode.within(now, fork), ["fork", "b", ["a", "b", "fork"]])
      }).pipe((self) => Mode.within(self, a))
      assert.deepStrictEqual(yield* now, [undefined, "fork", ["a", "b", "fork"]])
      const session = yield* Session.Session
      yield* session.enterMode("b")
      yield* session.schedule(ModeTransition.switch("a"))
      yield* session.call("Hello")
      assert.deepStrictEqual(yield* now, ["a", "b", ["a", "b", "fork", "b", "a"]])
    }).pipe(inSession, echo))

  it.effect("is the same for an agent that takes the modes over, and goes back with them", () => {
    const next = Agent.make("next", { modes: [a, b] })
    const first = Agent.make("first", { modes: [a, b], handoffs: [Handoff.to(next, { carryModes: true })] })
    return Effect.gen(function*() {
      const session = yield* Session.Session
      yield* session.enterMode("a")
      yield* session.call("Hello")
      yield* session.enterMode("b")
      const state = yield* session.call("Go")
      assert.strictEqual(state.agent, "next")
      assert.deepStrictEqual(yield* now, ["b", "a", ["a", "b"]])
      assert.deepStrictEqual(AgentState.forkAt(state, 1).modeHistory, ["a"])
    }).pipe(
      Effect.provide(Session.layer(first)),
      Effect.provide(MockModel.layer(MockModel.queue("Hi.", MockResponse.toolCall("handoff_to_next", {}), "Done.")))
    )
  })

  it.effect("has nothing of a set-up that failed, nor of modes that going back undoes", () =>
    Effect.gen(function*() {
      const session = yield* Session.Session
      yield* Effect.exit(Mode.within(Effect.void, failing))
      assert.notProperty(yield* session.state, "modeHistory")
      yield* session.enterMode("a")
      const before = yield* session.state
      yield* Effect.exit(Mode.within(Effect.void, failing))
      assert.deepStrictEqual(yield* session.state, before)
      yield* session.call("Hello")
      yield* session.enterMode("b")
      assert.deepStrictEqual((yield* session.state).modeHistory, ["a", "b"])
      assert.deepStrictEqual(AgentState.forkAt(yield* session.state, 1).modeHistory, ["a"])
    }).pipe(inSession, echo))

  it.effect("is of the last hundred, and whole again when a set-up fails that entered others", () =>
    Effect.gen(function*() {
      const session = yield* Session.Session
      for (let n = 0; n < 60; n++) {
        yield* Mode.within(Effect.void, a)
        yield* Mode.within(Effect.void, b)
      }
      yield* session.enterMode("a")
      const before = yield* session.state
      assert.deepStrictEqual(
        [before.modeHistory, yield* Mode.previous],
        [Array.from({ length: 100 }, (_, at) => at % 2 === 0 ? "b" : "a"), "b"]
      )
      const busy = Mode.make("busy", {
        enter: () => Effect.andThen(Effect.repeat(Mode.within(Effect.void, b), { times: 120 }), Effect.fail("no"))
      })
      yield* Effect.exit(Mode.within(Effect.void, busy))
      assert.deepStrictEqual(yield* session.state, before)
      for (let n = 0; n < 120; n++) yield* Mode.within(Effect.void, b)
      assert.deepStrictEqual(yield* now, ["a", "b", Array.from({ length: 100 }, () => "b")])
      yield* session.exitMode()
      assert.deepStrictEqual(yield* Mode.previous, "b")
    }).pipe(inSession, echo))

  it.effect("leaves the state as large as it was in a session of 10,000 changes", () =>
    Effect.gen(function*() {
      const session = yield* Session.Session
      const size = Effect.map(session.state, (state) => JSON.stringify(AgentState.toJson(state)).length)
      const change = (times: number) =>
        Effect.forEach(Array.from({ length: times / 2 }), () => Mode.within(Effect.void, b), { discard: true })
      yield* session.enterMode("a")
      yield* change(1000)
      const before = yield* size
      yield* change(9000)
      assert.strictEqual(yield* size, before)
    }).pipe(inSession, echo))

  it.effect("is stored, and isn't longer where a mode is set up again", () =>
    Effect.gen(function*() {
      const json = yield* Effect.scoped(Effect.gen(function*() {
        const session = yield* Session.make(agent)
        yield* session.enterMode("a")
        return JSON.stringify(AgentState.toJson(yield* session.enterMode("b")))
      }))
      const session = yield* Session.make(agent, { state: Result.getOrThrow(AgentState.fromJson(JSON.parse(json))) })
      yield* session.call("Hello")
      assert.deepStrictEqual(yield* Effect.provideService(now, Mode.Host, session), ["b", "a", ["a", "b"]])
    }).pipe(Effect.scoped, echo))
})
