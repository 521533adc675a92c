/** The spans of requests on a model's native way: whom they name, how they end, and what they hold of what was said. */
import { NodeFileSystem } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer, Schedule, Schema, Stream } from "effect"
import { AiError, LanguageModel, Model, Tool, Toolkit } from "effect/ai"
import { TestClock } from "effect/testing"
import { mkdtempSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Agent, ContextWindow, Guardrail, Handoff } from "troupe"
import { AiSdkModel } from "troupe/ai-sdk"
import { Cassette, MockModel, MockResponse } from "troupe/testing"
import { recorded } from "../agent/spans.ts"
import { saying } from "../ai-sdk/stub.ts"
import { InputMessages, OutputMessages, SystemInstructions, ToolDefinitions } from "./schemas.ts"
import { attributesOf, exported, json } from "./sdk.ts"

const recording = Effect.provideService(Agent.RecordContent, true)
const Tools = Toolkit.make(
  Tool.make("look", { parameters: Schema.Struct({ at: Schema.String }), success: Schema.String })
)
const handlers = Tools.toLayer({ look: ({ at }) => Effect.succeed(`a lamp at ${at}`) })
const look = MockResponse.toolCall("look", { at: "the door" }, { id: "look-1" })
const model = (...replies: ReadonlyArray<MockResponse.MockResponse | string>) =>
  MockModel.layer(MockModel.queue(...replies))

/** Both ways of running an agent. */
const ways = {
  whole: (agent: Agent.Agent<string, string, never, LanguageModel.LanguageModel>) =>
    Effect.asVoid(Agent.run(agent, "What is my secret?")),
  streamed: (agent: Agent.Agent<string, string, never, LanguageModel.LanguageModel>) =>
    Stream.runDrain(Agent.stream(agent, "What is my secret?"))
}

const contentOf = (attributes: Readonly<Record<string, unknown>>) => ({
  input: json(attributes["gen_ai.input.messages"]),
  output: json(attributes["gen_ai.output.messages"]),
  instructions: json(attributes["gen_ai.system_instructions"]),
  tools: json(attributes["gen_ai.tool.definitions"])
})

const said = (role: string, text: string) => ({ role, parts: [{ type: "text", content: text }] })

describe("What a request said", () => {
  it.effect("is exactly what it sent, with what came of it, by the conventions' schemas", () =>
    Effect.gen(function*() {
      const clerk = Agent.make("clerk")
      const agent = Agent.make("desk", {
        instructions: "Be brief.",
        toolkit: Tools,
        handoffs: [Handoff.to(clerk)],
        contextWindow: ContextWindow.make({ maxTurns: 2 })
      })
      const { spans } = yield* exported(recording(Effect.gen(function*() {
        const before = yield* Agent.run(agent, "Long ago")
        yield* Agent.continueConversation(agent, before, "What is this?")
      }))).pipe(
        Effect.provide(handlers),
        Effect.provide(model("Indeed.", look, MockResponse.toolCall(Handoff.toolNameOf("clerk"), {}), "A lamp."))
      )
      const requests = spans.filter(({ name }) => name === "chat").map(({ attributes }) => contentOf(attributes))
      assert.lengthOf(requests, 4)
      for (const { input, instructions, output, tools } of requests) {
        Schema.decodeUnknownSync(InputMessages)(input)
        Schema.decodeUnknownSync(OutputMessages)(output)
        if (instructions !== undefined) Schema.decodeUnknownSync(SystemInstructions)(instructions)
        if (tools !== undefined) Schema.decodeUnknownSync(ToolDefinitions)(tools)
      }
      const call = { type: "tool_call", id: "look-1", name: "look", arguments: { at: "the door" } }
      assert.deepStrictEqual(requests[1]!.output, [
        { role: "assistant", parts: [call], name: "desk", finish_reason: "tool_call" }
      ])
      // The window has left out what came before.
      assert.deepStrictEqual(requests[2]!.input, [
        said("user", "What is this?"),
        { role: "assistant", parts: [call] },
        { role: "tool", parts: [{ type: "tool_call_response", id: "look-1", response: "a lamp at the door" }] }
      ])
      assert.deepStrictEqual(requests[2]!.instructions, [{ type: "text", content: "Be brief." }])
      const names = (tools: unknown) => (tools as ReadonlyArray<{ name: string }> | undefined)?.map(({ name }) => name)
      assert.deepStrictEqual(names(requests[2]!.tools), ["look", "handoff_to_clerk"])
      // It has no tools, though it shares a toolkit with an agent that has some.
      assert.isUndefined(requests[3]!.tools)
      assert.isUndefined(attributesOf(spans, "invoke_agent clerk")["gen_ai.tool.definitions"])
      assert.deepStrictEqual(requests[3]!.output, [
        { ...said("assistant", "A lamp."), name: "clerk", finish_reason: "stop" }
      ])
    }))

  for (const [name, run] of Object.entries(ways)) {
    it.effect(`has nothing that a guardrail on answers masked or blocked, ${name}`, () =>
      Effect.gen(function*() {
        const mask = Guardrail.make("mask", (text: string) => Guardrail.replace(text.replace("1234", "****"), "a code"))
        const masking = Agent.make("desk", { guardrails: { output: [mask] } })
        const masked = yield* exported(recording(run(masking))).pipe(Effect.provide(model("It is 1234.")))
        assert.notInclude(JSON.stringify(masked.spans.map(({ attributes }) => attributes)), "is 1234")
        const chat = contentOf(attributesOf(masked.spans, "chat"))
        assert.deepStrictEqual(chat.input, [said("user", "What is my secret?")])
        assert.deepStrictEqual(chat.output, [
          { ...said("assistant", "It is ****."), name: "desk", finish_reason: "stop" }
        ])
        const blocking = Agent.make("desk", {
          guardrails: { output: [Guardrail.make("no", () => Guardrail.block("no"))] }
        })
        const blocked = yield* exported(recording(run(blocking))).pipe(
          Effect.provide(model("It is 1234.", "It is 1234."))
        )
        assert.notInclude(JSON.stringify(blocked.spans.map(({ attributes }) => attributes)), "is 1234")
        assert.include(blocked.spans.map(({ name }) => name), "chat")
      }))

    it.effect(`has nothing of an input that a guardrail beside it replaced or blocked, ${name}`, () =>
      Effect.gen(function*() {
        const slow = (verdict: Effect.Effect<Guardrail.Verdict<string>>) =>
          Agent.make("desk", {
            guardrails: {
              input: [Guardrail.make("slow", () => Effect.delay(verdict, "1 second"), { mode: "parallel" })]
            }
          })
        const tell = (agent: ReturnType<typeof slow>) =>
          Effect.gen(function*() {
            const fiber = yield* Effect.forkChild(
              exported(recording(run(agent))).pipe(Effect.provide(model("Hi.", "Ho.")))
            )
            yield* TestClock.adjust("2 seconds")
            return yield* Fiber.join(fiber)
          })
        const replaced = yield* tell(slow(Effect.succeed(Guardrail.replace("What is my ***?", "a secret"))))
        assert.notInclude(JSON.stringify(replaced.spans.map(({ attributes }) => attributes)), "secret")
        const requests = replaced.spans.filter(({ name }) => name === "chat").map(({ attributes }) =>
          contentOf(attributes)
        )
        assert.deepStrictEqual(requests.map(({ input }) => input), [undefined, [said("user", "What is my ***?")]])
        const blocked = yield* tell(slow(Effect.succeed(Guardrail.block("no"))))
        assert.notInclude(JSON.stringify(blocked.spans.map(({ attributes }) => attributes)), "secret")
        const passed = yield* tell(slow(Effect.succeed(Guardrail.pass)))
        const chat = passed.spans.find(({ name }) => name === "chat")!
        assert.deepStrictEqual(contentOf(chat.attributes).input, [said("user", "What is my secret?")])
        // It ended when the model did, and not when the guardrail had looked.
        assert.deepStrictEqual(chat.duration, [0, 0])
      }))
  }

  it.effect("is told of each attempt, and of one that was interrupted", () =>
    Effect.gen(function*() {
      const agent = Agent.make("desk", { retry: Schedule.recurs(1) })
      const { spans } = yield* exported(recording(Agent.run(agent, "Hi"))).pipe(
        Effect.provide(model(MockResponse.fail(new AiError.RateLimitError({})), "Ho."))
      )
      const requests = spans.filter(({ name }) => name === "chat").map(({ attributes }) => attributes)
      assert.deepStrictEqual(requests.map((request) => request["error.type"]), ["RateLimitError", undefined])
      assert.deepStrictEqual(requests.map((request) => contentOf(request).input), [
        [said("user", "Hi")],
        [said("user", "Hi")]
      ])
      assert.isUndefined(requests[0]!["gen_ai.output.messages"])
      const later = yield* exported(recording(Agent.run(Agent.make("desk", { toolkit: Tools }), "Hi"))).pipe(
        Effect.provide(handlers),
        Effect.provide(model(look, MockResponse.fail(new AiError.RateLimitError({}))))
      )
      // The answer before it isn't its own.
      assert.isUndefined(attributesOf(later.spans, "chat")["gen_ai.output.messages"])
      const fiber = yield* Effect.forkChild(exported(
        recording(Effect.timeout(Agent.run(agent, "Hi"), "1 second")).pipe(
          Effect.provide(MockModel.layer(MockModel.make(() => Effect.never)))
        )
      ))
      yield* TestClock.adjust("1 second")
      const interrupted = yield* Fiber.join(fiber)
      assert.deepStrictEqual(
        interrupted.spans.filter(({ name }) => name === "chat").map(({ attributes }) => contentOf(attributes).input),
        [[said("user", "Hi")]]
      )
    }))
})

describe("The model of a request", () => {
  const names = (attributes: Readonly<Record<string, unknown>>) => [
    attributes["gen_ai.provider.name"],
    attributes["gen_ai.request.model"]
  ]

  it.effect("has the same name in the request's span, in the run's and in metrics, whoever says it", () =>
    Effect.gen(function*() {
      const { model: stub } = saying([[{ type: "text", text: "Hi" }]])
      const bare = () =>
        Layer.effect(LanguageModel.LanguageModel, AiSdkModel.make(saying([[{ type: "text", text: "Hi" }]]).model))
      const layers: ReadonlyArray<
        readonly [Layer.Layer<LanguageModel.LanguageModel>, ReadonlyArray<string | undefined>]
      > = [
        [AiSdkModel.layer(stub), ["house", "one"]],
        [bare(), ["house", "one"]],
        [Model.make("openai", "other", bare()), ["house", "one"]],
        [Model.make("openai", "gpt", model("Hi")), ["openai", "gpt"]],
        [model("Hi"), [undefined, undefined]]
      ]
      for (const [layer, expected] of layers) {
        const { metrics, spans } = yield* exported(Agent.run(Agent.make("desk"), "Hi")).pipe(Effect.provide(layer))
        const request = expected[1] === undefined ? "chat" : `chat ${expected[1]}`
        assert.deepStrictEqual(spans.map(({ name }) => name), [request, "invoke_agent desk"])
        for (const { attributes } of spans) assert.deepStrictEqual(names(attributes), [...expected])
        for (const { dataPoints } of metrics) assert.deepStrictEqual(names(dataPoints[0]!.attributes), [...expected])
      }
    }))

  it.effect("says what it used and why it stopped, also of a cassette, recorded and played", () =>
    Effect.gen(function*() {
      const path = join(mkdtempSync(join(tmpdir(), "troupe-")), "tape.jsonl")
      const answer = MockResponse.withUsage("Hi", { input: 10, output: 4, cached: 3, reasoning: 1 })
      const spansOf = (layer: Layer.Layer<LanguageModel.LanguageModel>) =>
        Effect.map(
          recorded(Effect.orDie(Agent.run(Agent.make("desk"), "Hi"))).pipe(Effect.provide(layer)),
          ({ spans }) => Object.fromEntries(spans.find(({ name }) => name === "chat")!.attributes)
        )
      const recording = Cassette.layer(path, { mode: "record" }).pipe(
        Layer.provide([model(answer), NodeFileSystem.layer]),
        Layer.orDie
      )
      const playing = Cassette.layer(path, { mode: "replay" }).pipe(Layer.provide(NodeFileSystem.layer), Layer.orDie)
      for (const layer of [model(answer), recording, playing]) {
        assert.deepInclude(yield* spansOf(layer), {
          "gen_ai.operation.name": "chat",
          "gen_ai.output.type": "text",
          "gen_ai.response.finish_reasons": ["stop"],
          "gen_ai.usage.input_tokens": 10,
          "gen_ai.usage.output_tokens": 4,
          "gen_ai.usage.cache_read.input_tokens": 3,
          "gen_ai.usage.reasoning.output_tokens": 1
        })
      }
    }))

  it.effect("ends with the tag of what failed, a defect too, and none of the provider's words", () =>
    Effect.gen(function*() {
      for (
        const [handler, tag] of [
          [
            MockModel.queue(MockResponse.fail(new AiError.InternalProviderError({ description: "a secret" }))),
            "InternalProviderError"
          ],
          [MockModel.make(() => Effect.die(new Error("no"))), "Defect"]
        ] as const
      ) {
        const { spans } = yield* exported(Agent.run(Agent.make("desk"), "Hi")).pipe(
          Effect.provide(MockModel.layer(handler))
        )
        assert.strictEqual(attributesOf(spans, "chat")["error.type"], tag)
        assert.strictEqual(
          attributesOf(spans, "invoke_agent desk")["error.type"],
          tag === "Defect" ? tag : "ModelCallFailed"
        )
        assert.notInclude(
          JSON.stringify(spans.map(({ attributes, events, status }) => ({ attributes, events, status }))),
          "secret"
        )
      }
    }))
})
