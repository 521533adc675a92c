import { createAnthropic } from "@ai-sdk/anthropic"
import { assert, describe, it } from "@effect/vitest"
import { APICallError, generateText, isStepCount, jsonSchema, type LanguageModel, streamText, tool } from "ai"
import { Effect } from "effect"
import { AiError } from "effect/ai"
import { InstructionChain, MockModel, MockProvider, MockResponse } from "../../../src/testing/index.ts"
import { rejection, served } from "./serve.ts"

const place = jsonSchema<{ readonly city: string }>({ type: "object", properties: { city: { type: "string" } } })

const tools = {
  get_weather: tool({ inputSchema: place, execute: ({ city }) => ({ city, celsius: city.length }) }),
  book: tool({ inputSchema: place, execute: () => "done" })
}

const { reasoning, step, text, toolCall, toolCalls } = InstructionChain

/** Two calls at once, then one that depends on them, then an answer. */
const chain = InstructionChain.make(
  step([
    reasoning("Two cities."),
    text("Let me look."),
    toolCalls({ name: "get_weather", args: { city: "Paris" } }, {
      name: "get_weather",
      args: { city: "Oslo, far in the north" }
    })
  ]),
  toolCall("book", { city: "Paris" }),
  step([reasoning("Warm enough."), text("Booked Paris.")])
)

const request = (model: LanguageModel) => ({
  model,
  tools,
  prompt: InstructionChain.embed("Book the warmer one", chain),
  stopWhen: isStepCount(9),
  maxRetries: 0
})

const modelAt = Effect.map(
  MockProvider.url,
  (url): LanguageModel => createAnthropic({ apiKey: "none", baseURL: `${url}/v1` })("claude-sonnet-5")
)

interface Step {
  readonly text: string
  readonly reasoningText: string | undefined
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

const thinking = { anthropic: { thinking: { type: "enabled", budgetTokens: 1024 } } } as const

describe("the Vercel AI SDK for Anthropic, over a socket", () => {
  for (const providerOptions of [{}, thinking]) {
    const what = providerOptions === thinking ? " while it thinks" : ""
    it.effect(`goes through a loop of tools that one chain drives, streamed and at once${what}`, () =>
      Effect.gen(function*() {
        const asked = { ...request(yield* modelAt), providerOptions }
        const whole = yield* Effect.promise(() => generateText(asked))
        assert.deepStrictEqual(whole.steps.map(summaryOf), expected)
        const steps = yield* Effect.promise(() => Promise.resolve(streamText(asked).steps))
        assert.deepStrictEqual(steps.map(summaryOf), expected)
        assert.deepStrictEqual(
          steps.map(({ usage }) => usage.totalTokens),
          whole.steps.map(({ usage }) => usage.totalTokens)
        )
        for (const said of [whole.steps, steps]) {
          assert.deepStrictEqual(said.map(({ reasoningText }) => reasoningText || undefined), [
            "Two cities.",
            undefined,
            "Warm enough."
          ])
        }
        assert.strictEqual((yield* MockProvider.requests("anthropic-messages")).length, 6)
      }).pipe(Effect.provide(served({ strict: true }))))
  }

  it.effect("tries again what it may, and makes errors of the rest", () =>
    Effect.gen(function*() {
      const model = yield* modelAt
      const result = yield* Effect.promise(() => generateText({ model, prompt: "one", maxRetries: 2 }))
      assert.strictEqual(result.text, "one")
      assert.deepStrictEqual((yield* MockProvider.entries).map(({ status }) => status), [429, 529, 200])
      const error = yield* rejection(() => generateText({ model, prompt: "two", maxRetries: 0 }))
      assert.instanceOf(error, APICallError)
      if (!(error instanceof APICallError)) return
      assert.deepStrictEqual([error.statusCode, error.isRetryable], [429, true])
      assert.include(error.message, "would exceed your account's rate limit")
    }).pipe(Effect.provide(served({
      status: [
        { status: 429, headers: { "retry-after-ms": "1" } },
        { status: 529, headers: { "retry-after-ms": "1" } },
        200
      ]
    }))))

  it.effect("hears of an error in the middle of a stream", () =>
    Effect.gen(function*() {
      const model = yield* modelAt
      const heard: Array<unknown> = []
      yield* Effect.promise(async () => {
        const { stream } = streamText({ model, prompt: "one", maxRetries: 0, onError: () => {} })
        for await (const part of stream) {
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

  it.effect("sees what the provider searched for and what it cites", () =>
    Effect.gen(function*() {
      const { cited, make, serverToolResult, serverToolUse } = InstructionChain
      const url = "https://example.com"
      const prompt = InstructionChain.embed(
        "Search",
        make(step([
          serverToolUse("web_search", { query: "warm" }),
          serverToolResult("web_search", { result: [{ url, title: "Example" }] }),
          cited("It is warm.", { url, title: "Example", cited_text: "warm" })
        ]))
      )
      const model = yield* modelAt
      const result = yield* Effect.promise(() => generateText({ model, prompt, maxRetries: 0 }))
      assert.strictEqual(result.text, "It is warm.")
      assert.deepStrictEqual(result.toolCalls.map(({ toolName }) => toolName), ["web_search"])
      assert.include(result.sources.map((source) => source.sourceType === "url" && source.url), url)
      const streamed = yield* Effect.promise(() =>
        Promise.resolve(streamText({ model, prompt, maxRetries: 0 }).sources)
      )
      assert.deepStrictEqual(
        streamed.map((source) => source.sourceType === "url" && source.url),
        result.sources.map((source) => source.sourceType === "url" && source.url)
      )
    }).pipe(Effect.provide(served({ strict: true }))))
})
