/** What of a request reaches a model, in both specifications. */
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Schema, Struct } from "effect"
import { LanguageModel, Prompt, Tool, Toolkit } from "effect/ai"
import { toCodecAnthropic } from "effect/ai/AnthropicStructuredOutput"
import { Agent } from "troupe"
import { AiSdkModel } from "troupe/ai-sdk"
import { saying, saying3 } from "./stub.ts"

const answer = [{ type: "text", text: "ok" }] as const

const png = new Uint8Array([137, 80, 78, 71])
const part = Prompt.makePart
const cached = { anthropic: { cacheControl: { type: "ephemeral" } } }
const noted = { ...cached, "ai-sdk": { citations: [] }, other: null }

const result = (result: unknown, more: object = {}) =>
  part("tool-result", { id: "1", name: "look", isFailure: false, providerExecuted: false, result, ...more })

const prompt = Prompt.fromMessages([
  Prompt.makeMessage("system", { content: "Be brief.", options: cached }),
  Prompt.makeMessage("user", {
    content: [
      part("text", { text: "See.", options: noted }),
      part("text", { text: "" }),
      part("file", { mediaType: "image/png", data: png, fileName: "a.png" }),
      part("file", { mediaType: "image/png", data: "iVBORw==" }),
      part("file", { mediaType: "text/plain", data: "data:text/plain;base64,aGk=" }),
      part("file", { mediaType: "text/plain", data: "data:,h%C3%A9" }),
      part("file", { mediaType: "text/plain", data: "data:,100%" }),
      part("file", { mediaType: "image/png", data: "https://a.b/c.png" }),
      part("file", { mediaType: "application/pdf", data: new URL("https://a.b/c.pdf"), options: cached })
    ]
  }),
  Prompt.makeMessage("assistant", {
    content: [
      part("reasoning", { text: "Hm.", options: { anthropic: { signature: "c2ln" } } }),
      part("reasoning", { text: "", options: { openai: { itemId: "rs_1" } } }),
      part("text", { text: "" }),
      part("text", { text: "I look." }),
      part("tool-call", { id: "1", name: "look", params: { at: "a" }, providerExecuted: false, options: cached }),
      part("tool-call", { id: "2", name: "look", params: "{\"at", providerExecuted: false }),
      part("tool-call", { id: "3", name: "search", params: "as text", providerExecuted: true }),
      part("tool-result", { id: "3", name: "search", isFailure: true, providerExecuted: true, result: "nothing" })
    ]
  }),
  Prompt.makeMessage("tool", {
    content: [
      result("seen", { options: cached }),
      result({ seen: true }),
      result(undefined),
      result("gone", { isFailure: true }),
      result({ _tag: "Gone" }, { isFailure: true }),
      result({ type: "execution-denied", reason: "no" }, { isFailure: true }),
      result("a picture", {
        modelOutput: [
          part("text", { text: "this" }),
          part("file", { mediaType: "image/png", data: png }),
          part("file", { mediaType: "application/pdf", data: new URL("https://a.b/c.pdf"), fileName: "c.pdf" })
        ]
      }),
      result("no picture", { isFailure: true, modelOutput: [part("text", { text: "blurred" })] })
    ]
  }),
  Prompt.makeMessage("user", { content: [part("text", { text: "" })] })
])

const providerOptions = cached

const user = [
  { type: "text", text: "See.", providerOptions },
  { type: "file", mediaType: "image/png", data: { type: "data", data: "iVBORw==" }, filename: "a.png" },
  { type: "file", mediaType: "image/png", data: { type: "data", data: "iVBORw==" } },
  { type: "file", mediaType: "text/plain", data: { type: "data", data: "aGk=" } },
  { type: "file", mediaType: "text/plain", data: { type: "data", data: "aMOp" } },
  { type: "file", mediaType: "text/plain", data: { type: "data", data: "MTAwJQ==" } },
  { type: "file", mediaType: "image/png", data: { type: "url", url: new URL("https://a.b/c.png") } },
  {
    type: "file",
    mediaType: "application/pdf",
    data: { type: "url", url: new URL("https://a.b/c.pdf") },
    providerOptions
  }
]

const assistant = [
  { type: "reasoning", text: "Hm.", providerOptions: { anthropic: { signature: "c2ln" } } },
  { type: "reasoning", text: "", providerOptions: { openai: { itemId: "rs_1" } } },
  { type: "text", text: "I look." },
  { type: "tool-call", toolCallId: "1", toolName: "look", input: { at: "a" }, providerOptions },
  { type: "tool-call", toolCallId: "2", toolName: "look", input: {} },
  { type: "tool-call", toolCallId: "3", toolName: "search", input: "as text", providerExecuted: true },
  { type: "tool-result", toolCallId: "3", toolName: "search", output: { type: "error-json", value: "nothing" } }
]

const sentResult = (output: unknown, more: object = {}) => ({
  type: "tool-result",
  toolCallId: "1",
  toolName: "look",
  output,
  ...more
})

const results = (content: ReadonlyArray<unknown>) => [
  sentResult({ type: "text", value: "seen" }, { providerOptions }),
  sentResult({ type: "json", value: { seen: true } }),
  sentResult({ type: "json", value: null }),
  sentResult({ type: "error-text", value: "gone" }),
  sentResult({ type: "error-json", value: { _tag: "Gone" } }),
  sentResult({ type: "execution-denied", reason: "no" }),
  sentResult({ type: "content", value: content }),
  sentResult({ type: "error-text", value: "blurred" })
]

const Search = Tool.providerDefined({
  id: "house.search",
  customName: "search",
  providerName: "search_2",
  args: Schema.Struct({ depth: Schema.Int }),
  parameters: Schema.Unknown,
  success: Schema.Unknown,
  failure: Schema.Unknown
})({ depth: 2 })

const Look = Tool.make("look", {
  description: "Looks",
  parameters: Schema.Struct({ at: Schema.String, far: Schema.optionalKey(Schema.Boolean) })
})

const Kit = Toolkit.make(Look, Search)

const ask = (options: object = {}) =>
  LanguageModel.generateText({ prompt, toolkit: Kit, disableToolCallResolution: true, ...options })

describe("A request to a model of the AI SDK", () => {
  it.effect("has all that stands in a prompt, with what its provider attached", () =>
    Effect.gen(function*() {
      const { asked, model } = saying([answer])
      yield* Effect.provide(ask(), AiSdkModel.layer(model, { resultFiles: true }))
      assert.deepStrictEqual(asked[0]!.prompt as unknown, [
        { role: "system", content: "Be brief.", providerOptions },
        { role: "user", content: user },
        { role: "assistant", content: assistant },
        {
          role: "tool",
          content: results([
            { type: "text", text: "this" },
            { type: "file", mediaType: "image/png", data: { type: "data", data: "iVBORw==" } },
            {
              type: "file",
              mediaType: "application/pdf",
              data: { type: "url", url: new URL("https://a.b/c.pdf") },
              filename: "c.pdf"
            }
          ])
        }
      ])
    }))

  it.effect("has the bytes of a data URL, which may be escaped, as base64 or not", () =>
    Effect.gen(function*() {
      const files: ReadonlyArray<readonly [url: string | URL, base64: string]> = [
        ["data:image/gif,GIF89a%01%00%FF%d8%", "R0lGODlhAQD/2CU="],
        [new URL("data:image/gif,%FF%25"), "/yU="],
        ["data:,caf\u00e9%C3%A9", "Y2Fmw6nDqQ=="],
        ["data:image/gif;base64,AQID%2F%2B8%3D", "AQID/+8="],
        ["DATA:image/gif;BASE64 ,AQID", "AQID"]
      ]
      const { asked, model } = saying([[{ type: "text", text: "Hi" }]])
      yield* LanguageModel.generateText({
        prompt: [{
          role: "user",
          content: files.map(([data]) => ({ type: "file" as const, mediaType: "image/gif", data }))
        }]
      }).pipe(Effect.provide(AiSdkModel.layer(model)))
      assert.deepStrictEqual<unknown>(
        asked[0]!.prompt[0]!.content,
        files.map(([, data]) => ({ type: "file", mediaType: "image/gif", data: { type: "data", data } }))
      )
    }))

  it.effect("has a note for each file in a result where the provider takes texts alone, whoever was asked before", () =>
    Effect.gen(function*() {
      const outputs = Effect.fnUntraced(function*(provider: string, options?: AiSdkModel.Options) {
        const { asked, model } = saying([answer, answer])
        yield* Effect.provide(ask(), AiSdkModel.layer({ ...model, provider }, options))
        const [message] = asked[0]!.prompt.filter(({ role }) => role === "tool")
        return (message!.content as ReadonlyArray<{ readonly output?: unknown }>)[6]?.output
      })
      const value = "this\n[A file of type image/png: this provider takes none in results.]\n" +
        "[A file of type application/pdf: this provider takes none in results.]"
      for (const provider of ["openai.chat", "mistral.chat", "house.completion"]) {
        assert.deepStrictEqual(yield* outputs(provider), { type: "text", value })
      }
      for (const provider of ["openai.responses", "anthropic.messages", "google.vertex.chat", "amazon-bedrock"]) {
        assert.deepInclude(yield* outputs(provider), { type: "content" })
      }
      assert.deepStrictEqual(yield* outputs("openai.responses", { resultFiles: false }), { type: "text", value })
      assert.deepInclude(yield* outputs("house.chat", { resultFiles: true }), { type: "content" })
    }))

  it.effect("has the same in specification 3, where data is untagged", () =>
    Effect.gen(function*() {
      const { asked, model } = saying3([answer])
      yield* Effect.provide(ask(), AiSdkModel.layer(model, { resultFiles: true }))
      assert.deepStrictEqual(asked[0]!.prompt as unknown, [
        { role: "system", content: "Be brief.", providerOptions },
        {
          role: "user",
          content: user.map(({ data, ...part }) =>
            data === undefined ? part : { ...part, data: "url" in data ? data.url : data.data }
          )
        },
        { role: "assistant", content: assistant },
        {
          role: "tool",
          content: results([
            { type: "text", text: "this" },
            { type: "image-data", mediaType: "image/png", data: "iVBORw==" },
            { type: "file-url", url: "https://a.b/c.pdf" }
          ])
        }
      ])
    }))

  it.effect("has no message in specification 3 of which it has no part: such a message is left out", () =>
    Effect.gen(function*() {
      const { asked, model } = saying3([answer])
      const { model: other } = saying([[{ type: "custom", kind: "house.compaction" }]])
      const agent = Agent.make("a")
      const state = yield* Effect.provide(Agent.run(agent, "Hi"), AiSdkModel.layer(other))
      yield* Effect.provide(Agent.continueConversation(agent, state, "And?"), AiSdkModel.layer(model))
      assert.deepStrictEqual(asked[0]!.prompt.map(({ role }) => role), ["user", "user"])
    }))

  it.effect("has the messages and the tools of requests before it as they were made then, and nobody can change them", () =>
    Effect.gen(function*() {
      const { asked, model } = saying([answer, answer])
      let reads = 0
      const counted = {
        get at() {
          return `${++reads}`
        }
      }
      const said = Prompt.fromMessages([
        Prompt.makeMessage("user", { content: [part("text", { text: "Look.", options: cached })] }),
        Prompt.makeMessage("assistant", {
          content: [part("tool-call", { id: "1", name: "look", params: { at: "a" }, providerExecuted: false })]
        }),
        Prompt.makeMessage("tool", { content: [result(counted)] })
      ])
      yield* Effect.provide(ask({ prompt: said }), AiSdkModel.layer(model))
      const more = Prompt.concat(said, "And now?")
      yield* Effect.provide(ask({ prompt: more }), AiSdkModel.layer(model))
      const [first, second] = [asked[0]!, asked[1]!]
      assert.strictEqual(reads, 1)
      assert.strictEqual(second.prompt.length, 4)
      for (const [at, message] of first.prompt.entries()) assert.strictEqual(second.prompt[at], message)
      for (const [at, tool] of first.tools!.entries()) assert.strictEqual(second.tools![at], tool)
      assert.throws(() => Object.assign(first.prompt[0]!, { role: "system" }), TypeError)
      assert.throws(() => (first.prompt[0]!.content as Array<unknown>).push("more"), TypeError)
      assert.throws(() => Object.assign(first.prompt[0]!.content[0]!, { text: "more" }), TypeError)
      assert.throws(() => Object.assign(first.tools![0]!, { name: "more" }), TypeError)
      // The list is the request's own.
      first.prompt.pop()
      assert.strictEqual(second.prompt.length, 4)
    }))

  it.effect("has a call whose parameters are a text as the tools that are offered with it take it", () =>
    Effect.gen(function*() {
      const { asked, model } = saying([answer, answer, answer])
      const said = Prompt.fromMessages([
        Prompt.makeMessage("user", { content: [part("text", { text: "Look." })] }),
        Prompt.makeMessage("assistant", {
          content: [part("tool-call", { id: "1", name: "search", params: "far", providerExecuted: false })]
        }),
        Prompt.makeMessage("tool", {
          content: [
            part("tool-result", { id: "1", name: "search", isFailure: false, providerExecuted: false, result: 1 })
          ]
        })
      ])
      for (const toolkit of [Toolkit.make(Look), Kit, Toolkit.make(Look)]) {
        yield* Effect.provide(ask({ prompt: said, toolkit }), AiSdkModel.layer(model))
      }
      const inputs = asked.map(({ prompt }) =>
        (prompt[1] as unknown as { content: [{ input: unknown }] }).content[0].input
      )
      assert.deepStrictEqual(inputs, [{}, "far", {}])
    }))

  it.effect("has the tools, those of the provider with their arguments, and which of them is to be called", () =>
    Effect.gen(function*() {
      const { asked, model } = saying(Array.from({ length: 5 }, () => answer))
      const choices = ["auto", "required", "none", { tool: "search" }, { mode: "required", oneOf: ["look"] }]
      for (const toolChoice of choices) yield* Effect.provide(ask({ toolChoice }), AiSdkModel.layer(model))
      const look = {
        type: "function",
        name: "look",
        description: "Looks",
        inputSchema: {
          type: "object",
          properties: { at: { type: "string" }, far: { type: "boolean" } },
          required: ["at"],
          additionalProperties: true
        }
      }
      const search = { type: "provider", id: "house.search", name: "search", args: { depth: 2 } }
      assert.deepStrictEqual(asked.map(({ tools }) => tools as unknown), [
        ...choices.slice(0, 4).map(() => [look, search]),
        [look]
      ])
      assert.deepStrictEqual(asked.map(({ toolChoice }) => toolChoice), [
        { type: "auto" },
        { type: "required" },
        { type: "none" },
        { type: "tool", toolName: "search" },
        { type: "required" }
      ])
    }))

  it.effect("has a strict tool in the form of its provider, and gives its parameters as the tool has them", () =>
    Effect.gen(function*() {
      const input = JSON.stringify({ at: "a", far: null })
      const { asked, model } = saying([[{ type: "tool-call", toolCallId: "1", toolName: "look", input }]])
      const { toolCalls } = yield* LanguageModel.generateText({
        prompt: "Look.",
        toolkit: Toolkit.make(Look.annotate(Tool.Strict, true)),
        disableToolCallResolution: true
      }).pipe(Effect.provide(AiSdkModel.layer(model)))
      const [tool] = asked[0]!.tools ?? []
      assert.deepInclude(tool, { strict: true })
      const schema = tool?.type === "function" ? tool.inputSchema : undefined
      assert.deepInclude(schema, { required: ["at", "far"], additionalProperties: false })
      assert.deepStrictEqual(toolCalls[0]?.params as unknown, { at: "a" })
    }))

  it.effect("has a schema for its answer, in the form of its provider", () =>
    Effect.gen(function*() {
      const json = [{ type: "text", text: "{\"at\":\"a\",\"far\":null,\"steps\":1}" }] as const
      const schema = Schema.Struct({
        at: Schema.String,
        far: Schema.optionalKey(Schema.Boolean),
        steps: Schema.Int.check(Schema.isGreaterThanOrEqualTo(1))
      }).annotate({ identifier: "place", description: "A place" })
      const read = Effect.fnUntraced(function*(provider?: string, options?: AiSdkModel.Options) {
        const { asked, model } = saying([json], {}, provider)
        const { value } = yield* LanguageModel.generateObject({ prompt: "Where?", schema }).pipe(
          Effect.provide(AiSdkModel.layer(model, options))
        )
        assert.deepStrictEqual(value, { at: "a", steps: 1 })
        const format = asked[0]!.responseFormat
        assert.deepInclude(format, { type: "json", name: "place", description: "A place" })
        return format?.type === "json" ? format.schema : undefined
      })
      const strict = { type: "object", required: ["at", "far", "steps"], additionalProperties: false }
      const openAi = yield* read()
      assert.deepInclude(openAi, strict)
      assert.strictEqual(openAi?.properties.steps.minimum, 1)
      const anthropic = yield* read("anthropic.messages")
      assert.deepInclude(anthropic, strict)
      assert.notProperty(anthropic?.properties.steps, "minimum")
      assert.deepStrictEqual(yield* read("house", { codecTransformer: toCodecAnthropic }), anthropic)
    }))

  it.effect("has the settings of its layer under those of its context, options and headers by their names", () =>
    Effect.gen(function*() {
      const { asked, model } = saying([answer, answer])
      const common = {
        seed: 7,
        topP: 0.5,
        topK: 3,
        presencePenalty: 0.1,
        frequencyPenalty: 0.2,
        maxOutputTokens: 100,
        stopSequences: ["END"],
        reasoning: "low"
      } as const
      const layer = AiSdkModel.layer(model, {
        ...common,
        temperature: 1,
        headers: { a: "1", b: "1" },
        providerOptions: { house: { x: 1, y: 1 }, other: { z: 1 } }
      })
      const context = AiSdkModel.settings({
        temperature: 0,
        headers: { b: "2" },
        providerOptions: { house: { x: undefined, y: 2 } }
      })
      assert.deepStrictEqual(Context.get(context, AiSdkModel.CurrentSettings).temperature, 0)
      yield* LanguageModel.generateText({ prompt: "Hi" }).pipe(Effect.provideContext(context), Effect.provide(layer))
      yield* LanguageModel.generateText({ prompt: "Hi" }).pipe(Effect.provide(layer))
      const [over, under] = asked.map((options) => {
        assert.instanceOf(options.abortSignal, AbortSignal)
        return Struct.omit(options, ["abortSignal", "prompt"]) as unknown
      })
      assert.deepStrictEqual(over, {
        ...common,
        temperature: 0,
        headers: { a: "1", b: "2" },
        providerOptions: { house: { x: 1, y: 2 }, other: { z: 1 } }
      })
      assert.deepStrictEqual(under, {
        ...common,
        temperature: 1,
        headers: { a: "1", b: "1" },
        providerOptions: { house: { x: 1, y: 1 }, other: { z: 1 } }
      })
      const older = saying3([answer])
      yield* LanguageModel.generateText({ prompt: "Hi" }).pipe(
        Effect.provide(AiSdkModel.layer(older.model, { reasoning: "low", seed: 7 }))
      )
      assert.deepStrictEqual(Object.keys(older.asked[0]!).sort(), ["abortSignal", "prompt", "seed"])
    }))

  it.effect("has the settings of its layer where those of its context are undefined, and a header once, however it is spelled", () =>
    Effect.gen(function*() {
      const { asked, model } = saying([answer])
      const current: Record<string, unknown> = {
        temperature: undefined,
        stopSequences: undefined,
        headers: { "x-house": "2", "x-other": undefined }
      }
      yield* LanguageModel.generateText({ prompt: "Hi" }).pipe(
        Effect.provideContext(AiSdkModel.settings(current)),
        Effect.provide(AiSdkModel.layer(model, {
          temperature: 0.5,
          stopSequences: ["END"],
          headers: { "X-House": "1", "X-Other": "1" }
        }))
      )
      assert.deepStrictEqual<unknown>(Struct.omit(asked[0]!, ["abortSignal", "prompt"]), {
        temperature: 0.5,
        stopSequences: ["END"],
        headers: { "X-Other": "1", "x-house": "2" },
        providerOptions: {}
      })
      const nothing = yield* LanguageModel.generateText({ prompt: "Hi" }).pipe(
        Effect.provideContext(AiSdkModel.settings(undefined as never)),
        Effect.provide(AiSdkModel.layer(model, { temperature: 0.5 })),
        Effect.exit
      )
      assert.strictEqual(nothing._tag, "Success")
      assert.strictEqual(asked[1]?.temperature, 0.5)
    }))
})
