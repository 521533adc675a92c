import { createOpenAI } from "@ai-sdk/openai"
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Exit, Fiber, Layer, pipe, Schema, Stream } from "effect"
import { AiError, LanguageModel, type Response, Tool, Toolkit } from "effect/ai"
import { TestClock } from "effect/testing"
import { Agent, type AgentState, Conversation } from "troupe"
import { AiSdkModel } from "troupe/ai-sdk"
import { MockModel, MockProvider, MockResponse } from "../../src/testing/index.ts"
import { ask, say, stream, streamParts } from "./ask.ts"

const Metadata = Schema.Struct({ mock: Schema.Json })

const Item = Schema.TaggedUnion({
  Text: { text: Schema.String, metadata: Schema.optionalKey(Metadata) },
  Reasoning: { text: Schema.String, metadata: Schema.optionalKey(Metadata) },
  Call: { name: Schema.String, params: Schema.Json, id: Schema.optionalKey(Schema.String) },
  ProviderCall: { query: Schema.String, result: Schema.String },
  File: { data: Schema.Uint8Array },
  Source: { title: Schema.String }
})

const toResponse = Item.match({
  Text: ({ text, ...rest }) => MockResponse.text(text, rest),
  Reasoning: ({ text, ...rest }) => MockResponse.reasoning(text, rest),
  Call: ({ name, params, ...rest }) => MockResponse.toolCall(name, params, rest),
  ProviderCall: ({ query, result }) => MockResponse.providerCall("search", { query }, result),
  File: ({ data }) => MockResponse.file("image/png", data),
  Source: ({ title }) => MockResponse.source({ sourceType: "url", id: "s", url: "https://effect.website/", title })
})

const Answer = Schema.Struct({
  items: Schema.Array(Item),
  chunks: Schema.NonEmptyArray(Schema.Int.check(Schema.isBetween({ minimum: -1, maximum: 5 })))
})

const fromAnswer = ({ chunks, items }: typeof Answer.Type) =>
  MockResponse.chunked(MockResponse.all(...items.map(toResponse)), chunks)

const run = <A, E>(effect: Effect.Effect<A, E, LanguageModel.LanguageModel>, response: MockResponse.Input) =>
  Effect.provide(effect, MockModel.layer(MockModel.make(() => response)))

const plain = (part: Response.AnyPart) =>
  part.type === "text" || part.type === "reasoning"
    ? { type: part.type, text: part.text, metadata: part.metadata }
    : part

/** What the parts of a stream say as a whole, in the order in which they begin. */
const whole = (parts: ReadonlyArray<Response.AnyPart>) => {
  const blocks = new Map<string, { type: string; text: string; metadata: Response.ProviderMetadata }>()
  const params = new Map<string, string>()
  const all: Array<unknown> = []
  for (const part of parts) {
    switch (part.type) {
      case "text-start":
      case "reasoning-start": {
        const block = { type: part.type.replace("-start", ""), text: "", metadata: part.metadata }
        assert.isFalse(blocks.has(part.id))
        blocks.set(part.id, block)
        all.push(block)
        break
      }
      case "text-delta":
      case "reasoning-delta":
        blocks.get(part.id)!.text += part.delta
        break
      case "text-end":
      case "reasoning-end":
        blocks.get(part.id)!.metadata = part.metadata
        break
      case "tool-params-start":
        params.set(part.id, "")
        break
      case "tool-params-delta":
        params.set(part.id, params.get(part.id) + part.delta)
        break
      case "tool-params-end":
        break
      case "tool-call":
        assert.strictEqual(params.get(part.id), JSON.stringify(part.params))
        all.push(part)
        break
      default:
        all.push(part)
    }
  }
  return all
}

const deltas = (parts: ReadonlyArray<Response.AnyPart>) => parts.flatMap((part) => "delta" in part ? [part.delta] : [])

const cutBy = (lengths: Parameters<typeof MockResponse.chunked>[1]) =>
  Effect.map(run(streamParts, MockResponse.chunked("a👋cdefg", lengths)), deltas)

const reasonOf = (response: MockResponse.Input) => Effect.map(run(ask(), response), (response) => response.finishReason)

const usageOf = (response: MockResponse.Input) => Effect.map(run(ask(), response), (response) => response.usage)

const weather = (id?: string) => MockResponse.toolCall("get_weather", {}, id === undefined ? {} : { id })

const overloaded = new AiError.InternalProviderError({ description: "overloaded" })

describe("MockResponse", () => {
  it.effect.prop("says the same streamed as at once", [Answer], ([answer]) =>
    Effect.gen(function*() {
      const response = fromAnswer(answer)
      const parts = (yield* run(ask(), response)).content
      assert.deepStrictEqual(whole(yield* run(streamParts, response)), parts.map(plain))
    }))

  it.effect("sends parameters that aren't JSON as the JSON that shows them, whole, streamed and on the wire", () =>
    Effect.gen(function*() {
      const Pay = Toolkit.make(
        Tool.make("pay", {
          parameters: Schema.Struct({ cents: Schema.BigInt, of: Schema.Json }),
          success: Schema.String
        })
      )
      const payer = Agent.make("payer", { toolkit: Pay })
      const of: Record<string, unknown> = {}
      of["itself"] = of
      const handler = MockModel.conditional(
        MockModel.when((request) => request.lastToolResults.length > 0, "Paid."),
        MockModel.otherwise(MockResponse.toolCall("pay", { cents: 5n, of }))
      )
      const given = (state: AgentState.AgentState) => Conversation.callsOf(state.conversation.turns[1] as never)
      const paid = Pay.toLayer({ pay: ({ cents }) => Effect.succeed(`${cents} are paid.`) })
      const wire = MockProvider.make({ handler, strict: true })
      const models = [
        MockModel.layer(handler),
        AiSdkModel.layer(createOpenAI({ apiKey: "none", fetch: wire.fetch })("gpt-5"))
      ]
      for (const model of models) {
        const whole = given(yield* Agent.run(payer, "Pay.").pipe(Effect.provide([paid, Layer.fresh(model)])))
        assert.deepStrictEqual(whole.map(({ params, state }) => [params, state._tag === "Settled" && state.result]), [
          [{ cents: "5", of: { itself: "[cycle]" } }, "5 are paid."]
        ])
        const ends = yield* Stream.runCollect(Agent.stream(payer, "Pay.")).pipe(
          Effect.map((events) => events.flatMap((event) => event._tag === "RunCompleted" ? given(event.state) : [])),
          Effect.provide([paid, Layer.fresh(model)])
        )
        assert.deepStrictEqual(ends.map(({ params }) => params), whole.map(({ params }) => params))
      }
    }))

  it.effect("streams text word by word and parameters by 16 characters", () =>
    Effect.gen(function*() {
      const response = MockResponse.all(
        " It is  warm.\n",
        MockResponse.toolCall("get_weather", { city: "Paris, France" })
      )
      const parts = yield* run(streamParts, response)
      assert.deepStrictEqual(deltas(parts), [" It", " is", "  warm.", "\n", "{\"city\":\"Paris, ", "France\"}"])
      assert.deepStrictEqual(parts.map((part) => part.type), [
        "text-start",
        "text-delta",
        "text-delta",
        "text-delta",
        "text-delta",
        "text-end",
        "tool-params-start",
        "tool-params-delta",
        "tool-params-delta",
        "tool-params-end",
        "tool-call",
        "finish"
      ])
    }))

  it.effect("streams in chunks of the lengths that are asked for, whole characters each", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* cutBy(3), ["a👋c", "def", "g"])
      assert.deepStrictEqual(yield* cutBy([1, 0, 2]), ["a", "", "👋c", "de", "fg"])
      assert.deepStrictEqual(yield* cutBy(0), ["a", "👋", "c", "d", "e", "f", "g"])
      assert.deepStrictEqual(yield* cutBy(Infinity), ["a👋cdefg"])
    }))

  it.effect("sends each chunk by itself", () =>
    Effect.gen(function*() {
      const sizes = yield* run(
        stream().pipe(Stream.chunks, Stream.map((chunk) => chunk.length), Stream.runCollect),
        MockResponse.all("one two three", MockResponse.text("four"))
      )
      assert.deepStrictEqual(sizes, [2, 1, 2, 3, 1])
    }))

  it.effect("finishes for its calls, unless the provider ran them, and for the reason that is set", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* reasonOf("Hello"), "stop")
      assert.strictEqual(yield* reasonOf(MockResponse.toolCall("get_weather", {})), "tool-calls")
      assert.strictEqual(yield* reasonOf(MockResponse.providerCall("search", { query: "" }, "found")), "stop")
      assert.strictEqual(yield* reasonOf(MockResponse.withFinishReason("Hell", "length")), "length")
    }))

  it.effect("reports the usage that is set, and leaves the rest unknown", () =>
    Effect.gen(function*() {
      const unknown = yield* usageOf("Hello")
      assert.isUndefined(unknown.inputTokens.total)
      assert.isUndefined(unknown.outputTokens.total)
      const some = yield* usageOf(MockResponse.withUsage("Hello", { input: 7, cached: 3, output: 5 }))
      assert.strictEqual(some.inputTokens.total, 7)
      assert.strictEqual(some.inputTokens.cacheRead, 3)
      assert.strictEqual(some.outputTokens.total, 5)
      assert.isUndefined(some.outputTokens.reasoning)
    }))

  it.effect("attaches the provider's metadata to parts and to the finish", () =>
    Effect.gen(function*() {
      const response = MockResponse.withMetadata(
        MockResponse.reasoning("Hm.", { metadata: { mock: { signature: "s" } } }),
        { mock: { id: "r1" } }
      )
      const { content } = yield* run(ask(), response)
      assert.deepStrictEqual(content.map((part) => [part.type, part.metadata]), [
        ["reasoning", { mock: { signature: "s" } }],
        ["finish", { mock: { id: "r1" } }]
      ])
      const parts = yield* run(streamParts, response)
      assert.deepStrictEqual(parts.at(-1)?.metadata, { mock: { id: "r1" } })
    }))

  it.effect("numbers the calls of a layer, around the ids that responses set", () =>
    Effect.gen(function*() {
      const layer = MockModel.layer(MockModel.queue(
        MockResponse.all(weather(), weather("call_2"), weather()),
        MockResponse.all(MockResponse.providerCall("search", { query: "" }, "found"), weather())
      ))
      const ids = Effect.map(ask(), ({ content }) => content.flatMap((part) => "id" in part ? [part.id] : []))
      const answers = yield* Effect.all([ids, ids]).pipe(Effect.provide(layer))
      assert.deepStrictEqual(answers, [["call_1", "call_2", "call_3"], ["call_4", "call_4", "call_5"]])
    }))

  it.effect("fails with the error or reason that is set, at once or in a stream", () =>
    Effect.gen(function*() {
      const error = AiError.make({ module: "Test", method: "ask", reason: overloaded })
      assert.strictEqual(yield* Effect.flip(run(ask(), MockResponse.fail(error))), error)
      assert.strictEqual(yield* Effect.flip(run(streamParts, MockResponse.fail(error))), error)
      const made = yield* Effect.flip(run(ask(), MockResponse.fail(overloaded)))
      assert.strictEqual(made.message, "MockModel.respond: " + overloaded.message)
    }))

  it.effect("breaks a stream after so many chunks, without a finish, and fails as a whole at once", () =>
    Effect.gen(function*() {
      const response = (chunks: number) =>
        pipe(MockResponse.all("one two", MockResponse.text("three")), MockResponse.breakAfter(chunks, overloaded))
      const read = (chunks: number) =>
        Effect.gen(function*() {
          const seen: Array<Response.AnyPart> = []
          const exit = yield* Effect.exit(
            run(Stream.runForEach(stream(), (part) => Effect.sync(() => seen.push(part))), response(chunks))
          )
          assert.isTrue(Exit.isFailure(exit))
          return seen.map((part) => "delta" in part ? part.delta : part.type)
        })
      assert.deepStrictEqual(yield* read(-1), [])
      assert.deepStrictEqual(yield* read(0), [])
      assert.deepStrictEqual(yield* read(1), ["text-start", "one"])
      assert.deepStrictEqual(yield* read(2), ["text-start", "one", " two", "text-end"])
      assert.deepStrictEqual(yield* read(9), [
        "text-start",
        "one",
        " two",
        "text-end",
        "text-start",
        "three",
        "text-end"
      ])
      assert.strictEqual((yield* Effect.flip(run(ask(), response(9)))).reason, overloaded)
    }))

  it.effect("cuts the connection after so many chunks, as a network does", () =>
    Effect.gen(function*() {
      const heard: Array<string> = []
      const error = yield* Effect.flip(run(
        Stream.runForEach(stream(), (part) => Effect.sync(() => "delta" in part && heard.push(part.delta))),
        MockResponse.cut("one two three", 2)
      ))
      assert.deepStrictEqual(heard, ["one", " two"])
      assert.strictEqual(error.reason._tag, "NetworkError")
      assert.isTrue(error.isRetryable)
      assert.strictEqual((yield* Effect.flip(run(ask(), MockResponse.cut("one", 1)))).reason._tag, "NetworkError")
    }))

  it.effect("sends nothing after so many chunks, for ever, and has no response on record", () =>
    Effect.gen(function*() {
      const heardOf = Effect.fnUntraced(function*(response: MockResponse.MockResponse) {
        const heard: Array<string> = []
        return yield* Effect.gen(function*() {
          const fiber = yield* Effect.forkChild(
            Stream.runForEach(
              stream(),
              (part) => Effect.sync(() => heard.push("delta" in part ? part.delta : part.type))
            )
          )
          yield* TestClock.adjust("365 days")
          assert.isUndefined(fiber.pollUnsafe())
          yield* Fiber.interrupt(fiber)
          assert.deepStrictEqual((yield* MockModel.calls).map(({ response }) => response), [undefined])
          return heard
        }).pipe(Effect.provide(MockModel.layer(MockModel.make(response))))
      })
      assert.deepStrictEqual(yield* heardOf(MockResponse.hang()), [])
      assert.deepStrictEqual(yield* heardOf(MockResponse.hang("one two", 1)), ["text-start", "one"])
      assert.deepStrictEqual(yield* heardOf(MockResponse.hang("one two", 9)), [
        "text-start",
        "one",
        " two",
        "text-end",
        "finish"
      ])
      const late = MockResponse.hang(MockResponse.cut("one two", 2), 1)
      assert.deepStrictEqual(yield* heardOf(late), ["text-start", "one"])
    }))

  it.effect("fails before it hangs where that comes first, and never comes at once", () =>
    Effect.gen(function*() {
      const early = MockResponse.hang(MockResponse.cut("one two", 1), 1)
      assert.strictEqual((yield* Effect.flip(run(streamParts, early))).reason._tag, "NetworkError")
      const fiber = yield* Effect.forkChild(run(ask(), MockResponse.hang("one", 9)))
      yield* TestClock.adjust("365 days")
      assert.isUndefined(fiber.pollUnsafe())
      yield* Fiber.interrupt(fiber)
    }))

  it.effect("is, of an error of HTTP, what a client makes of it", () =>
    Effect.gen(function*() {
      const reasonOf = (...args: Parameters<typeof MockResponse.httpError>) =>
        Effect.map(Effect.flip(run(ask(), MockResponse.httpError(...args))), ({ reason }) => reason)
      const overloaded = yield* Effect.flip(
        run(ask(), MockResponse.httpError(503, { headers: { "retry-after": "20" } }))
      )
      assert.deepStrictEqual(overloaded.retryAfter, Duration.seconds(20))
      const tags = yield* Effect.forEach(
        [400, 401, 403, 404, 408, 413, 418, 422, 429, 500, 529],
        (status) =>
          Effect.map(
            reasonOf(status),
            ({ _tag, isRetryable }) => `${status} ${_tag}${isRetryable ? ", retryable" : ""}`
          )
      )
      assert.deepStrictEqual(tags, [
        "400 InvalidRequestError",
        "401 AuthenticationError",
        "403 AuthenticationError",
        "404 InvalidRequestError",
        "408 InternalProviderError, retryable",
        "413 InvalidRequestError",
        "418 UnknownError",
        "422 InvalidRequestError",
        "429 RateLimitError, retryable",
        "500 InternalProviderError, retryable",
        "529 InternalProviderError, retryable"
      ])
      const limited = yield* reasonOf(429, { headers: { "Retry-After": "20" }, body: { error: { message: "slow" } } })
      assert.isTrue(limited._tag === "RateLimitError")
      if (limited._tag !== "RateLimitError") {
        return
      }
      assert.deepStrictEqual(limited.retryAfter, Duration.seconds(20))
      assert.deepStrictEqual(limited.http, {
        response: { status: 429, headers: { "retry-after": "20" } },
        body: "{\"error\":{\"message\":\"slow\"}}"
      })
      const quota = yield* reasonOf(429, { body: { error: { message: "pay", code: "insufficient_quota" } } })
      assert.strictEqual(quota._tag, "QuotaExhaustedError")
      const invalid = yield* reasonOf(400, { body: { error: { message: "no such model" } } })
      assert.strictEqual(invalid._tag === "InvalidRequestError" && invalid.description, "no such model")
      const plain = yield* reasonOf(502, { body: "Bad gateway" })
      assert.strictEqual(plain._tag === "InternalProviderError" && plain.description, "Bad gateway")
    }))

  it("keeps the response of HTTP beside the error", () => {
    const response = MockResponse.httpError(429, { headers: { "retry-after": "20" }, body: "slow" })
    assert.deepStrictEqual(response.http, { status: 429, headers: { "retry-after": "20" }, body: "slow" })
    assert.strictEqual(response.failure?.after, 0)
  })

  it("fails in one way: the last failure takes the HTTP error of those before it away", () => {
    const other = new AiError.AuthenticationError({ kind: "InvalidKey" })
    const http = MockResponse.httpError(429)
    for (
      const response of [
        MockResponse.all(http, MockResponse.fail(other)),
        MockResponse.all(http, "a", MockResponse.fail(other), "b"),
        MockResponse.breakAfter(http, 2, other),
        MockResponse.cut(http, 2)
      ]
    ) {
      assert.isFalse("http" in response)
      assert.notStrictEqual(response.failure?.error, http.failure?.error)
    }
    for (const response of [MockResponse.all(MockResponse.fail(other), http), MockResponse.all(http, "a")]) {
      assert.deepStrictEqual([response.http, response.failure], [http.http, http.failure])
    }
  })

  it.effect("gives a value as JSON where an object is asked for", () =>
    Effect.gen(function*() {
      const schema = Schema.Struct({ city: Schema.String, celsius: Schema.Finite })
      const value = { city: "Paris", celsius: 22 }
      const asked = LanguageModel.generateObject({ prompt: "Where?", schema })
      assert.deepStrictEqual((yield* run(asked, MockResponse.json(value))).value, value)
      const wrong = yield* Effect.flip(run(asked, MockResponse.json({ city: "Paris" })))
      assert.strictEqual(AiError.isAiError(wrong) && wrong.reason._tag, "StructuredOutputError")
    }))

  it.effect("waits as long as it is told, by the clock", () =>
    Effect.gen(function*() {
      const response = MockResponse.delay("Hello", "1 minute")
      for (const asked of [ask(), streamParts]) {
        const fiber = yield* Effect.forkChild(run<unknown, AiError.AiError>(asked, response))
        yield* TestClock.adjust("59 seconds")
        assert.isUndefined(fiber.pollUnsafe())
        yield* TestClock.adjust("1 second")
        assert.isTrue(Exit.isSuccess(yield* Fiber.await(fiber)))
      }
    }))

  it.effect("sends raw parts as they are, and adds no finish to them", () =>
    Effect.gen(function*() {
      const response = MockResponse.all(
        "Hello",
        MockResponse.raw({
          parts: [{ type: "text", text: " there" }],
          stream: [{ type: "text-delta", id: "unknown", delta: " there" }, { type: "error", error: "gone" }]
        })
      )
      assert.strictEqual(yield* run(say(), response), "Hello there")
      const parts = yield* run(streamParts, response)
      assert.deepStrictEqual(parts.map((part) => part.type), [
        "text-start",
        "text-delta",
        "text-end",
        "text-delta",
        "error"
      ])
      assert.deepStrictEqual(yield* run(streamParts, MockResponse.raw({})), [])
    }))

  it("keeps, of what isn't parts, what the last of several responses sets", () => {
    const response = MockResponse.all(
      MockResponse.withUsage("a", { input: 1 }),
      pipe("b", MockResponse.withUsage({ output: 2 }), MockResponse.chunked(4)),
      "c"
    )
    assert.deepStrictEqual(response, {
      _tag: "MockResponse",
      parts: [{ type: "text", text: "a" }, { type: "text", text: "b" }, { type: "text", text: "c" }],
      usage: { output: 2 },
      chunks: [4]
    })
  })
})
