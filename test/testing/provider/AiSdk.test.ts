/** The Vercel AI SDK with its providers, each of them over a socket. */
import { createAnthropic } from "@ai-sdk/anthropic"
import { createOpenAI } from "@ai-sdk/openai"
import { createOpenAICompatible } from "@ai-sdk/openai-compatible"
import { assert, describe, it } from "@effect/vitest"
import { APICallError, generateText, isStepCount, jsonSchema, type LanguageModel, streamText, tool } from "ai"
import { createOpenAI as createOpenAI3 } from "ai-sdk-openai-3"
import { Effect } from "effect"
import { AiError } from "effect/ai"
import { InstructionChain, MockModel, MockProvider, MockResponse } from "../../../src/testing/index.ts"
import { itemsOf } from "../../../src/testing/provider/ResponsesRequest.ts"
import { booked, chain, question } from "./booking.ts"
import { rejection, served } from "./serve.ts"

const place = jsonSchema<{ readonly city: string }>({ type: "object", properties: { city: { type: "string" } } })

const tools = {
  get_weather: tool({ inputSchema: place, execute: ({ city }) => booked.get_weather(city) }),
  book: tool({ inputSchema: place, execute: ({ city }) => booked.book(city) })
}

interface Provider {
  readonly modelAt: (baseURL: string) => LanguageModel
  /** What an overloaded provider sends, and what it says of too many requests. */
  readonly overloaded: number
  readonly limited: string
  /** Whether reasoning is shown, and whether the provider itself searches. */
  readonly shows: boolean
  readonly searches: boolean
  readonly options?: Readonly<Record<string, Parameters<typeof generateText>[0]["providerOptions"]>>
}

const openai = (baseURL: string) => createOpenAI({ apiKey: "none", baseURL })

const limitedByOpenAi = "Rate limit reached for requests"

const providers: Readonly<Record<string, Provider>> = {
  "chat completions of OpenAI": {
    modelAt: (baseURL) => openai(baseURL).chat("gpt-5"),
    overloaded: 500,
    limited: limitedByOpenAi,
    shows: false,
    searches: false
  },
  "what is compatible with OpenAI": {
    modelAt: (baseURL) => createOpenAICompatible({ name: "mock", baseURL, includeUsage: true })("gpt-5"),
    overloaded: 500,
    limited: limitedByOpenAi,
    shows: true,
    searches: false
  },
  "OpenAI's responses": {
    modelAt: (baseURL) => openai(baseURL).responses("gpt-5"),
    overloaded: 500,
    limited: limitedByOpenAi,
    shows: true,
    searches: true,
    options: { ", with nothing stored": { openai: { store: false } } }
  },
  "Anthropic's messages": {
    modelAt: (baseURL) => createAnthropic({ apiKey: "none", baseURL })("claude-sonnet-5"),
    overloaded: 529,
    limited: "would exceed your account's rate limit",
    shows: true,
    searches: true,
    options: { " while it thinks": { anthropic: { thinking: { type: "enabled", budgetTokens: 1024 } } } }
  }
}

interface Step {
  readonly text: string
  readonly finishReason: string
  readonly toolResults: ReadonlyArray<{ readonly toolName: string; readonly input: unknown; readonly output: unknown }>
}

const summaryOf = ({ finishReason, text, toolResults }: Step) => [
  text,
  finishReason,
  toolResults.map(({ input, output, toolName }) => [toolName, input, output])
]

const expected = [
  ["Let me look.", "tool-calls", [
    ["get_weather", { city: "Paris" }, { city: "Paris", celsius: 5 }],
    ["get_weather", { city: "Oslo, far in the north" }, { city: "Oslo, far in the north", celsius: 22 }]
  ]],
  ["", "tool-calls", [["book", { city: "Paris" }, "done"]]],
  ["Booked Paris.", "stop", []]
]

for (const [what, { limited, modelAt, options = {}, overloaded, searches, shows }] of Object.entries(providers)) {
  describe(`the Vercel AI SDK for ${what}, over a socket`, () => {
    const model = Effect.map(MockProvider.url, (url) => modelAt(`${url}/v1`))

    for (const [how, providerOptions] of Object.entries({ "": {}, ...options })) {
      it.effect(`goes through a loop of tools that one chain drives, streamed and at once${how}`, () =>
        Effect.gen(function*() {
          const asked = {
            model: yield* model,
            tools,
            prompt: InstructionChain.embed(question, chain),
            stopWhen: isStepCount(9),
            maxRetries: 0,
            providerOptions: providerOptions ?? {}
          }
          const whole = yield* Effect.promise(() => generateText(asked))
          assert.deepStrictEqual(whole.steps.map(summaryOf), expected)
          const steps = yield* Effect.promise(() => Promise.resolve(streamText(asked).steps))
          assert.deepStrictEqual(steps.map(summaryOf), expected)
          assert.deepStrictEqual(
            steps.map(({ usage }) => usage.totalTokens),
            whole.steps.map(({ usage }) => usage.totalTokens)
          )
          const thought = shows ? ["Two cities.", undefined, "Warm enough."] : [undefined, undefined, undefined]
          for (const said of [whole.steps, steps]) {
            assert.deepStrictEqual(said.map(({ reasoningText }) => reasoningText || undefined), thought)
          }
          assert.strictEqual((yield* MockProvider.entries).length, 6)
        }).pipe(Effect.provide(served({ strict: true }))))
    }

    it.effect("tries again what it may, and makes errors of the rest", () =>
      Effect.gen(function*() {
        const asked = { model: yield* model, maxRetries: 2 }
        const result = yield* Effect.promise(() => generateText({ ...asked, prompt: "one" }))
        assert.strictEqual(result.text, "one")
        assert.deepStrictEqual((yield* MockProvider.entries).map(({ status }) => status), [429, overloaded, 200])
        const error = yield* rejection(() => generateText({ ...asked, prompt: "two", maxRetries: 0 }))
        assert.instanceOf(error, APICallError)
        if (!(error instanceof APICallError)) return
        assert.deepStrictEqual([error.statusCode, error.isRetryable], [429, true])
        assert.include(error.message, limited)
      }).pipe(Effect.provide(served({
        status: [429, overloaded].map((status) => ({ status, headers: { "retry-after-ms": "1" } }))
      }))))

    it.effect("hears of an error in the middle of a stream", () =>
      Effect.gen(function*() {
        const asked = { model: yield* model, prompt: "one", maxRetries: 0, onError: () => {} }
        const heard: Array<unknown> = []
        yield* Effect.promise(async () => {
          for await (const part of streamText(asked).stream) {
            if (part.type === "text-delta") heard.push(part.text)
            if (part.type === "error") heard.push((part.error as Error).message ?? part.error)
          }
        })
        assert.deepStrictEqual(heard.slice(0, 2), ["one", " two"])
        assert.include(JSON.stringify(heard[2]), "overloaded")
      }).pipe(Effect.provide(served({
        handler: MockModel.queue(MockResponse.breakAfter(
          "one two three",
          2,
          new AiError.InternalProviderError({ description: "overloaded" })
        ))
      }))))

    if (!searches) return

    it.effect("sees what the provider searched for and what it cites", () =>
      Effect.gen(function*() {
        const { cited, make, serverToolResult, serverToolUse, step } = InstructionChain
        const url = "https://example.com"
        const found = make(step([
          serverToolUse("web_search", { query: "warm" }),
          serverToolResult("web_search", { result: [{ url, title: "Example" }] }),
          cited("It is warm.", { url, title: "Example", cited_text: "warm" })
        ]))
        const asked = { model: yield* model, prompt: InstructionChain.embed("Search", found), maxRetries: 0 }
        const result = yield* Effect.promise(() => generateText(asked))
        assert.strictEqual(result.text, "It is warm.")
        assert.deepStrictEqual(result.toolCalls.map(({ toolName }) => toolName), ["web_search"])
        const urlsOf = (sources: typeof result.sources) =>
          sources.map((source) => source.sourceType === "url" && source.url)
        assert.include(urlsOf(result.sources), url)
        const streamed = yield* Effect.promise(() => Promise.resolve(streamText(asked).sources))
        assert.deepStrictEqual(urlsOf(streamed), urlsOf(result.sources))
      }).pipe(Effect.provide(served({ strict: true }))))
  })
}

describe("the Vercel AI SDK for OpenAI's responses", () => {
  it.effect("refers to what is stored, and sends what isn't", () =>
    Effect.gen(function*() {
      const asked = {
        model: openai(`${yield* MockProvider.url}/v1`).responses("gpt-5"),
        tools,
        prompt: InstructionChain.embed(question, chain),
        stopWhen: isStepCount(9)
      }
      for (const store of [true, false]) {
        yield* Effect.promise(() => generateText({ ...asked, providerOptions: { openai: { store } } }))
      }
      const requests = yield* MockProvider.requests("openai-responses")
      const refers = requests.map((request) => itemsOf(request).some(({ type }) => type === "item_reference"))
      assert.deepStrictEqual(refers, [false, true, true, false, false, false])
    }).pipe(Effect.provide(served({ strict: true }))))
})

describe("An error in the middle of a stream of responses", () => {
  for (const [version, create] of Object.entries({ newest: createOpenAI, "version before": createOpenAI3 })) {
    it.effect(`is heard by the AI SDK's provider for OpenAI, ${version}`, () =>
      Effect.promise(async () => {
        const error = new AiError.InternalProviderError({ description: "overloaded" })
        const handler = MockModel.make(() => MockResponse.breakAfter("one two", 1, error))
        const model = create({ apiKey: "none", fetch: MockProvider.make({ handler }).fetch }).responses("gpt-5")
        const heard: Array<string> = []
        const prompt = [{ role: "user" as const, content: [{ type: "text" as const, text: "Hello" }] }]
        const { stream } = await model.doStream({ prompt })
        for await (const part of stream) if (part.type === "error") heard.push(JSON.stringify(part.error))
        assert.strictEqual(heard.length, 1)
        assert.include(heard[0], "overloaded")
      }))
  }
})
