/**
 * What a mode is entered with: what its schema declares, and nothing else, whoever enters it.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result, Schema } from "effect"
import { Tool, Toolkit } from "effect/ai"
import { Agent, AgentState, Mode, ModeTransition, Session } from "troupe"
import { MockModel, MockResponse } from "troupe/testing"
import { reasonOf } from "./sent.ts"

const answering = (...responses: ReadonlyArray<MockResponse.Input>) =>
  Effect.provide(MockModel.layer(MockModel.queue(...responses)))

/** What somebody may send, and what is declared of it. */
const smuggled = {
  topic: "quantum",
  filter: { since: 2020, owner: "mallory" },
  customer: "mallory",
  isAdmin: true
}
const declared = { topic: "quantum", filter: { since: 2020 } }

const m = Mode.make("m", {
  params: Schema.Struct({ topic: Schema.String, filter: Schema.Struct({ since: Schema.Int }) }),
  invokable: true,
  enter: () => Effect.void,
  exit: () => Effect.void
})
const bare = Mode.make("bare", { enter: () => Effect.void })

/** What a state keeps of its modes, and of a move that is asked for: nothing that isn't declared, in whatever key. */
const kept = ({ modes, transition }: AgentState.AgentState) => {
  assert.notMatch(JSON.stringify([modes, transition ?? null]), /mallory|isAdmin/)
  return modes.map(({ name, params, values }) => ({ name, params, values }))
}

const inM = [{ name: "m", params: declared, values: declared }]
const inBare = [{ name: "bare", params: {}, values: {} }]

describe("Parameters that aren't declared", () => {
  const agent = Agent.make("a", { modes: [m, bare] })

  it.effect("are dropped where the model enters", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(kept(yield* Agent.run(agent, "Hi")), inM)
    }).pipe(answering(MockResponse.toolCall("enter_m_mode", smuggled), "Hi.")))

  it.effect("are dropped where a program enters, alone or of the agent", () =>
    Effect.gen(function*() {
      const session = yield* Session.make(agent)
      const alone = Mode.make("alone", { params: Schema.Struct({ n: Schema.Int }), enter: () => Effect.void })
      const seen = yield* Effect.all([
        Mode.within(Mode.all, m, smuggled),
        Mode.within(Mode.all, alone, { n: 1, isAdmin: true } as { readonly n: number }),
        Mode.within(Mode.all, bare, { isAdmin: true } as {}),
        Effect.scoped(Effect.andThen(Mode.enter(m, smuggled), Mode.all))
      ]).pipe(Effect.provideService(Mode.Host, session))
      assert.deepStrictEqual(seen, [declared, { n: 1 }, {}, declared])
    }).pipe(Effect.scoped, answering()))

  it.effect("are dropped where the session enters by name", () =>
    Effect.gen(function*() {
      const session = yield* Session.make(agent)
      assert.deepStrictEqual(kept(yield* session.enterMode("m", smuggled)), inM)
      yield* session.exitMode()
      assert.deepStrictEqual(kept(yield* session.enterMode("bare", { isAdmin: true })), inBare)
      yield* session.exitMode()
      assert.deepStrictEqual(kept(yield* session.enterMode("bare", "text")), inBare)
    }).pipe(Effect.scoped, answering()))

  it.effect("are dropped of a move that somebody asks for, on top or in the place of another", () =>
    Effect.gen(function*() {
      const session = yield* Session.make(agent)
      yield* session.schedule(ModeTransition.push("m", smuggled))
      assert.deepStrictEqual(kept(yield* session.call("One")), inM)
      yield* session.schedule(ModeTransition.switch("bare", { isAdmin: true }))
      assert.deepStrictEqual(kept(yield* session.call("Two")), inBare)
    }).pipe(Effect.scoped, answering("Yes.", "Yes.")))

  it.effect("are dropped of a move that a tool or a clean-up asks for", () =>
    Effect.gen(function*() {
      const Move = Toolkit.make(Tool.make("move", { success: Schema.String }))
      const first = Mode.make("first", {
        enter: () => Effect.void,
        exit: () => Effect.succeed(ModeTransition.switch("m", smuggled))
      })
      const mover = Agent.make("mover", { toolkit: Move, modes: [m, first] })
      yield* Effect.gen(function*() {
        assert.deepStrictEqual(kept(yield* Agent.run(mover, "Hi")), inM)
        const session = yield* Session.make(mover)
        yield* session.enterMode("first")
        yield* session.exitMode()
        assert.deepStrictEqual(kept(yield* session.call("Hi")), inM)
      }).pipe(
        Effect.scoped,
        Effect.provide(Move.toLayer({
          move: () => Mode.schedule(ModeTransition.push("m", smuggled)).pipe(Effect.as("moved"), Effect.orDie)
        }))
      )
    }).pipe(answering(MockResponse.toolCall("move", {}), "Hi.", "Hi.")))

  it.effect("are dropped of a state that has them, and what the mode itself has set stays", () =>
    Effect.gen(function*() {
      const session = yield* Session.make(agent)
      const entered = yield* session.enterMode("m", declared)
      const [frame] = entered.modes
      const values = { ...smuggled, customer: "ada", note: "mine" }
      const stored = { ...entered, modes: [{ ...frame!, params: smuggled, values }] }
      const state = yield* Effect.fromResult(AgentState.fromJson(JSON.stringify(AgentState.toJson(stored))))
      const second = yield* Session.make(agent, { state })
      const own = { ...declared, customer: "ada", note: "mine" }
      assert.deepStrictEqual(kept(yield* second.state), [{ name: "m", params: declared, values: own }])
      assert.deepStrictEqual(yield* Effect.provideService(Mode.all, Mode.Host, second), own)
      const events = yield* second.call("Hi")
      assert.deepStrictEqual(events.modes, (yield* second.state).modes)
    }).pipe(Effect.scoped, answering("Hi.")))

  it.effect("are no settings either", () =>
    Effect.gen(function*() {
      const session = yield* Session.make(agent)
      const settings = { toolChoice: "none", isAdmin: true } as const
      assert.deepStrictEqual((yield* session.configure(settings)).settings, { toolChoice: "none" })
      const inside = yield* Mode.within(Effect.andThen(Mode.configure(settings), session.state), bare).pipe(
        Effect.provideService(Mode.Host, session)
      )
      assert.deepStrictEqual(inside.settings, { toolChoice: "none" })
    }).pipe(Effect.scoped, answering()))
})

describe("Settings", () => {
  it.effect("return to the agent's own if they are undefined, and stay as they are if they are missing", () =>
    Effect.gen(function*() {
      const models = { careful: MockModel.layer(MockModel.make(() => "Carefully.")) }
      const session = yield* Session.make(Agent.make("a").pipe(Agent.withModels(models)))
      yield* session.configure({ model: "careful", toolChoice: "none" })
      assert.strictEqual(AgentState.text(yield* session.call("One?")), "Carefully.")
      const state = yield* session.configure({ model: undefined })
      assert.deepStrictEqual(state.settings, { toolChoice: "none" })
      assert.deepStrictEqual(AgentState.fromJson(AgentState.toJson(state)), Result.succeed(state))
      assert.strictEqual(AgentState.text(yield* session.call("Two?")), "Two.")
    }).pipe(Effect.scoped, answering("Two.")))
})

describe("Parameters", () => {
  it.effect("are kept as the schema gives them, defaults included", () =>
    Effect.gen(function*() {
      const seen: Array<unknown> = []
      const trip = Mode.make("trip", {
        params: Schema.Struct({
          on: Schema.Date,
          days: Schema.Int.pipe(Schema.withDecodingDefaultKey(Effect.succeed(3)))
        }),
        enter: (params) => Effect.sync(() => seen.push(params))
      })
      const session = yield* Session.make(Agent.make("a", { modes: [trip] }))
      const state = yield* session.enterMode("trip", { on: "2026-05-01T00:00:00.000Z" })
      assert.deepStrictEqual(state.modes[0]?.values, { on: "2026-05-01T00:00:00.000Z", days: 3 })
      assert.deepStrictEqual(seen, [{ on: new Date("2026-05-01T00:00:00.000Z"), days: 3 }])
      const wrong = yield* Effect.flip(session.enterMode("trip", { on: 3 }))
      assert.strictEqual(reasonOf(wrong)._tag, "ParamsRejected")
      assert.isTrue(Result.isSuccess(AgentState.fromJson(AgentState.toJson(yield* session.state))))
    }).pipe(Effect.scoped, answering()))
})

describe("Parameters of a mode", () => {
  it.effect("belong to the state: nobody who gave or read them can change it", () =>
    Effect.gen(function*() {
      const Deep = Schema.Struct({ list: Schema.mutable(Schema.Array(Schema.mutable(Schema.Array(Schema.Int)))) })
      const seen: Array<{ readonly list: Array<Array<number>> }> = []
      const deep = Mode.make("deep", { params: Deep, enter: (params) => Effect.sync(() => void seen.push(params)) })
      const session = yield* Session.make(Agent.make("a", { modes: [deep] }))
      const given = { list: [[1]] }
      for (const enter of ["by name", "by the program"]) {
        if (enter === "by name") yield* session.enterMode("deep", given)
        else yield* Effect.provideService(Mode.enter(deep, given), Mode.Host, session)
        given.list[0]!.push(2)
        seen.pop()!.list[0]!.push(3)
        const all = yield* Effect.provideService(Mode.all, Mode.Host, session)
        const got = yield* Effect.provideService(Mode.get("list"), Mode.Host, session)
        for (const list of [all["list"], got] as unknown as ReadonlyArray<Array<Array<number>>>) {
          assert.throws(() => list[0]!.push(4), TypeError)
          assert.throws(() => list.push([4]), TypeError)
        }
        const { modes } = yield* session.state
        assert.deepStrictEqual(modes[modes.length - 1]?.values, { list: [[1]] })
        assert.deepStrictEqual(modes[modes.length - 1]?.params, { list: [[1]] })
        given.list[0]!.pop()
      }
    }).pipe(Effect.scoped, answering()))
})
