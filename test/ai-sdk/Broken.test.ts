/** Streams that break off, responses that aren't streams, and answers that end without having said anything. */
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Logger, Stream } from "effect"
import { type AiError, LanguageModel } from "effect/ai"
import { TestClock } from "effect/testing"
import { AiSdkModel } from "troupe/ai-sdk"
import { type Protocol, type Provider, providers } from "./providers.ts"
import { saying, streaming } from "./stub.ts"

const chunk = (value: unknown): string => `data: ${JSON.stringify(value)}\n\n`

/** An error with which a stream begins. */
const begun = (type: string): string => chunk({ type: "error", error: { type, message: "It broke" } })

/** How an answer of two words begins. */
const beginnings: Readonly<Record<Protocol, ReadonlyArray<string>>> = {
  "openai-chat": ["one ", "two"].map((content) =>
    chunk({ id: "1", created: 1, model: "m", choices: [{ index: 0, delta: { role: "assistant", content } }] })
  ),
  "openai-responses": [
    chunk({ type: "response.created", response: { id: "r", created_at: 1, model: "m" } }),
    chunk({ type: "response.output_item.added", output_index: 0, item: { id: "m1", type: "message" } }),
    chunk({ type: "response.output_text.delta", item_id: "m1", delta: "one two" })
  ],
  "anthropic-messages": [
    chunk({
      type: "message_start",
      message: { id: "x", model: "m", role: "assistant", usage: { input_tokens: 1, output_tokens: 1 }, content: [] }
    }),
    chunk({ type: "content_block_start", index: 0, content_block: { type: "text", text: "" } }),
    chunk({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "one two" } })
  ]
}

type Broken = readonly [
  chunks: (beginning: ReadonlyArray<string>) => ReadonlyArray<string>,
  tag: AiError.AiErrorReason["_tag"],
  isRetryable: boolean,
  type?: string
]

const broken: Readonly<Record<string, Broken>> = {
  "breaks off in the middle of JSON": [(all) => [...all, "data: {\"id\":\"1\",\"cho"], "NetworkError", true],
  "ends without a finish": [(all) => all, "NetworkError", true],
  "is empty": [() => [], "NetworkError", true],
  "has comments alone": [() => [": wait\n\n"], "NetworkError", true],
  "says that it is done, and nothing else": [() => ["data: [DONE]\n\n"], "NetworkError", true],
  "is a page": [() => ["<html>Sign in</html>"], "InvalidResponseError", false, "text/html; charset=utf-8"],
  "is JSON": [() => ["{}"], "InvalidResponseError", false, "application/json"],
  "reports an error": [
    (all) => [...all, chunk({ error: { message: "The server had an error", type: "server_error" } })],
    "InternalProviderError",
    true
  ],
  "reports an error in a form of its own": [
    (all) => [...all, chunk({ object: "error", message: "The engine is dead", code: 503 })],
    "InternalProviderError",
    true
  ],
  "reports a limit by its code": [
    (all) => [...all, chunk({ error: { message: "Slow down", code: 429 } })],
    "RateLimitError",
    true
  ],
  "begins with an error": [() => [begun("api_error")], "InternalProviderError", true],
  "begins with a limit": [() => [begun("rate_limit_error")], "RateLimitError", true],
  "begins with a time-out": [() => [begun("timeout_error")], "InternalProviderError", true],
  "begins with what can't be": [() => [begun("invalid_request_error")], "InvalidRequestError", false],
  "has a piece that doesn't fit": [
    (all) => [...all, chunk({ type: 5, choices: "none", error: null })],
    "InvalidResponseError",
    false
  ],
  "reports what can't be": [
    (all) => [...all, chunk({ error: { message: "No", type: "invalid_request_error" } })],
    "InvalidRequestError",
    false
  ]
}

const ask = { prompt: "Hi" } as const

/** What a stream of these chunks, which then ends, fails with. */
const failing = (
  { modelOf }: Provider,
  chunks: ReadonlyArray<string>,
  type = "text/event-stream"
) => {
  const bytes = chunks.map((text) => new TextEncoder().encode(text))
  const body = () =>
    new ReadableStream<Uint8Array>({
      start: (controller) => {
        for (const piece of bytes) controller.enqueue(piece)
        controller.close()
      }
    })
  const fetch = () => Promise.resolve(new Response(body(), { headers: { "content-type": type } }))
  return LanguageModel.streamText(ask).pipe(
    Stream.runDrain,
    Effect.flip,
    Effect.provide(AiSdkModel.layer(modelOf({ baseURL: "https://house/v1", fetch })))
  )
}

for (const [what, provider] of Object.entries(providers)) {
  describe(`A stream of ${what}`, () => {
    for (const [name, [chunks, tag, isRetryable, type]] of Object.entries(broken)) {
      it.effect(`that ${name} is an ${tag}`, () =>
        Effect.gen(function*() {
          const error = yield* failing(provider, chunks(beginnings[provider.protocol]), type)
          assert.deepStrictEqual([error.reason._tag, error.isRetryable], [tag, isRetryable], error.message)
        }))
    }

    it.effect("that a server refuses for a while says how long to wait, in seconds or by a date", () =>
      Effect.gen(function*() {
        yield* TestClock.adjust("30 seconds")
        for (const status of [503, 529, 429]) {
          for (const after of ["90", "Thu, 01 Jan 1970 00:02:00 GMT"]) {
            const fetch = () => Promise.resolve(new Response("{}", { status, headers: { "retry-after": after } }))
            const error = yield* LanguageModel.generateText(ask).pipe(
              Effect.flip,
              Effect.provide(AiSdkModel.layer(provider.modelOf({ baseURL: "https://house/v1", fetch })))
            )
            assert.deepStrictEqual(error.retryAfter, Duration.seconds(90), `${status}, ${after}`)
            assert.isTrue(error.isRetryable)
          }
        }
      }))
  })
}

const usage = { inputTokens: {}, outputTokens: {} } as never
const ending = (unified: "content-filter" | "tool-calls", raw: string) => ({ finishReason: { unified, raw }, usage })

/** Asks a model that says a text and ends so, at once and streamed, and gives the reason of its failure or the text. */
const answers = (text: string, end: ReturnType<typeof ending>) => {
  const parts = text === "" ? [] : [{ type: "text" as const, text }]
  const deltas = text === "" ? [] : [
    { type: "text-start" as const, id: "1" },
    { type: "text-delta" as const, id: "1", delta: text },
    { type: "text-end" as const, id: "1" }
  ]
  return Effect.all([
    LanguageModel.generateText(ask).pipe(
      Effect.match({ onFailure: ({ reason }) => reason._tag, onSuccess: (answer) => answer.text }),
      Effect.provide(AiSdkModel.layer(saying([parts], end).model))
    ),
    LanguageModel.streamText(ask).pipe(
      Stream.runFold(() => "", (all, part) => part.type === "text-delta" ? all + part.delta : all),
      Effect.match({ onFailure: ({ reason }) => reason._tag, onSuccess: (answer) => answer }),
      Effect.provide(AiSdkModel.layer(streaming([...deltas, { type: "finish", ...end }]).model))
    )
  ])
}

/** Asks a model that answers with just this, at once or by a stream of these parts, and gives what that fails with. */
const failureOf = (
  doGenerate: () => unknown,
  doStream: () => unknown = doGenerate
): Effect.Effect<ReadonlyArray<unknown>> => {
  const model = { ...saying([]).model, doGenerate, doStream } as never
  const tell = Effect.match({
    onFailure: ({ method, reason }: AiError.AiError) => [method, reason._tag, /prescribes: ./.test(reason.message)],
    onSuccess: () => []
  })
  return Effect.provide(
    Effect.all([
      tell(LanguageModel.generateText(ask)),
      tell(Stream.runDrain(LanguageModel.streamText(ask)))
    ]),
    AiSdkModel.layer(model)
  )
}

const malformed = ["generateText", "streamText"].map((method) => [method, "InvalidResponseError", true])

describe("An answer", () => {
  it.effect("that breaks the interface of providers is an InvalidResponseError, at once and streamed", () =>
    Effect.gen(function*() {
      for (const answer of [undefined, null, "text", {}, { content: 1, stream: 1 }]) {
        assert.deepStrictEqual(yield* failureOf(() => Promise.resolve(answer)), malformed, String(answer))
      }
      const end = { warnings: [], usage, finishReason: { unified: "stop", raw: "stop" } }
      const odd: ReadonlyArray<object | null> = [
        null,
        {},
        { type: "hologram" },
        { type: "tool-call" },
        { type: "tool-call", toolCallId: "c", toolName: "t", input: { a: 1 } },
        { type: "file", mediaType: "image/png" },
        { type: "file", mediaType: "image/png", data: null }
      ]
      for (const part of odd) {
        const tags = yield* failureOf(
          () => Promise.resolve({ ...end, content: [part] }),
          () => Promise.resolve({ stream: new ReadableStream({ start: (to) => to.enqueue(part) }) })
        )
        assert.deepStrictEqual(tags, malformed, JSON.stringify(part))
      }
      const trap = new Proxy({}, {
        get: (_, key) => {
          if (key !== "then") throw trap
        }
      })
      const trapped = yield* failureOf(
        () => Promise.resolve({ ...end, content: [trap] }),
        () => Promise.resolve({ stream: new ReadableStream({ start: (to) => to.enqueue(trap) }) })
      )
      assert.deepStrictEqual(trapped, malformed)
      const said = { type: "text", text: "Hm." }
      for (const missing of ["warnings", "usage", "finishReason"]) {
        const whole: Record<string, unknown> = { content: [said], ...end, [missing]: undefined }
        const { warnings, ...finish } = whole
        const stream = [{ type: "stream-start", warnings }, { type: "finish", ...finish }]
        const tags = yield* failureOf(
          () => Promise.resolve(whole),
          () =>
            Promise.resolve({
              stream: new ReadableStream({ start: (to) => stream.forEach((part) => to.enqueue(part)) })
            })
        )
        assert.deepStrictEqual(tags, malformed, missing)
      }
    }))

  it.effect("that breaks off with an error of which nothing can be read is an UnknownError", () =>
    Effect.gen(function*() {
      const trap = new Proxy({}, {
        has: () => {
          throw trap
        }
      })
      const tags = yield* failureOf(
        () => Promise.reject(trap),
        () => Promise.resolve({ stream: new ReadableStream({ start: (to) => to.error(trap) }) })
      )
      assert.deepStrictEqual(tags, ["generateText", "streamText"].map((method) => [method, "UnknownError", false]))
    }))

  it.effect("that a content filter left nothing of is a ContentPolicyError, and one that it cut is warned of", () =>
    Effect.gen(function*() {
      const logged: Array<unknown> = []
      const logger = Logger.layer([Logger.make(({ logLevel, message }) => logged.push([logLevel, message]))])
      const filtered = ending("content-filter", "content_filter")
      assert.deepStrictEqual(yield* answers("", filtered), ["ContentPolicyError", "ContentPolicyError"])
      const cut = yield* Effect.provide(answers("I would", filtered), logger)
      assert.deepStrictEqual(cut, ["I would", "I would"])
      const warned = ["Warn", ["house.chat one: the provider's content filter ended the answer"]]
      assert.deepStrictEqual(logged, [warned, warned])
    }))

  it.effect("that ends with calls and has none is an InvalidOutputError, which is asked for again", () =>
    Effect.gen(function*() {
      const tags = yield* answers("", ending("tool-calls", "tool_calls"))
      assert.deepStrictEqual(tags, ["InvalidOutputError", "InvalidOutputError"])
      const nameless = saying([[{ type: "tool-call", toolCallId: "1", toolName: " ", input: "{}" }]]).model
      const error = yield* LanguageModel.generateText(ask).pipe(Effect.flip, Effect.provide(AiSdkModel.layer(nameless)))
      assert.deepStrictEqual([error.reason._tag, error.isRetryable], ["InvalidOutputError", true])
    }))

  it.effect("that failed has the reason that it names, in a form that the package doesn't know", () =>
    Effect.gen(function*() {
      for (const provider of Object.values(providers)) {
        if (provider.protocol !== "openai-responses") continue
        for (
          const [code, tag] of [["server_error", "InternalProviderError"], ["rate_limit_exceeded", "RateLimitError"]]
        ) {
          const failed = chunk({ type: "response.failed", response: { error: { code, message: "It broke" } } })
          const error = yield* failing(provider, [...beginnings[provider.protocol], failed])
          assert.deepStrictEqual([error.reason._tag, error.isRetryable], [tag, true], error.message)
        }
      }
    }))

  it.effect("with a call that has no name isn't complete, streamed as OpenAI's chat completions do", () =>
    Effect.gen(function*() {
      for (const provider of Object.values(providers)) {
        if (provider.protocol !== "openai-chat") continue
        const call = { index: 0, id: "c", type: "function", function: { name: "", arguments: "{}" } }
        const about = { id: "1", created: 1, model: "m" }
        const error = yield* failing(provider, [
          chunk({ ...about, choices: [{ index: 0, delta: { role: "assistant", tool_calls: [call] } }] }),
          chunk({ ...about, choices: [{ index: 0, delta: {}, finish_reason: "tool_calls" }] }),
          "data: [DONE]\n\n"
        ])
        assert.strictEqual(error.reason._tag, "InvalidOutputError", error.message)
      }
    }))
})
