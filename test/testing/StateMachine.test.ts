import { assert, describe, it } from "@effect/vitest"
import { Context, Effect } from "effect"
import { MockModel, MockResponse } from "../../src/testing/index.ts"
import { ask, say } from "./ask.ts"
import { as, defectOf, overloaded, reasonOf } from "./outcome.ts"

class Flag extends Context.Service<Flag, boolean>()("test/Flag") {}

const desk = MockModel.stateMachine({
  initial: "greeting",
  states: {
    greeting: {
      respond: "Hello! How can I help?",
      transitions: { weather: /weather/, capital: ({ lastUserText }) => lastUserText.includes("capital") }
    },
    weather: {
      respond: MockResponse.all("Let me check", MockResponse.toolCall("get_weather", {})),
      defaultNext: "weather_result"
    },
    weather_result: { respond: "It's sunny!", defaultNext: "greeting" },
    capital: { respond: "Which country?", defaultNext: "capital_answer" },
    capital_answer: { respond: ({ lastUserText }) => `The capital of ${lastUserText}`, defaultNext: "greeting" }
  }
})

describe("MockModel.stateMachine", () => {
  it.effect("answers with the state that it is in, and moves only then", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* say("What's the weather?"), "Hello! How can I help?")
      assert.deepStrictEqual(yield* MockModel.history(desk), ["greeting", "weather"])
      assert.strictEqual(yield* say("What's the weather?"), "Let me check")
      assert.strictEqual(yield* say("So?"), "It's sunny!")
      assert.strictEqual(yield* say("Tell me a capital"), "Hello! How can I help?")
      assert.strictEqual(yield* say("Any"), "Which country?")
      assert.strictEqual(yield* say("France"), "The capital of France")
      assert.deepStrictEqual(yield* MockModel.history(desk), [
        "greeting",
        "weather",
        "weather_result",
        "greeting",
        "capital",
        "capital_answer",
        "greeting"
      ])
    }).pipe(Effect.provide(MockModel.layer(desk))))

  it.effect("stays where no transition holds and there is no default, and tells of moves to the same state", () =>
    Effect.gen(function*() {
      const machine = MockModel.stateMachine({
        initial: "a",
        states: {
          a: { respond: "a", transitions: { a: /again/, b: () => Flag } },
          b: { respond: "b" }
        }
      })
      yield* Effect.gen(function*() {
        const before = yield* MockModel.history(machine)
        yield* say("nothing")
        assert.deepStrictEqual(yield* MockModel.history(machine), ["a"])
        yield* say("again")
        assert.deepStrictEqual(yield* MockModel.history(machine), ["a", "a"])
        yield* Effect.provideService(say("on"), Flag, true)
        yield* Effect.all([say(), say()])
        assert.deepStrictEqual(yield* MockModel.history(machine), ["a", "a", "b"])
        assert.deepStrictEqual(before, ["a"])
      }).pipe(Effect.provide(MockModel.layer(machine)), Effect.provideService(Flag, false))
    }))

  it.effect("tries transitions in the order in which they are written", () =>
    Effect.gen(function*() {
      yield* say("x")
      assert.strictEqual(yield* say(), "second")
    }).pipe(Effect.provide(MockModel.layer(MockModel.stateMachine({
      initial: "first",
      states: {
        first: { respond: "first", transitions: { second: /x/, third: /x/ } },
        third: { respond: "third" },
        second: { respond: "second" }
      }
    })))))

  it.effect("goes nowhere where its response or its condition fails", () =>
    Effect.gen(function*() {
      const bug = new Error("broken condition")
      const machine = MockModel.stateMachine({
        initial: "a",
        states: {
          a: {
            respond: ({ callCount }) => callCount === 1 ? Effect.fail(overloaded) : "a",
            transitions: {
              b: ({ callCount }) => {
                if (callCount === 2) throw bug
                return true
              }
            }
          },
          b: { respond: "b" }
        }
      })
      yield* Effect.gen(function*() {
        assert.strictEqual(yield* Effect.flip(ask()), overloaded)
        assert.strictEqual(yield* defectOf(ask()), bug)
        assert.deepStrictEqual(yield* MockModel.history(machine), ["a"])
        yield* say()
        assert.deepStrictEqual(yield* MockModel.history(machine), ["a", "b"])
      }).pipe(Effect.provide(MockModel.layer(machine)))
    }))

  it.effect("dies of a condition that returns a promise, and stays", () =>
    Effect.gen(function*() {
      const later = (): never => Promise.resolve(false) as never
      for (const condition of [later, () => Effect.sync(later)]) {
        const machine = MockModel.stateMachine({
          initial: "a",
          states: { a: { respond: "a", transitions: { b: condition } }, b: { respond: "b" } }
        })
        yield* Effect.gen(function*() {
          const defect = yield* defectOf(ask())
          assert.instanceOf(defect, TypeError)
          assert.include((defect as Error).message, "neither true nor false")
          assert.deepStrictEqual(yield* MockModel.history(machine), ["a"])
        }).pipe(Effect.provide(MockModel.layer(machine)))
      }
    }))

  it.effect("begins anew with each layer and agent, and keeps a history for each", () =>
    Effect.gen(function*() {
      const handler = MockModel.byAgent({ a: desk, b: desk })
      yield* Effect.gen(function*() {
        yield* as("b")(say("weather"))
        assert.deepStrictEqual(yield* MockModel.history(desk, "a"), ["greeting"])
        assert.deepStrictEqual(yield* MockModel.history(desk, "b"), ["greeting", "weather"])
        assert.deepStrictEqual(yield* MockModel.history(desk), ["greeting"])
      }).pipe(Effect.provide(MockModel.layer(handler)))
      assert.deepStrictEqual(yield* Effect.provide(MockModel.history(desk), MockModel.layer(desk)), ["greeting"])
    }))

  it.effect("has a history of its own beside another in one layer", () =>
    Effect.gen(function*() {
      const loop = (name: "a" | "b") =>
        MockModel.stateMachine({ initial: name, states: { [name]: { respond: name, defaultNext: name } } })
      const [a, b] = [loop("a"), loop("b")]
      const layer = MockModel.layer(MockModel.conditional(MockModel.when(/a/, a), MockModel.otherwise(b)))
      yield* Effect.gen(function*() {
        yield* Effect.all([say("b"), say("b"), say("a")])
        assert.deepStrictEqual(yield* MockModel.history(a), ["a", "a"])
        assert.deepStrictEqual(yield* MockModel.history(b), ["b", "b", "b"])
      }).pipe(Effect.provide(layer))
    }))

  it.effect("names the agents that it has histories for, if it has none for an agent", () =>
    Effect.gen(function*() {
      const messageFor = (handler: MockModel.Handler) =>
        Effect.map(
          defectOf(Effect.provide(MockModel.history(desk, "c"), MockModel.layer(handler))),
          (defect) => (defect as Error).message
        )
      assert.strictEqual(
        yield* messageFor(MockModel.byAgent({ a: desk, b: desk, c: MockModel.queue() })),
        "This state machine has no history for agent \"c\"; available: \"a\", \"b\""
      )
      assert.strictEqual(
        yield* messageFor(desk),
        "This state machine has one history for all agents, and none for agent \"c\" alone: leave the agent out"
      )
      assert.include(yield* messageFor(MockModel.repeat(desk)), "or has it only inside a `repeat`")
    }))

  it.effect("has no history in a model that isn't made of it, and no answer in a state that isn't there", () =>
    Effect.gen(function*() {
      const other = MockModel.layer(MockModel.queue())
      assert.strictEqual(
        ((yield* defectOf(Effect.provide(MockModel.history(desk), other))) as Error).message,
        "The mock model isn't made of this state machine, or has it only inside a `repeat`, which keeps no history"
      )
      const lost = MockModel.stateMachine({ initial: "b" as "a", states: { a: { respond: "a" } } })
      assert.strictEqual(
        yield* reasonOf(Effect.provide(ask(), MockModel.layer(lost))),
        "there is no state \"b\": there are \"a\""
      )
    }))
})
