/** What of a model's answer arrives, at once and streamed, and what of it goes back to the provider. */
import type { LanguageModelV4Content, LanguageModelV4StreamPart, SharedV4Warning } from "@ai-sdk/provider"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Logger, Schema, Stream, Tracer } from "effect"
import { type AiError, LanguageModel, Model, type Response, Tool, Toolkit } from "effect/ai"
import { Agent, AgentState, Guardrail } from "troupe"
import { AiSdkModel } from "troupe/ai-sdk"
import { finish, saying, saying3, streaming } from "./stub.ts"

const providerMetadata = { house: { id: "x", kept: null } }

const Search = Tool.providerDefined({
  id: "house.search",
  customName: "search",
  providerName: "search_2",
  parameters: Schema.Unknown,
  success: Schema.Unknown,
  failure: Schema.Unknown
})(undefined)

const Kit = Toolkit.make(Tool.make("look", { parameters: Schema.Struct({ at: Schema.String }) }), Search)

const ask = { prompt: "Hi", toolkit: Kit, disableToolCallResolution: true } as const

/** Parts as plain data, without what every one of them has. */
const plain = (parts: ReadonlyArray<Response.AnyPart>): unknown =>
  JSON.parse(JSON.stringify(parts)).map((part: Record<string, unknown>) => {
    const { metadata, "~effect/ai/Response/Part": _, ...rest } = part
    return Object.keys(metadata as object).length === 0 ? rest : { ...rest, metadata }
  })

const generated = (
  content: ReadonlyArray<LanguageModelV4Content>,
  more: Parameters<typeof saying>[1] = {},
  options: object = {}
) =>
  LanguageModel.generateText({ ...ask, ...options }).pipe(
    Effect.map(({ content }) => plain(content) as ReadonlyArray<Record<string, unknown>>),
    Effect.provide(AiSdkModel.layer(saying([content], more).model))
  )

const citation = {
  source: { type: "source", sourceType: "url", id: "s", url: "https://a.b" },
  citedText: "warm"
} as const

const contents: ReadonlyArray<readonly [content: LanguageModelV4Content, part: unknown]> = [
  [{ type: "text", text: "a", providerMetadata }, { type: "text", text: "a", metadata: providerMetadata }],
  [{ type: "text", text: "a", citations: [citation] }, {
    type: "text",
    text: "a",
    metadata: { "ai-sdk": { citations: [citation] } }
  }],
  [{ type: "reasoning", text: "r", providerMetadata }, { type: "reasoning", text: "r", metadata: providerMetadata }],
  [{ type: "file", mediaType: "image/png", data: { type: "data", data: "iVBORw==" } }, {
    type: "file",
    mediaType: "image/png",
    data: { 0: 137, 1: 80, 2: 78, 3: 71 }
  }],
  [{ type: "file", mediaType: "image/png", data: { type: "data", data: new Uint8Array([1]) } }, {
    type: "file",
    mediaType: "image/png",
    data: { 0: 1 }
  }],
  [{ type: "source", sourceType: "url", id: "s", url: "https://a.b/", providerMetadata }, {
    type: "source",
    sourceType: "url",
    id: "s",
    url: "https://a.b/",
    title: "https://a.b/",
    metadata: providerMetadata
  }],
  [{ type: "source", sourceType: "document", id: "s", mediaType: "text/plain", title: "T", filename: "t.txt" }, {
    type: "source",
    sourceType: "document",
    id: "s",
    mediaType: "text/plain",
    title: "T",
    fileName: "t.txt"
  }],
  [{ type: "tool-call", toolCallId: "1", toolName: "look", input: "{\"at\":\"a\"}", providerMetadata }, {
    type: "tool-call",
    id: "1",
    name: "look",
    params: { at: "a" },
    providerExecuted: false,
    metadata: providerMetadata
  }],
  [{ type: "tool-call", toolCallId: "2", toolName: "search_2", input: "", providerExecuted: true }, {
    type: "tool-call",
    id: "2",
    name: "search",
    params: {},
    providerExecuted: true
  }],
  [{ type: "tool-result", toolCallId: "2", toolName: "search", result: { found: 1 }, providerMetadata }, {
    type: "tool-result",
    id: "2",
    name: "search",
    result: { found: 1 },
    encodedResult: { found: 1 },
    isFailure: false,
    preliminary: false,
    providerExecuted: true,
    metadata: providerMetadata
  }],
  [{ type: "tool-result", toolCallId: "2", toolName: "search", result: "no", isError: true, preliminary: true }, {
    type: "tool-result",
    id: "2",
    name: "search",
    result: "no",
    encodedResult: "no",
    isFailure: true,
    preliminary: true,
    providerExecuted: true
  }],
  [{ type: "tool-approval-request", approvalId: "a", toolCallId: "2" }, {
    type: "tool-approval-request",
    approvalId: "a",
    toolCallId: "2"
  }]
]

/** Content without a part of its own, and what a provider is sent of it. */
const carried: ReadonlyArray<readonly [content: LanguageModelV4Content, sent: unknown]> = [
  [{ type: "custom", kind: "house.compaction", providerMetadata }, {
    type: "custom",
    kind: "house.compaction",
    providerOptions: providerMetadata
  }],
  [{ type: "reasoning-file", mediaType: "image/png", data: { type: "data", data: "iVBORw==" } }, {
    type: "reasoning-file",
    mediaType: "image/png",
    data: { type: "data", data: "iVBORw==" }
  }],
  [
    {
      type: "file",
      mediaType: "image/png",
      data: { type: "url", url: new URL("https://a.b/c.png") },
      providerMetadata
    },
    {
      type: "file",
      mediaType: "image/png",
      data: { type: "url", url: new URL("https://a.b/c.png") },
      providerOptions: providerMetadata
    }
  ],
  [
    {
      type: "tool-call",
      toolCallId: "m",
      toolName: "mcp.find",
      input: "{\"q\":1}",
      providerExecuted: true,
      dynamic: true,
      providerMetadata
    },
    {
      type: "tool-call",
      toolCallId: "m",
      toolName: "mcp.find",
      input: { q: 1 },
      providerExecuted: true,
      providerOptions: providerMetadata
    }
  ],
  [
    { type: "tool-result", toolCallId: "m", toolName: "mcp.find", result: [1], providerMetadata },
    {
      type: "tool-result",
      toolCallId: "m",
      toolName: "mcp.find",
      output: { type: "json", value: [1] },
      providerOptions: providerMetadata
    }
  ]
]

const streamOf = (content: LanguageModelV4Content): ReadonlyArray<LanguageModelV4StreamPart> => {
  const { type } = content
  return type === "text" || type === "reasoning"
    ? [
      { type: `${type}-start`, id: "0" },
      { type: `${type}-delta`, id: "0", delta: "" },
      { type: `${type}-delta`, id: "0", delta: content.text },
      {
        type: `${type}-end`,
        id: "0",
        ...("citations" in content ? { citations: content.citations } : undefined),
        ...("providerMetadata" in content ? { providerMetadata } : undefined)
      } as LanguageModelV4StreamPart
    ]
    : [content]
}

const run = (parts: ReadonlyArray<LanguageModelV4StreamPart>) => {
  const { model, seen } = streaming(parts)
  return Effect.map(
    LanguageModel.streamText({ ...ask }).pipe(Stream.runCollect, Effect.provide(AiSdkModel.layer(model))),
    (parts) => ({ parts: plain(parts) as ReadonlyArray<Record<string, unknown>>, seen })
  )
}

const end = { type: "finish", ...finish } as const

const reasonOf = <A>(self: Effect.Effect<A, AiError.AiError>) =>
  Effect.map(Effect.flip(self), ({ isRetryable, reason }) => [reason._tag, isRetryable, reason.message] as const)

describe("An answer of a model of the AI SDK", () => {
  it.effect("has each part that effect/ai has a place for, with what its provider attached", () =>
    Effect.gen(function*() {
      for (const [content, part] of contents) {
        const [given] = yield* generated([content])
        assert.deepStrictEqual(given, part)
      }
    }))

  it.effect("has the same streamed, texts in pieces, none of them empty", () =>
    Effect.gen(function*() {
      for (const [content, part] of contents) {
        const { parts } = yield* run([...streamOf(content), end])
        const spoken = parts.filter(({ type }) => type !== "finish")
        if (content.type !== "text" && content.type !== "reasoning") {
          assert.deepStrictEqual(spoken, [part])
          continue
        }
        assert.deepStrictEqual(spoken.map(({ delta, type }) => [type, delta]), [
          [`${content.type}-start`, undefined],
          [`${content.type}-delta`, content.text],
          [`${content.type}-end`, undefined]
        ])
        assert.deepStrictEqual(spoken[2]!["metadata"], (part as { readonly metadata: unknown }).metadata)
      }
    }))

  it.effect("leaves out a source that isn't at a URL, and reads data of specification 3", () =>
    Effect.gen(function*() {
      const parts = yield* generated([{ type: "source", sourceType: "url", id: "s", url: "nowhere" }])
      assert.deepStrictEqual(parts.map(({ type }) => type), ["finish"])
      const { content } = yield* LanguageModel.generateText(ask).pipe(
        Effect.provide(AiSdkModel.layer(
          saying3([[
            { type: "file", mediaType: "image/png", data: "iVBORw==" },
            { type: "file", mediaType: "image/png", data: new Uint8Array([1]) }
          ]]).model
        ))
      )
      assert.deepStrictEqual(
        content.flatMap((part) => part.type === "file" ? [[...part.data]] : []),
        [[137, 80, 78, 71], [1]]
      )
    }))

  it.effect("gives back to the provider what effect/ai has no part for, unchanged, also through JSON", () =>
    Effect.gen(function*() {
      const agent = Agent.make("a")
      for (const [content, sent] of carried) {
        const { asked, model } = saying([[content, { type: "text", text: "One." }], [{ type: "text", text: "Two." }]])
        const layer = AiSdkModel.layer(model)
        const first = yield* Effect.provide(Agent.run(agent, "Hi"), layer)
        const stored = yield* Effect.fromResult(AgentState.fromJson(JSON.stringify(AgentState.toJson(first))))
        const second = yield* Effect.provide(Agent.continueConversation(agent, stored, "And?"), layer)
        assert.strictEqual(AgentState.text(second), "Two.")
        assert.deepStrictEqual(asked[1]!.prompt[1]?.content as unknown, [sent, { type: "text", text: "One." }])
        const { parts } = yield* run([...streamOf(content), end])
        assert.isTrue(JSON.stringify(parts).includes("carries"))
      }
    }))

  it.effect("shows nothing of calls that the provider makes with tools of its own, and no news of the stream", () =>
    Effect.gen(function*() {
      const { parts } = yield* run([
        { type: "stream-start", warnings: [] },
        { type: "custom", kind: "house.message_start" },
        { type: "ping" },
        { type: "raw", rawValue: {} },
        { type: "tool-input-start", id: "m", toolName: "mcp.find", providerExecuted: true },
        { type: "tool-input-delta", id: "m", delta: "{}" },
        { type: "tool-input-end", id: "m" },
        { type: "tool-input-start", id: "1", toolName: "look", providerMetadata },
        { type: "tool-input-delta", id: "1", delta: "{\"at\":\"a\"}" },
        { type: "tool-input-end", id: "1" },
        { type: "tool-input-start", id: "2", toolName: "search_2", providerExecuted: true },
        end
      ])
      assert.deepStrictEqual(parts.slice(0, -1), [
        { type: "tool-params-start", id: "1", name: "look", providerExecuted: false, metadata: providerMetadata },
        { type: "tool-params-delta", id: "1", delta: "{\"at\":\"a\"}" },
        { type: "tool-params-end", id: "1" },
        { type: "tool-params-start", id: "2", name: "search", providerExecuted: true }
      ])
    }))

  it.effect("says what the response is called and when it was made, why it ended and what it used", () =>
    Effect.gen(function*() {
      const response = { id: "r", modelId: "m", timestamp: new Date(0), headers: { a: "1", "set-cookie": "secret" } }
      const warnings = [{ type: "other", message: "beware" }] as const
      const [about, last] = yield* generated([], { response, providerMetadata, warnings: [...warnings] })
      assert.deepStrictEqual(about, {
        type: "response-metadata",
        id: "r",
        modelId: "m",
        timestamp: "1970-01-01T00:00:00.000Z"
      })
      assert.deepStrictEqual(last, {
        type: "finish",
        reason: "stop",
        usage: {
          inputTokens: { total: 10, uncached: 6, cacheRead: 3, cacheWrite: 1 },
          outputTokens: { total: 5, text: 3, reasoning: 2 }
        },
        response: { status: 200, headers: { a: "1" } },
        metadata: { ...providerMetadata, "ai-sdk": { finishReason: "stop", usage: { total: 15 }, warnings } }
      })
      const { parts } = yield* run([
        { type: "stream-start", warnings: [...warnings] },
        { type: "response-metadata", id: "r", modelId: "m", timestamp: new Date(0) },
        { ...end, providerMetadata }
      ])
      assert.deepStrictEqual(parts, [about!, { ...last, response: { status: 200, headers: { "x-request-id": "r1" } } }])
    }))

  it.effect("has a reason for its end that effect/ai knows, and no count that isn't one", () =>
    Effect.gen(function*() {
      const ends = [
        ["stop", "pause_turn", "pause"],
        ["length", "max", "length"],
        ["content-filter", "x", "content-filter"],
        ["tool-calls", "x", "tool-calls"],
        ["error", undefined, "error"],
        ["other", undefined, "other"],
        ["interrupted", undefined, "unknown"]
      ] as const
      for (const [unified, raw, reason] of ends) {
        const call = { type: "tool-call", toolCallId: "1", toolName: "look", input: "{\"at\":\"it\"}" } as const
        const last = (yield* generated([call], { finishReason: { unified, raw } })).at(-1)
        assert.strictEqual(last!["reason"], reason)
      }
      const inputTokens = { total: Number.NaN, noCache: 0.5, cacheRead: -1, cacheWrite: undefined }
      const [last] = yield* generated([], {
        usage: { inputTokens, outputTokens: { total: 1, text: undefined, reasoning: undefined } }
      })
      assert.deepStrictEqual(last!["usage"], { inputTokens: {}, outputTokens: { total: 1 } })
    }))

  it.effect("tells the agent of parameters that are no JSON, and fails whoever has calls checked", () =>
    Effect.gen(function*() {
      const call = { type: "tool-call", toolCallId: "1", toolName: "look", input: "{\"at" } as const
      assert.deepStrictEqual((yield* reasonOf(generated([call]))).slice(0, 2), ["ToolParameterValidationError", true])
      assert.deepStrictEqual((yield* reasonOf(run([call, end]))).slice(0, 2), ["ToolParameterValidationError", true])
      const poison = { ...call, input: "{\"__proto__\":{}}" }
      assert.strictEqual((yield* reasonOf(generated([poison])))[0], "ToolParameterValidationError")
      const { asked, model } = saying([[call], [{ type: "text", text: "Sorry." }]])
      const agent = Agent.make("a", { toolkit: Toolkit.make(Kit.tools.look) })
      const state = yield* Agent.run(agent, "Look.").pipe(
        Effect.provide(Toolkit.make(Kit.tools.look).toLayer({ look: () => Effect.void })),
        Effect.provide(AiSdkModel.layer(model))
      )
      assert.strictEqual(AgentState.text(state), "Sorry.")
      assert.include(JSON.stringify(asked[1]!.prompt), "error-text")
    }))

  it.effect("takes for structured output what the provider says is it, and the rest for reasoning", () =>
    Effect.gen(function*() {
      const { model } = saying([[{ type: "text", text: "Let me see." }, { type: "text", text: "{\"a\":1}" }]], {
        structuredOutputText: "{\"a\":1}"
      })
      const schema = Schema.Struct({ a: Schema.Int })
      const { reasoningText, value } = yield* LanguageModel.generateObject({ prompt: "Hi", schema }).pipe(
        Effect.provide(AiSdkModel.layer(model))
      )
      assert.deepStrictEqual(value, { a: 1 })
      assert.include(reasoningText, "Let me see.")
    }))
})

describe("A stream of a model of the AI SDK", () => {
  const long: ReadonlyArray<LanguageModelV4StreamPart> = [
    { type: "text-start", id: "0" },
    ...Array.from({ length: 50 }, (_, at) => ({ type: "text-delta", id: "0", delta: `${at} ` }) as const),
    { type: "text-end", id: "0" },
    end
  ]

  it.effect("is pulled as fast as it is taken, and let go of with its request where it isn't taken to its end", () =>
    Effect.gen(function*() {
      const { model, seen } = streaming(long)
      const pulled: Array<number> = []
      yield* LanguageModel.streamText({ prompt: "Hi" }).pipe(
        Stream.take(5),
        Stream.runForEach(() => Effect.sync(() => void pulled.push(seen.pulled))),
        Effect.provide(AiSdkModel.layer(model))
      )
      assert.deepStrictEqual(pulled, [1, 2, 3, 4, 5])
      assert.isTrue(seen.cancelled)
      assert.isTrue(seen.signal?.aborted)
    }))

  it.effect("isn't aborted where it came to its end", () =>
    Effect.gen(function*() {
      const { seen } = yield* run(long)
      assert.isFalse(seen.cancelled)
      assert.isFalse(seen.signal?.aborted)
    }))

  it.effect("is let go of although the provider never tells that it has let go", () =>
    Effect.gen(function*() {
      const { model, seen } = streaming(long)
      const never: typeof model = {
        ...model,
        doStream: async (options) => {
          const { stream } = await model.doStream(options)
          const [one] = stream.tee()
          return { stream: one }
        }
      }
      const taken = LanguageModel.streamText({ prompt: "Hi" }).pipe(Stream.take(1), Stream.runDrain)
      yield* Effect.provide(taken, AiSdkModel.layer(never))
      assert.isTrue(seen.signal?.aborted)
    }))

  it.effect("is let go of although it begins only once nobody waits for it", () =>
    Effect.gen(function*() {
      const { model, seen } = streaming(long)
      const hasAsked = yield* Deferred.make<void>()
      let begin = () => {}
      const late: typeof model = {
        ...model,
        doStream: async (options) => {
          Deferred.doneUnsafe(hasAsked, Effect.void)
          await new Promise<void>((resolve) => {
            begin = resolve
          })
          return model.doStream(options)
        }
      }
      const fiber = yield* Stream.runDrain(LanguageModel.streamText({ prompt: "Hi" })).pipe(
        Effect.provide(AiSdkModel.layer(late)),
        Effect.forkChild
      )
      yield* Deferred.await(hasAsked)
      yield* Fiber.interrupt(fiber)
      begin()
      yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
      assert.isTrue(seen.cancelled)
    }))

  it.effect("is over once it has its finish, whatever error follows, and needs no headers", () =>
    Effect.gen(function*() {
      const { parts } = yield* run([...long, { type: "error", error: new Error("late") }])
      assert.strictEqual(parts.at(-1)?.type, "finish")
      // A package may make up an end when the connection closes.
      const madeUp = { ...end, finishReason: { unified: "other", raw: undefined } } as const
      assert.deepStrictEqual((yield* run([...long, madeUp])).parts, parts)
      const { model } = streaming(long.slice(0, 3))
      const headless = {
        ...model,
        doStream: async (options) => ({ ...await model.doStream(options), response: { headers: null as never } })
      } satisfies typeof model
      const reason = yield* reasonOf(Effect.provide(
        Stream.runDrain(LanguageModel.streamText({ prompt: "Hi" })),
        AiSdkModel.layer(headless)
      ))
      assert.strictEqual(reason[0], "NetworkError")
    }))

  it.effect("fails where it ends before the answer does, as the provider says or as it stops", () =>
    Effect.gen(function*() {
      const cut = ["NetworkError", true]
      const interrupted = { ...end, finishReason: { unified: "interrupted", raw: undefined } } as const
      assert.deepStrictEqual((yield* reasonOf(run(long.slice(0, 3)))).slice(0, 2), cut)
      assert.deepStrictEqual((yield* reasonOf(run([...long.slice(0, 3), interrupted]))).slice(0, 2), cut)
    }))
})

describe("AiSdkModel", () => {
  it.effect("gives a Model that says the names of its provider and of itself, and asks it without a toolkit", () =>
    Effect.gen(function*() {
      const { model } = saying([[{ type: "text", text: "ok" }]])
      const made = AiSdkModel.model(model, { temperature: 0 })
      assert.strictEqual(made.provider, "house")
      const said = yield* Effect.gen(function*() {
        const { text } = yield* LanguageModel.generateText({ prompt: "Hi" })
        return [text, yield* Model.ProviderName, yield* Model.ModelName]
      }).pipe(Effect.provide(made))
      assert.deepStrictEqual(said, ["ok", "house", "one"])
    }))

  it.effect("aborts a request that is interrupted", () =>
    Effect.gen(function*() {
      const { model } = saying([])
      const seen = yield* Deferred.make<AbortSignal | undefined>()
      const never: typeof model = {
        ...model,
        doGenerate: (options) => {
          Deferred.doneUnsafe(seen, Effect.succeed(options.abortSignal))
          return new Promise(() => {})
        }
      }
      const fiber = yield* LanguageModel.generateText({ prompt: "Hi" }).pipe(
        Effect.provide(AiSdkModel.layer(never)),
        Effect.forkChild({ startImmediately: true })
      )
      const signal = yield* Deferred.await(seen)
      assert.isFalse(signal?.aborted)
      yield* Fiber.interrupt(fiber)
      assert.isTrue(signal?.aborted)
      assert.isTrue(Exit.hasInterrupts(yield* Fiber.await(fiber)))
    }))

  it.effect("logs what the provider warns of, once for each request, and its words only if content is recorded", () =>
    Effect.gen(function*() {
      const warnings = [
        { type: "unsupported", feature: "seed" },
        { type: "compatibility", feature: "json", details: "by a tool" },
        { type: "deprecated", setting: "user", message: "use safety" },
        { type: "other", message: "logprobs and Text parts of tools: {\"source\":\"Hi\"}" },
        { type: "other", message: "Hi" }
      ] as const
      const logged = Effect.fnUntraced(function*(recordsContent: boolean, warnings: ReadonlyArray<SharedV4Warning>) {
        const lines: Array<string> = []
        const logger = Logger.make<unknown, void>(({ logLevel, message }) =>
          void lines.push(`${logLevel} ${String(message)}`)
        )
        yield* Effect.gen(function*() {
          yield* generated([], { warnings: [...warnings] })
          yield* run([{ type: "stream-start", warnings: [...warnings] }, end])
          yield* generated([])
        }).pipe(Effect.provideService(Agent.RecordContent, recordsContent), Effect.provide(Logger.layer([logger])))
        return lines
      })
      const whole =
        "Warn house.chat one: unsupported: seed; compatibility: json (by a tool); deprecated: user (use safety); "
        + "logprobs and Text parts of tools: {\"source\":\"Hi\"}; Hi"
      assert.deepStrictEqual(yield* logged(true, warnings), [whole, whole])
      const bare = "Warn house.chat one: unsupported: seed; compatibility: json; deprecated: user; "
        + "other: logprobs, Text, tool; other; Agent.RecordContent logs all words"
      assert.deepStrictEqual(yield* logged(false, warnings), [bare, bare])
      const seed = "Warn house.chat one: unsupported: seed"
      assert.deepStrictEqual(yield* logged(false, warnings.slice(0, 1)), [seed, seed])
    }))

  it.effect("never logs the words of a warning while a guardrail beside the request judges the input", () =>
    Effect.gen(function*() {
      for (const isParallel of [false, true]) {
        const lines: Array<string> = []
        const logger = Logger.make<unknown, void>(({ message }) => void lines.push(String(message)))
        const agent = Agent.make("a", {
          guardrails: {
            input: [Guardrail.make("g", () => Guardrail.pass, { mode: isParallel ? "parallel" : "blocking" })]
          }
        })
        const { model } = saying([[{ type: "text", text: "Hm." }]], {
          warnings: [{ type: "other", message: "The text is Hi" }]
        })
        yield* Agent.run(agent, "Hi").pipe(
          Effect.provideService(Agent.RecordContent, true),
          Effect.provide([AiSdkModel.layer(model), Logger.layer([logger])])
        )
        const said = isParallel ? "other: text; Agent.RecordContent logs all words" : "The text is Hi"
        assert.deepStrictEqual(lines, [`house.chat one: ${said}`])
      }
    }))

  it.effect("logs that a model of specification 3 doesn't get the setting `reasoning`, whole and streamed", () =>
    Effect.gen(function*() {
      const lines: Array<string> = []
      const logger = Logger.make<unknown, void>(({ logLevel, message }) =>
        void lines.push(`${logLevel} ${String(message)}`)
      )
      for (const reasoning of ["high", "provider-default", undefined] as const) {
        const { asked, model } = saying3([[{ type: "text", text: "Hm." }]])
        yield* Effect.gen(function*() {
          yield* LanguageModel.generateText({ prompt: "Hi" })
          yield* Effect.exit(Stream.runDrain(LanguageModel.streamText({ prompt: "Hi" })))
        }).pipe(
          Effect.provide(AiSdkModel.layer(model, reasoning === undefined ? {} : { reasoning })),
          Effect.provide(Logger.layer([logger]))
        )
        assert.notProperty(asked[0], "reasoning")
      }
      const line = "Warn house.chat one: unsupported: reasoning " +
        "(this model is of specification 3: use the provider's own option)"
      assert.deepStrictEqual(lines, [line, line])
    }))

  it.effect("says in the request's span what is asked and what was answered", () =>
    Effect.gen(function*() {
      const spans: Array<Tracer.Span> = []
      const tracer = Tracer.make({
        span: (options) => {
          const span = new Tracer.NativeSpan(options)
          spans.push(span)
          return span
        }
      })
      const { model } = saying([[]], { response: { id: "r", modelId: "one-2" } })
      yield* LanguageModel.generateText({ prompt: "Hi" }).pipe(
        Effect.provide(AiSdkModel.layer(model, { temperature: 0, maxOutputTokens: 9 })),
        Effect.provideService(Tracer.Tracer, tracer)
      )
      assert.deepInclude(Object.fromEntries(spans[0]!.attributes), {
        "gen_ai.provider.name": "house",
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "one",
        "gen_ai.request.temperature": 0,
        "gen_ai.request.max_tokens": 9,
        "gen_ai.response.id": "r",
        "gen_ai.response.model": "one-2",
        "gen_ai.usage.input_tokens": 10,
        "gen_ai.usage.output_tokens": 5
      })
    }))
})
