/** Modes that are entered while they are on top already. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { Tool, Toolkit } from "effect/ai"
import { Agent, AgentState, Mode, ModeTransition, Session } from "troupe"
import { MockModel, MockResponse } from "troupe/testing"
import { watch } from "../agent/watch.ts"
import { ends, reasonOf, stackOf } from "./sent.ts"

const echo = Effect.provide(MockModel.layer(MockModel.make(({ lastUserText }) => `Re: ${lastUserText}`)))
const other = Mode.make("other", { enter: () => Effect.void })
const Push = Toolkit.make(Tool.make("push", { success: Schema.String }))

/** A mode that stays while it is on top, and a record of its ways in and out. */
const staying = () => {
  const log: Array<string> = []
  const mode = Mode.make("m", {
    whenOnTop: "stay",
    params: Schema.Struct({ n: Schema.Int }),
    enter: ({ n }) => Effect.sync(() => void log.push(`+${n}`)),
    exit: () => Effect.sync(() => void log.push("-")),
    recover: () => Effect.succeed("recovered")
  })
  return { log, mode }
}

describe("A mode that stays while it is on top", () => {
  it.effect("isn't entered once more, and is left by whoever entered it first", () =>
    Effect.gen(function*() {
      const { log, mode } = staying()
      const session = yield* Session.make(Agent.make("agent", { modes: [mode] }))
      yield* Effect.gen(function*() {
        const before = yield* session.state
        assert.deepStrictEqual(yield* Mode.within(Mode.stack, mode, { n: 2 }), ["m"])
        yield* Effect.scoped(Mode.enter(mode, { n: 3 }))
        assert.strictEqual(yield* session.enterMode("m", { n: 4 }), before)
        assert.strictEqual(yield* Effect.flip(Mode.within(Effect.fail("body"), mode, { n: 5 })), "body")
        assert.strictEqual(reasonOf(yield* Effect.flip(session.enterMode("m", {})))._tag, "ParamsRejected")
        assert.strictEqual(yield* session.state, before)
        assert.deepStrictEqual(yield* Mode.within(Mode.within(Mode.stack, mode, { n: 6 }), other), ["m", "other", "m"])
      }).pipe(
        (self) => Mode.within(self, mode, { n: 1 }),
        Effect.provideService(Mode.Host, session)
      )
      assert.deepStrictEqual(log, ["+1", "+6", "-", "-"])
      assert.deepStrictEqual((yield* session.state).modes, [])
    }).pipe(Effect.scoped, echo))

  it.effect("lets its own set-up and clean-up enter it, each time that they run", () =>
    Effect.gen(function*() {
      const mode: Mode.Mode<"m", {}, Mode.ModeError> = Mode.make("m", {
        whenOnTop: "stay",
        enter: (): Effect.Effect<void, Mode.ModeError> => Effect.orDie(Mode.enter(mode) as Effect.Effect<void>),
        exit: (): Effect.Effect<void, Mode.ModeError> =>
          Effect.orDie(Mode.within(Effect.void, mode) as Effect.Effect<void>)
      })
      const agent = Agent.make("agent", { modes: [mode] })
      const state = yield* Effect.scoped(Effect.flatMap(Session.make(agent), (session) => session.enterMode("m")))
      assert.deepStrictEqual(stackOf(state), ["m"])
      const again = yield* Session.make(agent, { state })
      assert.deepStrictEqual(stackOf(yield* again.call("Hello")), ["m"])
      assert.deepStrictEqual(stackOf(yield* ends(again.exitMode())), [])
    }).pipe(Effect.scoped, echo))

  it.effect("takes a move on top of it as done, and one in its place anew", () =>
    Effect.gen(function*() {
      const { log, mode } = staying()
      const session = yield* Session.make(Agent.make("agent", { modes: [mode] }))
      yield* session.enterMode("m", { n: 1 })
      yield* session.schedule(ModeTransition.push("m", { n: 2 }))
      const state = yield* session.call("Hello")
      assert.deepStrictEqual(stackOf(state), ["m"])
      assert.notProperty(state, "transition")
      assert.strictEqual(AgentState.text(state), "Re: Hello")
      yield* session.schedule(ModeTransition.switch("m", { n: 3 }))
      assert.deepStrictEqual((yield* session.call("Hello")).modes.map(({ params }) => params), [{ n: 3 }])
      assert.deepStrictEqual(log, ["+1", "-", "+3"])
    }).pipe(Effect.scoped, echo))

  it.effect("takes a move as done that a tool asks for in a run", () =>
    Effect.gen(function*() {
      const { log, mode } = staying()
      const agent = Agent.make("agent", { modes: [mode], toolkit: Push })
      const { events, exit } = yield* watch(
        Effect.gen(function*() {
          const session = yield* Session.make(agent)
          yield* session.enterMode("m", { n: 1 })
          return yield* session.call("Hello")
        })
      )
      const state = yield* exit
      assert.deepStrictEqual(stackOf(state), ["m"])
      assert.notProperty(state, "transition")
      assert.strictEqual(AgentState.text(state), "Done.")
      assert.deepStrictEqual(log.slice(0, 2), ["+1"])
      assert.lengthOf(events.filter(({ _tag }) => _tag === "ModeEntering"), 1)
    }).pipe(
      Effect.scoped,
      Effect.provide(
        Push.toLayer({ push: () => Effect.orDie(Effect.as(Mode.schedule(ModeTransition.push("m", { n: 2 })), "ok")) })
      ),
      Effect.provide(MockModel.layer(MockModel.queue(MockResponse.toolCall("push", {}), "Done.")))
    ))

  it.effect("is set up as often as a state says that it was entered", () =>
    Effect.gen(function*() {
      const { log, mode } = staying()
      const twice = Mode.make("m", { params: Schema.Struct({ n: Schema.Int }), enter: () => Effect.void })
      const state = yield* Effect.scoped(Effect.gen(function*() {
        const session = yield* Session.make(Agent.make("agent", { modes: [twice] }))
        yield* session.enterMode("m", { n: 1 })
        return yield* session.enterMode("m", { n: 2 })
      }))
      const session = yield* Session.make(Agent.make("agent", { modes: [mode] }), { state })
      assert.deepStrictEqual(stackOf(yield* session.call("Hello")), ["m", "m"])
      assert.deepStrictEqual(log, ["+1", "+2"])
    }).pipe(Effect.scoped, echo))

  it("is made with one of two words", () => {
    assert.throws(() => Mode.make("m", { enter: () => Effect.void, whenOnTop: "never" as never }), /"whenOnTop"/)
  })
})
