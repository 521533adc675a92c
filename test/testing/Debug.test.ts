import { assert, describe, it } from "@effect/vitest"
import { Effect, Logger, Stream } from "effect"
import { Agent } from "troupe"
import { MockModel, MockResponse } from "troupe/testing"
import { ask, Tools } from "./ask.ts"
import { as, defectOf, overloaded } from "./outcome.ts"

const lines = (handler: MockModel.Handler, ...prompts: ReadonlyArray<string>) =>
  Effect.gen(function*() {
    const written: Array<string> = []
    const layer = MockModel.layer(MockModel.debug(handler, (line) => void written.push(line)))
    yield* Effect.forEach(prompts, (prompt) => Effect.exit(as("triage")(ask(prompt)))).pipe(Effect.provide(layer))
    return written
  })

describe("MockModel.debug", () => {
  it.effect("says what came in, which handler with which rule or state answered, and what went out", () =>
    Effect.gen(function*() {
      const isNews = (request: MockModel.MockRequest) => request.lastUserText === "news"
      const machine = MockModel.stateMachine({
        initial: "calm",
        states: { calm: { respond: "calm", defaultNext: "upset" }, upset: { respond: () => Effect.fail(overloaded) } }
      })
      const handler = MockModel.byAgent({
        triage: MockModel.firstOf(
          MockModel.conditional(
            MockModel.when(/weather/, MockModel.queue(MockResponse.toolCall("get_weather", { city: "Paris" }))),
            MockModel.when(isNews, function newsOf() {
              return MockResponse.withFinishReason("Nothing new", "length")
            })
          ),
          machine
        )
      })
      assert.deepStrictEqual(yield* lines(handler, "weather", "news", "a", "b"), [
        "request 1 of desk/triage: user says \"weather\" | agent \"triage\" > handler 1 of 2 > "
        + "case 1. lastUserText matches /weather/ > queue 1 of 1 | calls get_weather({\"city\":\"Paris\"})",
        "request 2 of desk/triage: user says \"news\" | agent \"triage\" > handler 1 of 2 > case 2. isNews > "
        + "function newsOf | \"Nothing new\", finishes for length",
        "request 3 of desk/triage: user says \"a\" | agent \"triage\" > handler 2 of 2 > state \"calm\" > to \"upset\" | "
        + "\"calm\"",
        "request 4 of desk/triage: user says \"b\" | agent \"triage\" | fails with InternalProviderError: "
        + overloaded.message
      ])
    }))

  it.effect("says which repetition and which failure it is", () =>
    Effect.gen(function*() {
      const handler = MockModel.failTimes(1, overloaded, MockModel.repeat("ok", 1))
      const [first = "", second = ""] = yield* lines(handler, "a", "b")
      assert.include(first, " | failure 1 of 1 | fails with InternalProviderError")
      assert.include(second, " | repetition 1 | \"ok\"")
    }))

  it.effect("says why there is no answer, and what a handler died of", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* lines(MockModel.queue(() => "one"), "a", "b"), [
        "request 1 of desk/triage: user says \"a\" | queue 1 of 1 > function without a name | \"one\"",
        "request 2 of desk/triage: user says \"b\" | no answer: all 1 queued responses are used up"
      ])
      const broken = MockModel.make(function broken(): string {
        throw new TypeError("no such thing")
      })
      assert.deepStrictEqual(yield* lines(broken, "a"), [
        "request 1 of desk/triage: user says \"a\" | function broken | dies with TypeError: no such thing"
      ])
    }))

  it.effect("keeps to a line, however long and broken the texts are", () =>
    Effect.gen(function*() {
      const long = `${"word ".repeat(100)}\nand\tmore`
      const [line = ""] = yield* lines(MockModel.make(MockResponse.all(MockResponse.reasoning(long), long)), long)
      assert.notInclude(line, "\n")
      assert.isBelow(line.length, 400)
      assert.deepStrictEqual(yield* lines(MockModel.make("ok"), "a\n\n  b"), [
        "request 1 of desk/triage: user says \"a b\" | \"ok\""
      ])
    }))

  it.effect("says delays, failures, files, results of tools, and streams", () =>
    Effect.gen(function*() {
      const written: Array<string> = []
      const agent = Agent.make("asker", { toolkit: Tools })
      const handler = MockModel.queue(
        MockResponse.all(
          MockResponse.providerCall("search", { query: "a" }, "found"),
          MockResponse.toolCall("get_weather", { city: "Paris" }, { result: 22 })
        ),
        MockResponse.breakAfter(MockResponse.file("image/png", "AA=="), 1, overloaded)
      )
      yield* Agent.stream(agent, "Go").pipe(
        Stream.runDrain,
        Effect.exit,
        Effect.provide(MockModel.handlers(Tools)),
        Effect.provide(MockModel.layer(MockModel.debug(handler, (line) => void written.push(line))))
      )
      assert.deepStrictEqual(written, [
        "request 1 of asker, streamed: user says \"Go\" | queue 1 of 2 | "
        + "calls search({\"query\":\"a\"}), has \"found\" from search, calls get_weather({\"city\":\"Paris\"})",
        "request 2 of asker, streamed: get_weather gave 22 | queue 2 of 2 | "
        + "file, fails with InternalProviderError: \"Test.ask: Internal provider error: overloaded\" after 1 chunks"
      ])
    }))

  it.effect("writes to the logger unless it is told where, and changes nothing", () =>
    Effect.gen(function*() {
      const logged: Array<unknown> = []
      const logger = Logger.make(({ message }) => void logged.push(message))
      const layer = MockModel.layer(MockModel.debug(MockModel.queue("one")))
      yield* Effect.gen(function*() {
        assert.strictEqual((yield* ask("a")).text, "one")
        assert.instanceOf(yield* defectOf(ask("b")), MockModel.UnansweredRequest)
      }).pipe(Effect.provide(layer), Effect.provide(Logger.layer([logger])))
      assert.deepStrictEqual(logged.flat(), [
        "request 1: user says \"a\" | queue 1 of 1 | \"one\"",
        "request 2: user says \"b\" | no answer: all 1 queued responses are used up"
      ])
    }))
})
