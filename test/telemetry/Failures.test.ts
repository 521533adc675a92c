/** What spans hold of failures and defects: their tags, and no text that may repeat what was said. */
import { assert, describe, it } from "@effect/vitest"
import { SpanStatusCode } from "@opentelemetry/api"
import { Effect, Schema, Stream } from "effect"
import { Tool, Toolkit } from "effect/ai"
import { Agent, ContextWindow, Guardrail, Mode } from "troupe"
import { MockModel, MockResponse } from "troupe/testing"
import { exported } from "./sdk.ts"

const secret = "my secret words"

class NoRoom extends Schema.TaggedError<NoRoom>("test/NoRoom")("NoRoom", { said: Schema.String }) {
  override get message() {
    return `no room for ${this.said}`
  }
}

const dying = () => Effect.die(new TypeError(secret))
const failing = () => Effect.fail(new NoRoom({ said: secret }))
const throwing = () => {
  throw new TypeError(secret)
}

const Tools = Toolkit.make(Tool.make("crash"), Tool.make("crash_with_fields"))
const handlers = Tools.toLayer({ crash: dying, crash_with_fields: () => Effect.die({ request: secret }) })

const { toolCall } = MockResponse
const mode = (enter: () => Effect.Effect<void, NoRoom>, exit: () => Effect.Effect<void, NoRoom>) =>
  Mode.make("quiet", { enter, exit, invokable: true })

const guarded = (check: () => Guardrail.Verdict<never> | Effect.Effect<Guardrail.Verdict<never>>) =>
  Agent.make("desk", { guardrails: { input: [Guardrail.make("look", check)] } })

type Case = readonly [
  agent: Agent.Agent<"desk", string, unknown, unknown>,
  span: string,
  tag: string,
  calls: ReadonlyArray<string>
]

const cases: Readonly<Record<string, Case>> = {
  "instructions that die": [Agent.make("desk", { instructions: dying }), "invoke_agent desk", "Defect", []],
  "a handler that dies": [Agent.make("desk", { toolkit: Tools }), "execute_tool crash", "Defect", ["crash"]],
  "a handler that dies of a record": [
    Agent.make("desk", { toolkit: Tools }),
    "execute_tool crash_with_fields",
    "Defect",
    ["crash_with_fields"]
  ],
  "a guardrail that throws": [guarded(throwing), "guardrail look", "Defect", []],
  "a guardrail that dies": [guarded(dying), "guardrail look", "Defect", []],
  "a mode that can't be entered": [
    Agent.make("desk", { modes: [mode(failing, () => Effect.void)] }),
    "enter_mode quiet",
    "NoRoom",
    ["enter_quiet_mode"]
  ],
  "a mode that dies": [
    Agent.make("desk", { modes: [mode(dying, () => Effect.void)] }),
    "enter_mode quiet",
    "Defect",
    ["enter_quiet_mode"]
  ],
  "a mode that can't be left": [
    Agent.make("desk", { modes: [mode(() => Effect.void, failing)] }),
    "exit_mode quiet",
    "NoRoom",
    ["enter_quiet_mode", "exit_current_mode"]
  ]
}

describe("The spans of", () => {
  for (const [what, [agent, name, tag, calls]] of Object.entries(cases)) {
    const model = () => MockModel.layer(MockModel.queue(...calls.map((call) => toolCall(call, {})), "Done."))
    const ways = { "at once": Agent.run(agent, secret), "streamed": Stream.runDrain(Agent.stream(agent, secret)) }
    const told = (way: keyof typeof ways) =>
      exported(ways[way] as Effect.Effect<unknown, unknown>).pipe(Effect.provide(handlers), Effect.provide(model()))

    it.effect(`${what} have its tag, and its text only with contents`, () =>
      Effect.gen(function*() {
        for (const way of ["at once", "streamed"] as const) {
          const { spans } = yield* told(way)
          const all = spans.map(({ attributes, events, status }) => JSON.stringify({ attributes, events, status }))
          assert.notInclude(all.join(""), secret, way)
          const failed = spans.find((span) => span.name === name)
          assert.strictEqual(failed?.attributes["error.type"], tag)
          assert.deepStrictEqual(failed?.status, { code: SpanStatusCode.ERROR, message: tag })
          const recorded = yield* Effect.provideService(told(way), Agent.RecordContent, true)
          assert.include(recorded.spans.find((span) => span.name === name)?.status.message, secret)
        }
      }))
  }

  it.effect("a summary that dies have its tag, and its text only with contents", () =>
    Effect.gen(function*() {
      const contextWindow = ContextWindow.make({ maxTurns: 2, strategy: ContextWindow.summarize(dying) })
      const run = exported(Agent.runMultiTurn(Agent.make("desk", { contextWindow }), ["One", "Two", "Three"])).pipe(
        Effect.provide(MockModel.layer(MockModel.make(() => "Hi")))
      )
      const failedIn = ({ spans }: Effect.Success<typeof run>) =>
        spans.find(({ name }) => name === "summarize_conversation desk")
      const failed = failedIn(yield* run)
      assert.strictEqual(failed?.attributes["error.type"], "Defect")
      assert.notInclude(JSON.stringify([failed?.status, failed?.events]), secret)
      assert.include(failedIn(yield* Effect.provideService(run, Agent.RecordContent, true))?.status.message, secret)
    }))

  it.effect("a model that dies have its tag, and its text only with contents", () =>
    Effect.gen(function*() {
      const model = MockModel.layer(MockModel.make(dying))
      for (
        const way of [Agent.run(Agent.make("desk"), secret), Stream.runDrain(Agent.stream(Agent.make("desk"), secret))]
      ) {
        const run = exported(way as Effect.Effect<unknown, unknown>).pipe(Effect.provide(model))
        const { spans } = yield* run
        assert.notInclude(spans.map(({ events, status }) => JSON.stringify({ events, status })).join(""), secret)
        const failed = spans.find(({ name }) => name.startsWith("chat"))
        assert.strictEqual(failed?.status.code, SpanStatusCode.ERROR)
        const recorded = yield* Effect.provideService(run, Agent.RecordContent, true)
        assert.include(recorded.spans.find(({ name }) => name.startsWith("chat"))?.status.message, secret)
      }
    }))

  it.effect("a defect have the places at which it happened", () =>
    Effect.gen(function*() {
      const { spans } = yield* exported(Agent.run(Agent.make("desk", { toolkit: Tools }), "Hi")).pipe(
        Effect.provide(handlers),
        Effect.provide(MockModel.layer(MockModel.queue(toolCall("crash", {}))))
      )
      for (const name of ["execute_tool crash", "invoke_agent desk"]) {
        const [event] = spans.find((span) => span.name === name)?.events ?? []
        assert.strictEqual(event?.attributes?.["exception.type"], "TypeError")
        assert.match(String(event?.attributes?.["exception.stacktrace"]), /^TypeError: Defect\n.*Failures\.test\.ts/s)
      }
    }))
})
