import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { AiError, LanguageModel } from "effect/ai"
import { MockModel, MockProvider, MockResponse } from "../../src/testing/index.ts"
import { ask, say } from "./ask.ts"
import { as, defectOf, overloaded, reasonOf } from "./outcome.ts"

class Greeting extends Context.Service<Greeting, string>()("test/Greeting") {}

const reply = (request: MockModel.MockRequest) => `${request.callCount}: ${request.lastUserText}`

describe("MockModel.make", () => {
  it.effect("takes a text, a response, a function or an Effect", () =>
    Effect.gen(function*() {
      const handlers = [
        MockModel.make("text"),
        MockModel.make(MockResponse.text("response")),
        MockModel.make(reply),
        MockModel.make(Effect.succeed("effect")),
        MockModel.make(Effect.fn(function*(request: MockModel.MockRequest) {
          return `${yield* Greeting}, ${request.lastUserText}`
        }))
      ]
      const said = yield* Effect.forEach(handlers, (handler) => Effect.provide(say("you"), MockModel.layer(handler)))
      assert.deepStrictEqual(said, ["text", "response", "1: you", "effect", "Hello, you"])
    }).pipe(Effect.provideService(Greeting, "Hello")))

  it.effect("asks an Effect anew each time", () =>
    Effect.gen(function*() {
      let count = 0
      const layer = MockModel.layer(MockModel.make(Effect.sync(() => `${++count}`)))
      assert.deepStrictEqual(yield* Effect.provide(Effect.all([say(), say()]), layer), ["1", "2"])
    }))

  it.effect("dies of what is neither text nor response, and says what it was", () =>
    Effect.gen(function*() {
      for (const wrong of [undefined, null, 42, { role: "assistant" }, Promise.resolve("later")]) {
        const layer = MockModel.layer(MockModel.make((): never => wrong as never))
        const defect = yield* defectOf(Effect.provide(ask(), layer))
        assert.instanceOf(defect, TypeError)
        assert.match((defect as Error).message, /^A handler answered with .+, which is neither a text nor a response$/)
      }
    }))

  it.effect("counts the requests of its layer, those that fail too", () =>
    Effect.gen(function*() {
      const handler = MockModel.make((request) => request.callCount === 1 ? Effect.fail(overloaded) : reply(request))
      yield* Effect.gen(function*() {
        assert.strictEqual(yield* Effect.flip(ask()), overloaded)
        assert.strictEqual(yield* say("again"), "2: again")
      }).pipe(Effect.provide(MockModel.layer(handler)))
    }))

  it.effect("has a request on record and counted that it throws at", () =>
    Effect.gen(function*() {
      const bug = new Error("broken")
      const handler = MockModel.make((request) => {
        if (request.callCount === 1) throw bug
        return reply(request)
      })
      yield* Effect.gen(function*() {
        assert.strictEqual(yield* defectOf(ask("first")), bug)
        assert.strictEqual(yield* say("second"), "2: second")
        const calls = yield* MockModel.calls
        assert.deepStrictEqual(calls.map(({ request, response }) => [request.lastUserText, response !== undefined]), [
          ["first", false],
          ["second", true]
        ])
      }).pipe(Effect.provide(MockModel.layer(handler)))
    }))
})

describe("MockModel.queue", () => {
  it.effect("gives functions their turn too", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* Effect.all([say("a"), say("b"), say("c")]), ["one", "2: b", "Hello"])
    }).pipe(
      Effect.provide(MockModel.layer(MockModel.queue("one", reply, () => Greeting))),
      Effect.provideService(Greeting, "Hello")
    ))

  it.effect("has nothing to say without responses", () =>
    Effect.gen(function*() {
      const layer = MockModel.layer(MockModel.queue())
      assert.strictEqual(yield* reasonOf(Effect.provide(ask(), layer)), "nothing was queued")
    }))

  it.effect("gives requests at a time a response each, in the order in which they came", () =>
    Effect.gen(function*() {
      const said = yield* Effect.forEach(["a", "b", "c"], (prompt) => say(prompt), { concurrency: "unbounded" })
      assert.deepStrictEqual(said, ["1: a", "2: b", "3: c"])
    }).pipe(Effect.provide(MockModel.layer(MockModel.queue(reply, reply, reply)))))
})

describe("MockModel.repeat", () => {
  const thrice = Effect.all([say(), say(), say()])

  it.effect("gives a reply for ever, or so many times", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* Effect.provide(thrice, MockModel.layer(MockModel.repeat("a"))), ["a", "a", "a"])
      const twice = MockModel.layer(MockModel.repeat("a", 2))
      assert.strictEqual(yield* reasonOf(Effect.provide(thrice, twice)), "all 2 repetitions are used up")
    }))

  it.effect("begins a handler anew where it has nothing more to say", () =>
    Effect.gen(function*() {
      const handler = MockModel.repeat(MockModel.queue("a", "b"))
      const layer = MockModel.layer(handler)
      const said = yield* Effect.provide(Effect.all([thrice, thrice]), layer)
      assert.deepStrictEqual(said.flat(), ["a", "b", "a", "b", "a", "b"])
      const once = MockModel.layer(MockModel.repeat(MockModel.queue("a", "b"), 1))
      assert.deepStrictEqual(yield* Effect.provide(Effect.all([say(), say()]), Layer.fresh(once)), ["a", "b"])
      assert.strictEqual(yield* reasonOf(Effect.provide(thrice, once)), "all 1 repetitions are used up")
    }))

  it.effect("is drained once it was given so often, and says how often it is still to be", () =>
    Effect.gen(function*() {
      yield* say()
      assert.deepStrictEqual(((yield* defectOf(MockModel.assertDrained)) as MockModel.LeftOver).left, [
        "1 of 2 repetitions"
      ])
      yield* say()
      yield* MockModel.assertDrained
    }).pipe(Effect.provide(MockModel.layer(MockModel.repeat("a", 2)))))

  it.effect("gives up on a handler that has nothing to say from the start", () =>
    Effect.gen(function*() {
      const layer = MockModel.layer(MockModel.repeat(MockModel.queue()))
      assert.strictEqual(yield* reasonOf(Effect.provide(ask(), layer)), "nothing was queued")
    }))
})

describe("MockModel.failTimes", () => {
  it.effect("fails so often, and then answers", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* Effect.flip(ask()), overloaded)
      assert.strictEqual(yield* Effect.flip(ask()), overloaded)
      assert.strictEqual(yield* say("now"), "3: now")
      assert.strictEqual(yield* say("again"), "4: again")
    }).pipe(Effect.provide(MockModel.layer(MockModel.failTimes(2, overloaded, reply)))))

  it.effect("says why what comes then has no answer", () =>
    Effect.gen(function*() {
      yield* Effect.flip(ask())
      assert.strictEqual(yield* reasonOf(ask()), "nothing was queued")
    }).pipe(Effect.provide(MockModel.layer(MockModel.failTimes(1, overloaded, MockModel.queue())))))
})

describe("MockModel.assertDrained", () => {
  const handler = MockModel.byAgent({
    a: MockModel.queue("1", "2"),
    b: MockModel.failTimes(2, overloaded, "ok"),
    c: MockModel.repeat("again", 2),
    d: MockModel.transcript([{ role: "assistant", content: "Hi" }, { role: "user", content: "Bye" }]),
    e: MockModel.repeat(MockModel.queue("1", "2")),
    f: MockModel.make("any")
  })

  it.effect("dies of all that is left over, and says what and whose", () =>
    Effect.gen(function*() {
      yield* as("a")(say())
      yield* as("e")(say())
      const defect = yield* defectOf(MockModel.assertDrained)
      assert.instanceOf(defect, MockModel.LeftOver)
      assert.deepStrictEqual((defect as MockModel.LeftOver).left, [
        "1 of 2 queued responses of agent \"a\"",
        "2 of 2 failures of agent \"b\"",
        "2 of 2 repetitions of agent \"c\"",
        "1 of 1 responses of a transcript of agent \"d\""
      ])
      assert.match((defect as Error).message, /^Never asked for: 1 of 2 queued responses of agent "a"; /)
      yield* as("d")(say())
      assert.match(
        ((yield* defectOf(MockModel.assertDrained)) as Error).message,
        /1 entries at the end of a transcript/
      )
    }).pipe(Effect.provide(MockModel.layer(handler))))

  it.effect("is content once everything was said", () =>
    Effect.gen(function*() {
      yield* Effect.all([say(), say()])
      yield* MockModel.assertDrained
    }).pipe(Effect.provide(MockModel.layer(MockModel.queue("1", "2")))))

  it.effect("looks at its own layer alone", () =>
    Effect.gen(function*() {
      const handler = MockModel.queue("1")
      const [used, unused] = yield* Effect.all([
        Layer.build(Layer.fresh(MockModel.layer(handler))),
        Layer.build(Layer.fresh(MockModel.layer(handler)))
      ])
      yield* Effect.provide(say(), used)
      yield* Effect.provide(MockModel.assertDrained, used)
      assert.instanceOf(yield* defectOf(Effect.provide(MockModel.assertDrained, unused)), MockModel.LeftOver)
    }))
})

describe("MockModel.expectCalls", () => {
  it.effect("dies of another number of calls, and says which there were", () =>
    Effect.gen(function*() {
      yield* MockModel.expectCalls(0)
      yield* as("a")(say("Hello"))
      yield* say("Hi")
      yield* MockModel.expectCalls(2)
      const defect = yield* defectOf(MockModel.expectCalls(1))
      assert.instanceOf(defect, MockModel.UnexpectedCalls)
      assert.strictEqual(
        (defect as Error).message,
        [
          "Expected 1 requests to the model, and there were 2",
          "  request 1 of desk/a: user says \"Hello\"",
          "  request 2: user says \"Hi\""
        ].join("\n")
      )
    }).pipe(Effect.provide(MockModel.layer(MockModel.repeat("ok")))))
})

describe("What isn't what a script is made of", () => {
  const text = "Hello" as never

  it("is named where it stands for a handler, a case or an error", () => {
    assert.throws(
      () => MockModel.layer(text),
      "The handler of `MockModel.layer` must be a handler: `MockModel.make` makes one of a reply; it is a string"
    )
    assert.throws(() => MockModel.byAgent({ triage: text }), "The handler of agent \"triage\" must be a handler")
    assert.throws(
      () => MockModel.firstOf(MockModel.queue(), text),
      "Handler 2 of `MockModel.firstOf` must be a handler"
    )
    assert.throws(
      () => MockProvider.make({ handler: (() => "Hello") as never }),
      "of a `MockProvider` must be a handler: `MockModel.make` makes one of a reply; it is a function"
    )
    assert.throws(() => MockModel.conditional(text), "Case 1 of `MockModel.conditional` must be")
    for (const condition of [text, undefined as never]) {
      assert.throws(
        () => MockModel.when(condition, "Hi"),
        /^The condition of `MockModel.when` must be .*; it is (a string|undefined)$/
      )
    }
    const error = new Error("overloaded") as never
    for (const make of [MockResponse.fail, (error: never) => MockModel.failTimes(1, error, "Hi")]) {
      assert.throws(() => make(error), "The error of a response must be an `AiError` or its reason; it is an object")
    }
  })

  it.effect("is named where it stands for a number of calls", () =>
    Effect.gen(function*() {
      const defect = yield* defectOf(MockModel.expectCalls(Number.NaN))
      assert.strictEqual((defect as Error).message, "\"expectCalls\" is NaN, not a whole number from 0 on or Infinity")
    }).pipe(Effect.provide(MockModel.layer(MockModel.queue()))))
})

describe("What makes no sense of a script", () => {
  const exitOf = (handler: MockModel.Handler) =>
    LanguageModel.generateText({ prompt: "Hello" }).pipe(
      Effect.provide(MockModel.layer(handler)),
      Effect.exit,
      Effect.map(String)
    )

  it.effect("is said, and counts for nothing else", () =>
    Effect.gen(function*() {
      const later = (() => Promise.resolve(false)) as never
      assert.include(yield* exitOf(MockModel.conditional(MockModel.when(later, "never"))), "neither true nor false")
      const expecting = MockModel.transcript([{ role: "user", content: later }, { role: "assistant", content: "Hi" }])
      assert.include(yield* exitOf(expecting), "neither true nor false")
      const failing = MockModel.make(() => Effect.fail("no" as never))
      assert.include(yield* exitOf(failing), `A handler failed with "no", which isn't an AiError`)
      for (const times of [NaN, -1, 1.5]) {
        const expected = "not a whole number from 0 on or Infinity"
        assert.throws(() => MockModel.repeat("Hi", times), `"repeat" is ${times}, ${expected}`)
        const failing = () => MockModel.failTimes(times, new AiError.UnknownError({}), "Hi")
        assert.throws(failing, `"failTimes" is ${times}, ${expected}`)
      }
      const unknown = [{ role: "developer", content: "Hi" }] as never
      assert.throws(() => MockModel.transcript(unknown), /Transcript entry 1 has the role "developer"/)
    }))
})
