import { createOpenAI } from "@ai-sdk/openai"
import { assert, describe, it } from "@effect/vitest"
import { SpanStatusCode } from "@opentelemetry/api"
import { Effect, ExecutionPlan, Exit, Fiber, Schema, Scope, Stream } from "effect"
import { AiError, LanguageModel, Model, Tool, Toolkit } from "effect/ai"
import { KeyValueStore } from "effect/persistence"
import { TestClock } from "effect/testing"
import {
  Agent,
  AgentPicker,
  AgentState,
  ContextWindow,
  Group,
  Guardrail,
  Handoff,
  Mode,
  Session,
  SystemPrompt
} from "troupe"
import { AiSdkModel } from "troupe/ai-sdk"
import { MockModel, MockProvider, MockResponse } from "troupe/testing"
import { InputMessages, OutputMessages, SystemInstructions, ToolDefinitions } from "./schemas.ts"
import { attributesOf, exported, json } from "./sdk.ts"

const Tools = Toolkit.make(
  Tool.make("look", {
    description: "Looks around",
    parameters: Schema.Struct({
      at: Schema.String,
      area: Schema.optionalKey(Schema.Tuple([Schema.Number, Schema.Number]))
    }),
    success: Schema.String
  })
)
const handlers = Tools.toLayer({ look: ({ at }) => Effect.succeed(`a lamp at ${at}`) })
const look = MockResponse.toolCall("look", { at: "the door" }, { id: "look-1" })

/** A model that says its names, as `effect/ai` has them. */
const named = (provider: string, name: string, ...replies: ReadonlyArray<MockResponse.MockResponse | string>) =>
  Model.make(provider, name, MockModel.layer(MockModel.queue(...replies)))

const recording = Effect.provideService(Agent.RecordContent, true)

describe("What was said", () => {
  it.effect("is messages with roles and parts, with the instructions and tools, by the conventions' schemas", () =>
    Effect.gen(function*() {
      const agent = Agent.make("desk", { instructions: "Be brief.", toolkit: Tools })
      const { spans } = yield* exported(recording(Agent.run(agent, [
        { _tag: "Text", text: "What is this?" },
        { _tag: "File", mediaType: "image/png", data: new Uint8Array([1, 2, 3]) },
        { _tag: "File", mediaType: "image/png", data: "data:image/png;base64,AQID" },
        { _tag: "File", mediaType: "application/pdf", data: new URL("https://house/a.pdf") }
      ]))).pipe(
        Effect.provide(handlers),
        Effect.provide(MockModel.layer(MockModel.queue(
          MockResponse.all(MockResponse.reasoning("I should look."), look),
          "A lamp."
        )))
      )
      const run = attributesOf(spans, "invoke_agent desk")
      const input = json(run["gen_ai.input.messages"])
      Schema.decodeUnknownSync(InputMessages)(input)
      const blob = { type: "blob", modality: "image", mime_type: "image/png", content: "AQID" }
      assert.deepStrictEqual(input, [
        {
          role: "user",
          parts: [
            { type: "text", content: "What is this?" },
            blob,
            blob,
            { type: "uri", modality: "document", mime_type: "application/pdf", uri: "https://house/a.pdf" }
          ]
        },
        {
          role: "assistant",
          parts: [
            { type: "reasoning", content: "I should look." },
            { type: "tool_call", id: "look-1", name: "look", arguments: { at: "the door" } }
          ],
          name: "desk"
        },
        { role: "tool", parts: [{ type: "tool_call_response", id: "look-1", response: "a lamp at the door" }] }
      ])
      const output = json(run["gen_ai.output.messages"])
      Schema.decodeUnknownSync(OutputMessages)(output)
      assert.deepStrictEqual(output, [{
        role: "assistant",
        parts: [{ type: "text", content: "A lamp." }],
        name: "desk",
        finish_reason: "stop"
      }])
      const instructions = json(run["gen_ai.system_instructions"])
      Schema.decodeUnknownSync(SystemInstructions)(instructions)
      assert.deepStrictEqual(instructions, [{ type: "text", content: "Be brief." }])
      const tools = Schema.decodeUnknownSync(ToolDefinitions)(json(run["gen_ai.tool.definitions"]))
      assert.deepInclude(tools[0], { type: "function", name: "look", description: "Looks around" })
      assert.deepInclude(tools[0]?.parameters, { type: "object", required: ["at"] })
      // As draft 07 writes it.
      assert.match(JSON.stringify(tools[0]?.parameters), /"items":\[/)
    }))

  it.effect("ends with the calls that wait, and holds nothing that a guardrail blocked", () =>
    Effect.gen(function*() {
      const Guarded = Toolkit.make(Tool.make("pay", { needsApproval: true }))
      const agent = Agent.make("desk", { toolkit: Guarded })
      const waiting = yield* exported(recording(Agent.run(agent, "Pay"))).pipe(
        Effect.provide(Guarded.toLayer({ pay: () => Effect.void })),
        Effect.provide(MockModel.layer(MockModel.queue(MockResponse.toolCall("pay", {}, { id: "pay-1" }))))
      )
      assert.deepStrictEqual(json(attributesOf(waiting.spans, "invoke_agent desk")["gen_ai.output.messages"]), [{
        role: "assistant",
        parts: [{ type: "tool_call", id: "pay-1", name: "pay", arguments: {} }],
        name: "desk",
        finish_reason: "tool_call"
      }])
      const blocking = Agent.make("desk", {
        guardrails: { input: [Guardrail.make("no", () => Effect.succeed(Guardrail.block("no")))] }
      })
      const blocked = yield* exported(recording(Agent.run(blocking, "a secret"))).pipe(
        Effect.provide(MockModel.layer(MockModel.queue("Hi")))
      )
      assert.notInclude(JSON.stringify(blocked.spans.map(({ attributes }) => attributes)), "secret")
      assert.isDefined(attributesOf(blocked.spans, "invoke_agent desk")["gen_ai.input.messages"])
    }))

  it.effect("isn't there unless it is asked for", () =>
    Effect.gen(function*() {
      const agent = Agent.make("desk", { instructions: "Be brief.", toolkit: Tools })
      const { spans } = yield* exported(Agent.run(agent, "What is this?")).pipe(
        Effect.provide(handlers),
        Effect.provide(MockModel.layer(MockModel.queue(look, "A lamp.")))
      )
      assert.notMatch(JSON.stringify(spans.map(({ attributes }) => attributes)), /brief|lamp|door|What/)
    }))
})

describe("The model of a run", () => {
  it.effect("is named as it says itself, in the span of the agent that asked it", () =>
    Effect.gen(function*() {
      const clerk = Agent.make("clerk").pipe(Agent.withModel(named("anthropic", "claude", "Done.")))
      const plain = Agent.make("plain").pipe(Agent.withModel(MockModel.layer(MockModel.queue("Done."))))
      const to = (name: string) => MockResponse.toolCall(Handoff.toolNameOf(name), {})
      const spansOf = (target: typeof clerk | typeof plain) =>
        exported(Agent.run(Agent.make("first", { handoffs: [Handoff.to(target)] }), "Hi")).pipe(
          Effect.provide(named("openai", "gpt", to(target.name))),
          Effect.map(({ spans }) =>
            ["first", target.name].map((name) => {
              const attributes = attributesOf(spans, `invoke_agent ${name}`)
              return [attributes["gen_ai.provider.name"], attributes["gen_ai.request.model"]]
            })
          )
        )
      assert.deepStrictEqual(yield* spansOf(clerk), [["openai", "gpt"], ["anthropic", "claude"]])
      assert.deepStrictEqual(yield* spansOf(plain), [["openai", "gpt"], [undefined, undefined]])
      const silent = Agent.make("clerk", { instructions: () => Effect.die("no instructions") })
      const { spans } = yield* exported(Agent.run(Agent.make("first", { handoffs: [Handoff.to(silent)] }), "Hi")).pipe(
        Effect.provide(named("openai", "gpt", to("clerk")))
      )
      assert.include(spans.map(({ name }) => name), "invoke_agent clerk")
      assert.notProperty(attributesOf(spans, "invoke_agent clerk"), "gen_ai.provider.name")
    }))

  it.effect("has one name in the agent's span, in the model's and in metrics, by either Layer of the AI SDK", () =>
    Effect.gen(function*() {
      const mock = MockProvider.make({ handler: MockModel.make(() => "Hi") })
      const openai = createOpenAI({ apiKey: "none", fetch: mock.fetch })("gpt-5")
      const google: typeof openai = Object.create(openai, { provider: { value: "google.generative-ai" } })
      for (const [model, provider] of [[openai, "openai"], [google, "gcp.gemini"]] as const) {
        for (const layer of [AiSdkModel.layer(model), AiSdkModel.model(model)]) {
          const { metrics, spans } = yield* exported(Agent.run(Agent.make("desk"), "Hi")).pipe(Effect.provide(layer))
          const names = { "gen_ai.provider.name": provider, "gen_ai.request.model": "gpt-5" }
          for (const { attributes } of spans) assert.deepInclude(attributes, names)
          assert.strictEqual(metrics.length, 2)
          for (const { dataPoints } of metrics) assert.deepInclude(dataPoints[0]?.attributes, names)
          const run = attributesOf(spans, "invoke_agent desk")
          const request = attributesOf(spans, "chat gpt-5")
          assert.isDefined(run["gen_ai.response.model"])
          assert.strictEqual(run["gen_ai.response.model"], request["gen_ai.response.model"])
          assert.deepStrictEqual(run["gen_ai.response.finish_reasons"], ["stop"])
        }
      }
    }))

  it.effect("is the one of the plan's step that answered", () =>
    Effect.gen(function*() {
      const broken = named("openai", "gpt", MockResponse.fail(new AiError.RateLimitError({})))
      const agent = Agent.make("desk").pipe(Agent.withModel(
        ExecutionPlan.make({ provide: broken }, { provide: named("anthropic", "claude", "Hi") })
      ))
      const { metrics, spans } = yield* exported(Agent.run(agent, "Hi"))
      assert.strictEqual(attributesOf(spans, "invoke_agent desk")["gen_ai.request.model"], "claude")
      const durations = metrics.find(({ descriptor }) => descriptor.name === "gen_ai.client.operation.duration")
      assert.deepStrictEqual(
        durations?.dataPoints.map(({ attributes }) => [attributes["gen_ai.request.model"], attributes["error.type"]]),
        [["gpt", "RateLimitError"], ["claude", undefined]]
      )
    }))
})

describe("The conversation of a run", () => {
  const model = MockModel.layer(MockModel.make(() => "Hi"))
  const agent = Agent.make("desk")
  const key = "gen_ai.conversation.id"

  it.effect("is the session by the id that it is stored under, in all spans of the run", () =>
    Effect.gen(function*() {
      const { spans } = yield* exported(Effect.gen(function*() {
        const session = yield* Session.make(agent, { store: Session.store("order-7") })
        yield* session.call("Hi")
      })).pipe(Effect.provide(KeyValueStore.layerMemory), Effect.provide(model))
      assert.deepStrictEqual(spans.map(({ attributes }) => attributes[key]), ["order-7", "order-7"])
    }))

  it.effect.each([["stored", "order-7"], ["not stored", undefined]] as const)(
    "is the same in the spans of a session's other operations, %s",
    ([, id]) =>
      Effect.gen(function*() {
        const Signing = Toolkit.make(
          Tool.make("sign", { parameters: Schema.Struct({ name: Schema.String }), needsApproval: true }),
          Tool.make("note")
        )
        const signer = Agent.make("signer", {
          toolkit: Signing,
          modes: [Mode.make("m", { enter: () => Effect.void })],
          instructions: () => Effect.as(Effect.orDie(LanguageModel.generateText({ prompt: "?" })), "Be brief."),
          guardrails: { toolCall: [Guardrail.make("look", () => Guardrail.pass, { on: "toolCall" })] }
        })
        const asked = MockModel.layer(MockModel.make(({ lastUserText }) =>
          lastUserText === "sign" ? MockResponse.toolCall("sign", { name: "Ada" }, { id: "s" }) : "Hi"
        ))
        const runs: Array<string> = []
        const { exit, spans } = yield* exported(
          Effect.gen(function*() {
            const session = yield* (id === undefined
              ? Session.make(signer)
              : Session.make(signer, { store: Session.store(id) }))
            yield* session.enterMode("m")
            yield* Effect.provideService(SystemPrompt.render(), Mode.Host, session)
            yield* session.invoke(Signing.tools.note, {})
            yield* session.exitMode("m")
            yield* session.call("sign")
            yield* Effect.asVoid(session.approve("s", { params: { name: "Cid" } }))
          }).pipe(Agent.observe((event) =>
            Effect.sync(() => runs.push(event.run))
          ))
        ).pipe(
          Effect.provide(Signing.toLayer({ sign: () => Effect.void, note: () => Effect.void })),
          Effect.provide(KeyValueStore.layerMemory),
          Effect.provide(asked)
        )
        assert.deepStrictEqual(exit, Exit.void)
        assert.deepStrictEqual(
          [...new Set(spans.map(({ name }) => name))].sort(),
          [
            "LanguageModel.generateText",
            "chat",
            "enter_mode m",
            "execute_tool note",
            "exit_mode m",
            "guardrail look",
            "invoke_agent signer"
          ]
        )
        assert.deepStrictEqual([...new Set(spans.map(({ attributes }) => attributes[key]))], [id ?? runs[0]])
      })
  )

  it.effect("is the run's id also in a step that is taken by hand, and in what a picker asks", () =>
    Effect.gen(function*() {
      const runs = new Set<string>()
      const observed = Agent.observe((event) => Effect.sync(() => runs.add(event.run)))
      const { spans } = yield* exported(observed(Agent.step(agent, AgentState.ask(AgentState.make("desk"), "Hi", 0))))
      assert.deepStrictEqual(spans.map(({ name }) => name), ["chat"])
      assert.deepStrictEqual(spans.map(({ attributes }) => attributes[key]), [...runs])
      runs.clear()
      const picked = AgentPicker.make(
        () => Effect.as(Effect.orDie(LanguageModel.generateText({ prompt: "Who?" })), "desk" as const)
      )
      const group = Group.make({ desk: agent }, { start: picked })
      const run = yield* exported(observed(Agent.run(group, "Hi")))
      assert.deepStrictEqual(run.spans.map(({ name }) => name), [
        "LanguageModel.generateText",
        "chat",
        "invoke_agent desk"
      ])
      assert.deepStrictEqual([...new Set(run.spans.map(({ attributes }) => attributes[key]))], [...runs])
    }).pipe(Effect.provide(model)))

  it.effect("is one in all runs of a session that isn't stored, and another one in each run without a session", () =>
    Effect.gen(function*() {
      const idsOf = (
        { spans }: { readonly spans: ReadonlyArray<{ readonly attributes: object; readonly name: string }> }
      ) =>
        spans.filter(({ name }) => name.startsWith("invoke_agent")).map(({ attributes }) =>
          (attributes as Record<string, unknown>)[key]
        )
      const session = yield* exported(Effect.gen(function*() {
        const session = yield* Session.make(agent)
        yield* session.call("Hi")
        yield* Stream.runDrain(session.stream("And now?"))
      }))
      const [first, second] = idsOf(session)
      assert.isString(first)
      assert.strictEqual(first, second)
      const plain = idsOf(yield* exported(Effect.andThen(Agent.run(agent, "Hi"), Agent.run(agent, "Hi"))))
      assert.isString(plain[0])
      assert.strictEqual(new Set(plain).size, 2)
    }).pipe(Effect.provide(model)))

  it.effect("is the run's id that its events have", () =>
    Effect.gen(function*() {
      const runs = new Set<string>()
      const { spans } = yield* exported(
        Agent.observe(Agent.run(agent, "Hi"), (event) => Effect.sync(() => runs.add(event.run)))
      )
      assert.deepStrictEqual([...runs], [attributesOf(spans, "invoke_agent desk")[key]])
    }).pipe(Effect.provide(model)))

  it.effect("is what a program says, and in a session that a tool has, that session", () =>
    Effect.gen(function*() {
      const stored = (id: string, inner: Effect.Effect<unknown, unknown, never>) =>
        Effect.gen(function*() {
          const Asking = Toolkit.make(Tool.make("ask"))
          const asking = Agent.make(id, { toolkit: Asking })
          const session = yield* Session.make(asking, { store: Session.store(id) }).pipe(
            Effect.provide(Asking.toLayer({ ask: () => Effect.asVoid(Effect.orDie(inner)) })),
            Effect.provide(MockModel.layer(MockModel.queue(MockResponse.toolCall("ask", {}), "Hi"))),
            Effect.provide(KeyValueStore.layerMemory)
          )
          return yield* session.call("Hi")
        })
      const idsOf = (spans: ReadonlyArray<{ readonly name: string }>, name: string) =>
        attributesOf(spans as never, `invoke_agent ${name}`)[key]
      const inner = Effect.scoped(stored("inner", Effect.void))
      const { exit, spans } = yield* exported(stored("outer", inner))
      assert.isTrue(exit._tag === "Success")
      assert.deepStrictEqual([idsOf(spans, "outer"), idsOf(spans, "inner")], ["outer", "inner"])
      const tagged = yield* exported(stored("outer", Effect.annotateSpans(inner, { tenant: "acme" })))
      assert.deepStrictEqual([idsOf(tagged.spans, "outer"), idsOf(tagged.spans, "inner")], ["outer", "inner"])
      const annotated = yield* exported(Effect.annotateSpans(stored("outer", inner), { [key]: "ticket-1" }))
      assert.deepStrictEqual(
        [idsOf(annotated.spans, "outer"), idsOf(annotated.spans, "inner")],
        ["ticket-1", "ticket-1"]
      )
    }))
})

describe("A session that a tool opens without a store", () => {
  it.effect("has its own id from its first call on", () =>
    Effect.gen(function*() {
      const Asking = Toolkit.make(Tool.make("ask"))
      const ask = Effect.gen(function*() {
        const inner = yield* Session.make(Agent.make("inner"))
        yield* inner.call("Hi")
        yield* inner.call("And now?")
      }).pipe(Effect.scoped, Effect.orDie, Effect.provide(MockModel.layer(MockModel.make(() => "Hi"))))
      const { spans } = yield* exported(Agent.run(Agent.make("outer", { toolkit: Asking }), "Hi")).pipe(
        Effect.provide(Asking.toLayer({ ask: () => Effect.asVoid(ask) })),
        Effect.provide(MockModel.layer(MockModel.queue(MockResponse.toolCall("ask", {}), "Hi")))
      )
      const idsOf = (agent: string) =>
        spans.filter(({ name }) => name === `invoke_agent ${agent}`).map(({ attributes }) =>
          attributes["gen_ai.conversation.id"]
        )
      const [first, second] = idsOf("inner")
      assert.isString(first)
      assert.strictEqual(second, first)
      assert.notInclude(idsOf("outer"), first)
    }))
})

describe("A session that one tool has made and another one calls", () => {
  it.effect("keeps its own id", () =>
    Effect.gen(function*() {
      const scope = yield* Effect.scope
      let inner: Session.Session<string, never> | undefined
      const Asking = Toolkit.make(Tool.make("ask"))
      const ask = Effect.gen(function*() {
        inner ??= yield* Session.make(Agent.make("inner"), { store: Session.store("inner") }).pipe(
          Effect.provideService(Scope.Scope, scope)
        )
        yield* inner.call("Hi")
      }).pipe(
        Effect.orDie,
        Effect.provide(MockModel.layer(MockModel.make(() => "Hi"))),
        Effect.provide(KeyValueStore.layerMemory)
      )
      const outer = (id: string) =>
        Effect.gen(function*() {
          const session = yield* Session.make(Agent.make(id, { toolkit: Asking }), { store: Session.store(id) })
          yield* session.call("Hi")
        }).pipe(
          Effect.provide(Asking.toLayer({ ask: () => Effect.asVoid(ask) })),
          Effect.provide(MockModel.layer(MockModel.queue(MockResponse.toolCall("ask", {}), "Hi"))),
          Effect.provide(KeyValueStore.layerMemory)
        )
      const { exit, spans } = yield* exported(Effect.andThen(outer("one"), outer("two")))
      assert.deepStrictEqual(exit, Exit.void)
      assert.deepStrictEqual(
        spans.filter(({ name }) => name.startsWith("invoke_agent")).map(({ attributes, name }) => [
          name,
          attributes["gen_ai.conversation.id"]
        ]),
        [
          ["invoke_agent inner", "inner"],
          ["invoke_agent one", "one"],
          ["invoke_agent inner", "inner"],
          ["invoke_agent two", "two"]
        ]
      )
    }))
})

describe("Metrics", () => {
  const points = ({ metrics }: Pick<Effect.Success<ReturnType<typeof exported>>, "metrics">, name: string) =>
    (metrics.find(({ descriptor }) => descriptor.name === name)?.dataPoints ?? []).map(({ attributes, value }) => ({
      attributes,
      value: value as {
        readonly sum: number
        readonly count: number
        readonly buckets: { readonly boundaries: ReadonlyArray<number>; readonly counts: ReadonlyArray<number> }
      }
    }))

  it.effect("are histograms of the conventions: their buckets, units and attributes", () =>
    Effect.gen(function*() {
      const answer = MockResponse.withUsage("Hi", { input: 10, output: 4, cached: 3 })
      const slow = MockModel.make(() => Effect.as(Effect.sleep("300 millis"), answer))
      const model = Model.make("openai", "gpt", MockModel.layer(slow))
      const fiber = yield* Effect.forkChild(exported(Agent.run(Agent.make("desk"), "Hi")).pipe(Effect.provide(model)))
      yield* TestClock.adjust("1 second")
      const all = yield* Fiber.join(fiber)
      const [duration] = points(all, "gen_ai.client.operation.duration")
      const about = { "gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai", "gen_ai.request.model": "gpt" }
      assert.deepStrictEqual(duration?.attributes, { unit: "s", ...about })
      assert.deepStrictEqual([duration?.value.sum, duration?.value.count], [0.3, 1])
      assert.deepStrictEqual(
        duration?.value.buckets.boundaries,
        [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92]
      )
      const tokens = points(all, "gen_ai.client.token.usage")
      assert.deepStrictEqual(tokens.map(({ attributes, value }) => [attributes, value.sum]), [
        [{ unit: "{token}", "gen_ai.token.type": "input", ...about }, 10],
        [{ unit: "{token}", "gen_ai.token.type": "output", ...about }, 4]
      ])
      assert.deepStrictEqual(
        tokens[0]?.value.buckets.boundaries,
        [1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864]
      )
      assert.deepStrictEqual(
        all.metrics.map(({ descriptor }) => [descriptor.name, descriptor.unit]).sort(),
        [["gen_ai.client.operation.duration", "s"], ["gen_ai.client.token.usage", "{token}"]]
      )
    }))

  it.effect("count each request once, with what it failed with, and no tokens that nobody reported", () =>
    Effect.gen(function*() {
      const answered = Agent.make("desk", {
        guardrails: { output: [Guardrail.make("no", () => Guardrail.block("no"))] }
      })
      const used = MockResponse.withUsage("Hi", { input: 10, output: 4 })
      const blocked = yield* exported(Agent.run(answered, "Hi")).pipe(
        Effect.provide(MockModel.layer(MockModel.queue(used, used, used, used)))
      )
      const runs = points(blocked, "gen_ai.client.operation.duration")
      const requests = blocked.spans.filter(({ name }) => /^(chat\b|LanguageModel\.)/.test(name)).length
      assert.deepStrictEqual(runs.map(({ attributes, value }) => [attributes["error.type"], value.count]), [
        [undefined, requests]
      ])
      assert.deepStrictEqual(points(blocked, "gen_ai.client.token.usage").map(({ value }) => value.count), [
        requests,
        requests
      ])
      const failing = yield* exported(Agent.run(Agent.make("desk"), "Hi")).pipe(
        Effect.provide(MockModel.layer(MockModel.queue(MockResponse.fail(new AiError.RateLimitError({})))))
      )
      assert.deepStrictEqual(
        points(failing, "gen_ai.client.operation.duration").map(({ attributes }) => attributes["error.type"]),
        ["RateLimitError"]
      )
      assert.deepStrictEqual(points(failing, "gen_ai.client.token.usage"), [])
      assert.strictEqual(
        failing.spans.find(({ name }) => name === "invoke_agent desk")?.status.code,
        SpanStatusCode.ERROR
      )
    }))

  it.effect("count a request that was interrupted, also of an agent that took over", () =>
    Effect.gen(function*() {
      const clerk = Agent.make("clerk").pipe(
        Agent.withModel(Model.make("anthropic", "claude", MockModel.layer(MockModel.make(() => Effect.never))))
      )
      const first = Agent.make("first", { handoffs: [Handoff.to(clerk)] })
      const run = Effect.timeout(Agent.run(first, "Hi"), "3 seconds").pipe(
        Effect.provide(named("openai", "gpt", MockResponse.toolCall(Handoff.toolNameOf("clerk"), {})))
      )
      const fiber = yield* Effect.forkChild(exported(run))
      yield* TestClock.adjust("3 seconds")
      const all = yield* Fiber.join(fiber)
      assert.deepStrictEqual(
        points(all, "gen_ai.client.operation.duration").map(({ attributes, value }) => [
          attributes["gen_ai.request.model"],
          attributes["error.type"],
          value.sum
        ]),
        [["gpt", undefined, 0], ["claude", "Interrupted", 3]]
      )
    }))

  it.effect("count summaries that a model made", () =>
    Effect.gen(function*() {
      const window = ContextWindow.make({ maxTurns: 2, strategy: ContextWindow.summarize() })
      const agent = Agent.make("desk", { contextWindow: window })
      const answer = MockResponse.withUsage("Hi", { input: 10, output: 4 })
      const all = yield* exported(Effect.gen(function*() {
        const session = yield* Session.make(agent)
        for (const text of ["One", "Two", "Three"]) yield* session.call(text)
      })).pipe(Effect.provide(MockModel.layer(MockModel.make(() => answer))))
      const requests = all.spans.filter(({ name }) => /^(chat\b|LanguageModel\.)/.test(name)).length
      assert.isTrue(all.spans.some(({ name }) => name.startsWith("summarize_conversation")))
      assert.strictEqual(points(all, "gen_ai.client.operation.duration")[0]?.value.count, requests)
    }))

  it.effect("are told by no model of a name around it", () =>
    Effect.gen(function*() {
      const own = MockModel.layer(MockModel.queue("Hi"))
      const all = yield* exported(Agent.run(Agent.make("desk").pipe(Agent.withModel(own)), "Hi")).pipe(
        Effect.provide(named("openai", "gpt"))
      )
      assert.deepStrictEqual(points(all, "gen_ai.client.operation.duration")[0]?.attributes, {
        unit: "s",
        "gen_ai.operation.name": "chat"
      })
    }))
})
