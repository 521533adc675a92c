import { assert, describe, it } from "@effect/vitest"
import { Cause, Context, Effect, Schema, Stream } from "effect"
import { type AiError, LanguageModel, Tool, Toolkit } from "effect/ai"
import { AgentState, HandoffPolicy } from "troupe"
import { MockModel, MockResponse } from "troupe/testing"

class Refused extends Schema.TaggedError<Refused>()("Refused", {}) {}

const Search = Tool.make("search", { parameters: Schema.Struct({ q: Schema.String }), success: Schema.Number })
const Fatal = Tool.make("fatal", { failure: Refused })
const Told = Tool.make("told", { failure: Refused, failureMode: "return" })
const Tools = Toolkit.make(Search, Fatal, Told)

const handlers = Tools.toLayer({
  search: (_, context) =>
    Effect.gen(function*() {
      yield* context.preliminary(0)
      yield* context.preliminary(1)
      return 2
    }),
  fatal: () => Effect.fail(new Refused()),
  told: () => Effect.fail(new Refused())
})

const policy = HandoffPolicy.compose(
  HandoffPolicy.explicit("billing"),
  HandoffPolicy.explicit("tech", { toolName: "call_tech", when: (state) => state.steps > 0 })
)

const intercepted = Effect.map(Tools, HandoffPolicy.intercept(policy, "triage"))

describe("HandoffPolicy.intercept", () => {
  it.effect("answers a handoff tool itself", () =>
    Effect.gen(function*() {
      const { handle } = yield* intercepted
      const context = { number: 7 }
      const results = yield* Stream.runCollect(
        yield* handle("handoff_to_billing", { reason: "an invoice", context }, "call-1")
      )
      const result = { handoff: "billing", ack: true as const, reason: "an invoice", context }
      assert.deepStrictEqual(results, [{ result, encodedResult: result, isFailure: false, preliminary: false }])
      const [bare] = yield* Stream.runCollect(yield* handle("handoff_to_billing", {}))
      assert.deepStrictEqual(bare?.result, { handoff: "billing", ack: true })
    }).pipe(Effect.provide(handlers)))

  it.effect("refuses parameters that don't decode as a toolkit does", () =>
    Effect.gen(function*() {
      const { handle } = yield* intercepted
      const cause = yield* Effect.flip(Effect.sandbox(handle("handoff_to_billing", { context: 7 })))
      const error = Cause.squash(cause) as AiError.AiError
      assert.strictEqual(error.reason._tag, "ToolParameterValidationError")
      assert.strictEqual(Context.get(Cause.annotations(cause), Toolkit.FailureOrigin), "parameters")
    }).pipe(Effect.provide(handlers)))

  it.effect("gives what the toolkit gives for every other tool", () =>
    Effect.gen(function*() {
      const toolkit = yield* Tools
      const { handle } = HandoffPolicy.intercept(toolkit, policy, "triage")
      const results = yield* Stream.runCollect(yield* handle("search", { q: "x" }, "call-1"))
      assert.deepStrictEqual(results, yield* Stream.runCollect(yield* toolkit.handle("search", { q: "x" }, "call-1")))
      assert.deepStrictEqual(results.map(({ preliminary }) => preliminary), [true, true, false])
      const [told] = yield* Stream.runCollect(yield* handle("told", {}))
      assert.isTrue(told?.isFailure)
      const error = yield* Effect.flip(Stream.runCollect(yield* handle("fatal", {})))
      assert.instanceOf(error, Refused)
      const wrong = yield* Effect.flip(handle("search", { q: 7 } as never))
      assert.strictEqual(wrong.reason._tag, "ToolParameterValidationError")
      const unknown = yield* Effect.flip(handle("nothing" as "search", { q: "x" }))
      assert.strictEqual(unknown.reason._tag, "ToolNotFoundError")
    }).pipe(Effect.provide(handlers)))

  it("hands the toolkit the call as it is", () => {
    const given: Array<unknown> = []
    const answer = Effect.succeed(Stream.empty)
    const toolkit = {
      tools: Tools.tools,
      handle: (...call: ReadonlyArray<unknown>) => {
        given.push(...call)
        return answer
      }
    }
    const { handle } = HandoffPolicy.intercept(toolkit, policy, "triage")
    const call = ["search", { q: "x" }, "call-1", { errors: "all" }] as const
    assert.strictEqual<unknown>(handle(...call), answer)
    assert.deepStrictEqual(given, [...call])
  })

  it.effect("offers the agent's handoffs beside the toolkit's own tools, which stay as they are", () =>
    Effect.gen(function*() {
      const toolkit = yield* Tools
      const names = (agent: string | AgentState.AgentState) =>
        Object.keys(HandoffPolicy.intercept(toolkit, policy, agent).tools)
      assert.deepStrictEqual(names("triage"), ["search", "fatal", "told", "handoff_to_billing", "call_tech"])
      assert.deepStrictEqual(names("billing"), ["search", "fatal", "told", "call_tech"])
      assert.deepStrictEqual(names(AgentState.make("triage")), ["search", "fatal", "told", "handoff_to_billing"])
      assert.strictEqual(HandoffPolicy.intercept(toolkit, policy, "triage").tools.search, Search)
      assert.deepStrictEqual(Object.keys(toolkit.tools), ["search", "fatal", "told"])
    }).pipe(Effect.provide(handlers)))

  it.effect("doesn't answer a handoff that isn't offered as the state is", () =>
    Effect.gen(function*() {
      const { handle } = HandoffPolicy.intercept(yield* Tools, policy, AgentState.make("triage"))
      const error = yield* Effect.flip(handle("call_tech" as "handoff_to_tech", {}))
      assert.strictEqual(error.reason._tag, "ToolNotFoundError")
    }).pipe(Effect.provide(handlers)))

  it.effect("refuses a toolkit that has a tool of a handoff's name", () =>
    Effect.gen(function*() {
      const Taken = Toolkit.make(Tool.make("handoff_to_billing"))
      const toolkit = yield* Effect.provide(Taken, Taken.toLayer({ handoff_to_billing: () => Effect.void }))
      assert.throws(() => HandoffPolicy.intercept(toolkit, policy, "triage"), HandoffPolicy.TakenToolName)
      assert.doesNotThrow(() => HandoffPolicy.intercept(toolkit, policy, "billing"))
    }))

  it.effect("serves a loop of one's own", () =>
    Effect.gen(function*() {
      const response = yield* LanguageModel.generateText({ prompt: "Hello", toolkit: intercepted })
      const results = response.toolResults.map(({ encodedResult, name }) => [name, encodedResult] as const)
      assert.sameDeepMembers(results, [
        ["search", 2],
        ["handoff_to_billing", { handoff: "billing", ack: true, reason: "an invoice" }]
      ])
    }).pipe(
      Effect.provide([
        handlers,
        MockModel.layer(MockModel.queue(MockResponse.all(
          MockResponse.toolCall("search", { q: "x" }),
          MockResponse.toolCall("handoff_to_billing", { reason: "an invoice" })
        )))
      ])
    ))
})
