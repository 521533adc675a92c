import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Fiber, Schema, Stream, type Tracer } from "effect"
import { AiError, Tool, Toolkit } from "effect/ai"
import { Agent, AgentError, Handoff, Mode } from "troupe"
import { MockModel, MockResponse } from "troupe/testing"
import { recorded, tree } from "./spans.ts"

const attributesOf = (spans: ReadonlyArray<Tracer.NativeSpan>, name: string) =>
  Object.fromEntries(spans.find((span) => span.name === name)?.attributes ?? [])

const hasEnded = (span: Tracer.Span) => span.status._tag === "Ended"

const Tools = Toolkit.make(
  Tool.make("look", {
    description: "Looks around",
    parameters: Schema.Struct({ at: Schema.String }),
    success: Schema.String
  }),
  Tool.make("break", { failure: Schema.String }),
  Tool.make("crash"),
  Tool.make("stuck")
)
const handlers = Tools.toLayer({
  look: ({ at }) => Effect.withSpan(Effect.succeed(`a secret in ${at}`), "inside"),
  break: () => Effect.fail("no"),
  crash: () => Effect.die("a bug"),
  stuck: () => Effect.never
})
const helper = Agent.make("helper", { toolkit: Tools })
const agent = Agent.make("desk", { description: "Helps", toolkit: Tools, agents: [Agent.asTool(helper)] })

const look = MockResponse.toolCall("look", { at: "the password" }, { id: "look-1" })

const model = MockModel.layer(MockModel.byAgent({
  desk: MockModel.queue(
    MockResponse.withUsage(MockResponse.all(look, MockResponse.toolCall("break", {})), { input: 10, output: 4 }),
    MockResponse.withUsage(MockResponse.toolCall("helper", { task: "help" }), { input: 20, output: 1 }),
    MockResponse.withUsage("A plain answer.", { input: 5, output: 2 })
  ),
  helper: MockModel.queue(MockResponse.withUsage(look, { input: 1, output: 1 }), "Helped.")
}))

describe("Spans", () => {
  it.effect("nest as agents, models and tools call each other, by OpenTelemetry's names", () =>
    Effect.gen(function*() {
      const { spans } = yield* recorded(Agent.run(agent, "A question"))
      assert.deepStrictEqual(tree(spans), [
        ["invoke_agent desk", undefined],
        ["chat", "invoke_agent desk"],
        ["execute_tool look", "invoke_agent desk"],
        ["inside", "execute_tool look"],
        ["execute_tool break", "invoke_agent desk"],
        ["chat", "invoke_agent desk"],
        ["execute_tool helper", "invoke_agent desk"],
        ["invoke_agent helper", "execute_tool helper"],
        ["chat", "invoke_agent helper"],
        ["execute_tool look", "invoke_agent helper"],
        ["inside", "execute_tool look"],
        ["chat", "invoke_agent helper"],
        ["chat", "invoke_agent desk"]
      ])
      assert.isTrue(spans.every(hasEnded))
      assert.deepStrictEqual(attributesOf(spans, "invoke_agent desk"), {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "desk",
        "gen_ai.agent.description": "Helps",
        "gen_ai.conversation.id": spans[0]?.attributes.get("gen_ai.conversation.id"),
        "gen_ai.response.finish_reasons": ["stop"],
        "troupe.status": "Complete",
        "troupe.steps": 5
      })
      assert.deepStrictEqual(attributesOf(spans, "execute_tool look"), {
        "gen_ai.conversation.id": spans[0]?.attributes.get("gen_ai.conversation.id"),
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.agent.name": "desk",
        "gen_ai.tool.name": "look",
        "gen_ai.tool.call.id": "look-1",
        "gen_ai.tool.type": "function",
        "gen_ai.tool.description": "Looks around"
      })
      assert.strictEqual(attributesOf(spans, "execute_tool break")["error.type"], "Failed")
    }).pipe(Effect.provide(handlers), Effect.provide(model)))

  it.effect("stand within the span of who runs the agent, streamed too", () =>
    Effect.gen(function*() {
      const { spans } = yield* recorded(Effect.withSpan(Stream.runDrain(Agent.stream(agent, "A question")), "request"))
      assert.deepStrictEqual(tree(spans).slice(0, 5), [
        ["request", undefined],
        ["invoke_agent desk", "request"],
        ["chat", "invoke_agent desk"],
        ["execute_tool look", "invoke_agent desk"],
        ["inside", "execute_tool look"]
      ])
      assert.isTrue(spans.every(hasEnded))
    }).pipe(Effect.provide(handlers), Effect.provide(model)))

  it.effect("stand within the run whose end leaves a mode", () =>
    Effect.gen(function*() {
      const mode = Mode.make("m", { invokable: true, enter: () => Effect.void })
      const agent = Agent.make("desk", { agents: [Agent.asTool(Agent.make("helper", { modes: [mode] }))] })
      const answers = MockModel.byAgent({
        desk: MockModel.queue(MockResponse.toolCall("helper", { task: "help" }), "Done."),
        helper: MockModel.queue(MockResponse.toolCall("enter_m_mode", {}), "Helped.")
      })
      const { spans } = yield* recorded(Agent.run(agent, "A question")).pipe(Effect.provide(MockModel.layer(answers)))
      assert.deepStrictEqual(tree(spans).filter(([name]) => name !== "chat"), [
        ["invoke_agent desk", undefined],
        ["execute_tool helper", "invoke_agent desk"],
        ["invoke_agent helper", "execute_tool helper"],
        ["enter_mode m", "invoke_agent helper"],
        ["exit_mode m", "invoke_agent helper"]
      ])
    }))

  it.effect("count the tokens of a run only where all are known", () =>
    Effect.gen(function*() {
      const usage = { input: 5, output: 3, cached: 0, reasoning: 2 }
      const tokens = (answer: MockResponse.MockResponse) =>
        recorded(Agent.run(Agent.make("desk"), "A question")).pipe(
          Effect.provide(MockModel.layer(MockModel.queue(answer))),
          Effect.map(({ spans }) =>
            Object.entries(attributesOf(spans, "invoke_agent desk")).filter(([name]) =>
              name.startsWith("gen_ai.usage.")
            )
          )
        )
      assert.deepStrictEqual(yield* tokens(MockResponse.withUsage("Hi", usage)), [
        ["gen_ai.usage.input_tokens", 5],
        ["gen_ai.usage.output_tokens", 3],
        ["gen_ai.usage.cache_read.input_tokens", 0],
        ["gen_ai.usage.reasoning.output_tokens", 2]
      ])
      assert.deepStrictEqual(yield* tokens(MockResponse.text("Hi")), [])
    }))

  it.effect("hold nothing of what was said unless they are asked to", () =>
    Effect.gen(function*() {
      const said = /password|question|plain answer|"no"|help/
      const contents = (spans: ReadonlyArray<Tracer.NativeSpan>) =>
        spans.flatMap((span) => [...span.attributes].filter(([key]) => !/name|description/.test(key)))
          .flatMap(([, value]) => typeof value === "string" ? [value] : [])
          .filter((value) => said.test(value))
      const plain = yield* recorded(Agent.run(agent, "A question")).pipe(Effect.provide(model))
      assert.deepStrictEqual(contents(plain.spans), [])
      const { spans } = yield* recorded(Agent.run(agent, "A question")).pipe(
        Effect.provideService(Agent.RecordContent, true),
        Effect.provide(model)
      )
      const desk = attributesOf(spans, "invoke_agent desk")
      assert.include(desk["gen_ai.input.messages"], "A question")
      assert.include(desk["gen_ai.output.messages"], "A plain answer.")
      const tool = attributesOf(spans, "execute_tool look")
      assert.deepStrictEqual(
        [tool["gen_ai.tool.call.arguments"], tool["gen_ai.tool.call.result"]],
        ["{\"at\":\"the password\"}", "\"a secret in the password\""]
      )
    }).pipe(Effect.provide(handlers)))

  it.effect("end with what ended them: a limit, a defect, an interruption", () =>
    Effect.gen(function*() {
      const failed = yield* recorded(Agent.run(agent, ""))
      assert.deepStrictEqual(attributesOf(failed.spans, "invoke_agent desk")["error.type"], "InputRejected")
      assert.isTrue(failed.spans.every(hasEnded))
      const crashed = yield* recorded(Agent.run(agent, "A question")).pipe(
        Effect.provide(MockModel.layer(MockModel.queue(MockResponse.toolCall("crash", {}))))
      )
      assert.isTrue(crashed.spans.every((span) => span.status._tag === "Ended"))
      const ends = crashed.spans.map(({ name, status }) => [
        name,
        status._tag === "Ended" && Exit.isFailure(status.exit) && Exit.hasDies(status.exit)
      ])
      assert.deepStrictEqual(ends, [
        ["invoke_agent desk", true],
        ["chat", false],
        ["execute_tool crash", true]
      ])
      assert.strictEqual(attributesOf(crashed.spans, "invoke_agent desk")["error.type"], "Defect")
      assert.strictEqual(attributesOf(crashed.spans, "execute_tool crash")["error.type"], "Defect")
      const fiber = yield* Effect.forkChild(recorded(Effect.uninterruptible(Effect.gen(function*() {
        const inner = yield* Effect.forkChild(Effect.interruptible(Agent.run(agent, "A question")))
        for (let n = 0; n < 20; n++) yield* Effect.yieldNow
        yield* Fiber.interrupt(inner)
      }))))
      const { spans } = yield* Fiber.join(fiber)
      assert.deepStrictEqual(spans.map(({ name }) => name), [
        "invoke_agent desk",
        "chat",
        "execute_tool stuck"
      ])
      assert.isTrue(spans.every(hasEnded))
      assert.strictEqual(attributesOf(spans, "invoke_agent desk")["troupe.status"], "InProgress")
      const stuck = spans[2]?.status
      assert.isTrue(stuck?._tag === "Ended" && Exit.isFailure(stuck.exit) && Exit.hasInterrupts(stuck.exit))
    }).pipe(
      Effect.provide(handlers),
      Effect.provide(MockModel.layer(MockModel.queue(MockResponse.toolCall("stuck", {}))))
    ))

  /** The error that a span ended with, as a tracer puts it, and its type. */
  const errorOf = (spans: ReadonlyArray<Tracer.NativeSpan>, name: string) => {
    const status = spans.find((span) => span.name === name)?.status
    const [error] = status?._tag === "Ended" && Exit.isFailure(status.exit) ? Cause.prettyErrors(status.exit.cause) : []
    return [error?.name, error?.message, attributesOf(spans, name)["error.type"]]
  }

  const echo = "The input \"my secret words\" can't be read"
  const refusing = MockModel.layer(MockModel.make(() =>
    MockResponse.fail(
      new AiError.InvalidRequestError({
        description: echo,
        http: { response: { status: 400, headers: { "x-request-id": "r1" } }, body: echo }
      })
    )
  ))

  it.effect("of a run that failed say its reason, and a provider's words only with contents", () =>
    Effect.gen(function*() {
      const run = Effect.provide(Agent.run(Agent.make("desk"), "A question"), refusing)
      const { exit, spans } = yield* recorded(run)
      assert.isTrue(Exit.isFailure(exit) && Cause.squash(exit.cause) instanceof AgentError.AgentError)
      assert.deepStrictEqual(errorOf(spans, "invoke_agent desk"), [
        "ModelCallFailed",
        "ModelCallFailed",
        "ModelCallFailed"
      ])
      const told = yield* Effect.provideService(recorded(run), Agent.RecordContent, true)
      const [name, message] = errorOf(told.spans, "invoke_agent desk")
      assert.strictEqual(name, "ModelCallFailed")
      assert.include(message, "gave no answer in step 1 after 1 attempt")
      assert.include(message, echo)
      assert.notInclude(message, "x-request-id")
    }))

  it.effect("of a call that failed are errors, whose text stands in them only with contents", () =>
    Effect.gen(function*() {
      const run = Effect.provide(Agent.run(agent, "A question"), model)
      const { spans } = yield* recorded(run)
      assert.deepStrictEqual(errorOf(spans, "execute_tool break"), ["Failed", "Failed", "Failed"])
      assert.deepStrictEqual(errorOf(spans, "execute_tool look"), [undefined, undefined, undefined])
      const told = yield* Effect.provideService(recorded(run), Agent.RecordContent, true)
      assert.include(errorOf(told.spans, "execute_tool break")[1], "no")
    }).pipe(Effect.provide(handlers)))

  it.effect("of an agent that took over say what it used and how it ended", () =>
    Effect.gen(function*() {
      const clerk = Agent.make("clerk")
      const first = Agent.make("first", { handoffs: [Handoff.to(clerk)] })
      const handing = MockResponse.withUsage(MockResponse.toolCall(Handoff.toolNameOf("clerk"), {}), {
        input: 7,
        output: 3
      })
      const spansOf = (last: MockResponse.MockResponse) =>
        recorded(Agent.run(first, "A question")).pipe(
          Effect.provide(MockModel.layer(MockModel.queue(handing, last))),
          Effect.map(({ spans }) => spans)
        )
      const done = yield* spansOf(MockResponse.withUsage("Done.", { input: 5, output: 2 }))
      assert.deepInclude(attributesOf(done, "invoke_agent clerk"), {
        "gen_ai.usage.input_tokens": 5,
        "gen_ai.usage.output_tokens": 2,
        "troupe.steps": 1
      })
      assert.deepInclude(attributesOf(done, "invoke_agent first"), { "gen_ai.usage.input_tokens": 12 })
      const failed = yield* spansOf(MockResponse.fail(new AiError.InvalidRequestError({ description: echo })))
      assert.deepInclude(attributesOf(failed, "invoke_agent clerk"), { "troupe.status": "Failed" })
      assert.deepStrictEqual(errorOf(failed, "invoke_agent clerk"), [
        "ModelCallFailed",
        "ModelCallFailed",
        "ModelCallFailed"
      ])
    }))
})
