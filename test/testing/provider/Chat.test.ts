import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Schema } from "effect"
import { AiError } from "effect/ai"
import OpenAI, {
  APIConnectionTimeoutError,
  type APIError,
  AuthenticationError,
  BadRequestError,
  RateLimitError
} from "openai"
import type { ChatCompletionMessageParam, ChatCompletionTool } from "openai/resources/chat/completions"
import { InstructionChain, MockModel, MockProvider, MockResponse } from "../../../src/testing/index.ts"
import { openai, rejection, served } from "./serve.ts"

const tool = (name: string): ChatCompletionTool => ({
  type: "function",
  function: {
    name,
    description: `Does ${name}`,
    parameters: { type: "object", properties: { city: { type: "string" } } }
  }
})

const ask = (content = "Hello") => ({
  model: "gpt-5",
  messages: [{ role: "user" as const, content }],
  tools: [tool("get_weather")]
})

const question = "Book the warmer one"

/** Two calls at once, then one that depends on them, then an answer. */
const script = MockModel.queue(
  MockResponse.all(
    "Let me look.",
    MockResponse.toolCall("get_weather", { city: "Paris" }),
    MockResponse.toolCall("get_weather", { city: "Oslo, far in the north" })
  ),
  MockResponse.toolCall("book", { city: "Paris" }, { id: "call_book" }),
  MockResponse.withUsage("Booked Paris.", { input: 40, output: 4, cached: 30, reasoning: 1 })
)

/** The same as the script, in the conversation. */
const chain = InstructionChain.make(
  InstructionChain.step([
    InstructionChain.text("Let me look."),
    InstructionChain.toolCalls(
      { name: "get_weather", args: { city: "Paris" } },
      { name: "get_weather", args: { city: "Oslo, far in the north" } }
    )
  ]),
  InstructionChain.toolCall("book", { city: "Paris" }, { id: "call_book" }),
  InstructionChain.step(InstructionChain.text("Booked Paris."), {
    usage: { input: 40, output: 4, cached: 30, reasoning: 1 }
  })
)

const runs: Readonly<Record<string, (city: string) => unknown>> = {
  get_weather: (city) => ({ city, celsius: city.length }),
  book: () => "done"
}

/** The loop of a client, with what the model says, streamed or not. */
const loop = async (client: OpenAI, content: string, stream: boolean) => {
  const messages: Array<ChatCompletionMessageParam> = [{ role: "user", content }]
  for (;;) {
    const request = { model: "gpt-5", messages, tools: [tool("get_weather"), tool("book")] }
    const { choices: [choice], usage } = stream
      ? await client.chat.completions.stream({ ...request, stream_options: { include_usage: true } })
        .finalChatCompletion()
      : await client.chat.completions.create(request)
    const { content, role, tool_calls: calls } = choice!.message
    messages.push({ role, content, ...(calls === undefined ? undefined : { tool_calls: calls }) })
    if (choice!.finish_reason !== "tool_calls") return { messages, usage, finish: choice!.finish_reason }
    for (const call of calls ?? []) {
      assert.strictEqual(call.type, "function")
      if (call.type !== "function") continue
      const result = runs[call.function.name]!(JSON.parse(call.function.arguments).city)
      messages.push({ role: "tool", tool_call_id: call.id, content: JSON.stringify(result) })
    }
  }
}

describe("the official client of OpenAI, over a socket", () => {
  const drivers = [
    { what: "a handler", content: question, handler: script },
    { what: "one chain", content: InstructionChain.embed(question, chain), handler: MockModel.queue() }
  ]
  for (const { content, handler, what } of drivers) {
    for (const streamed of [false, true]) {
      it.effect(`goes through a loop of tools in three steps that ${what} drives, ${streamed ? "streamed" : "at once"}`, () =>
        Effect.gen(function*() {
          const client = yield* openai()
          const { finish, messages, usage } = yield* Effect.promise(() => loop(client, content, streamed))
          const calls = messages.flatMap((message) =>
            message.role === "assistant"
              ? (message.tool_calls ?? []).map((call) => "function" in call && call.function)
              : []
          )
          assert.deepStrictEqual(calls, [
            { name: "get_weather", arguments: `{"city":"Paris"}` },
            { name: "get_weather", arguments: `{"city":"Oslo, far in the north"}` },
            { name: "book", arguments: `{"city":"Paris"}` }
          ])
          assert.deepStrictEqual(messages.slice(1).map(({ content }) => content), [
            "Let me look.",
            `{"city":"Paris","celsius":5}`,
            `{"city":"Oslo, far in the north","celsius":22}`,
            null,
            `"done"`,
            "Booked Paris."
          ])
          assert.strictEqual(finish, "stop")
          assert.strictEqual(usage?.total_tokens, 44)
          assert.strictEqual(usage?.prompt_tokens_details?.cached_tokens, 30)
          assert.strictEqual(usage?.completion_tokens_details?.reasoning_tokens, 1)
          const requests = yield* MockProvider.requests("openai-chat")
          assert.deepStrictEqual(requests.map(({ messages, stream }) => [messages.length, stream === true]), [
            [1, streamed],
            [4, streamed],
            [6, streamed]
          ])
        }).pipe(Effect.provide(served({ handler, strict: true }))))
    }
  }

  it.effect("shows a handler what the client sent", () => {
    let seen: MockModel.MockRequest | undefined
    const handler = MockModel.make((request) => {
      seen = request
      return "ok"
    })
    return Effect.gen(function*() {
      const client = yield* openai()
      const messages: Array<ChatCompletionMessageParam> = [
        { role: "developer", content: "Be brief." },
        { role: "user", content: [{ type: "text", text: "How warm" }, { type: "text", text: " is it?" }] },
        {
          role: "assistant",
          content: null,
          tool_calls: [{ id: "c1", type: "function", function: { name: "get_weather", arguments: `{"city":"Rome"}` } }]
        },
        { role: "tool", tool_call_id: "c1", content: `{"celsius":30}` }
      ]
      yield* Effect.promise(() =>
        client.chat.completions.create({
          model: "gpt-5",
          messages,
          tools: [tool("get_weather")],
          tool_choice: { type: "function", function: { name: "get_weather" } }
        })
      )
      assert.strictEqual(seen?.system, "Be brief.")
      assert.strictEqual(seen?.lastUserText, "How warm is it?")
      assert.deepStrictEqual(seen?.toolNames, ["get_weather"])
      assert.deepStrictEqual(seen?.toolChoice, { tool: "get_weather" })
      assert.strictEqual(seen?.iteration, 1)
      assert.deepStrictEqual(seen?.lastToolResults.map(({ id, name, result }) => [id, name, result]), [
        ["c1", "get_weather", { celsius: 30 }]
      ])
    }).pipe(Effect.provide(served({ handler })))
  })

  it.effect("tries again what it may, and each body has its own sequence of statuses", () =>
    Effect.gen(function*() {
      const client = yield* openai({ maxRetries: 2 })
      const [first, second] = yield* Effect.promise(() =>
        Promise.all([client.chat.completions.create(ask("one")), client.chat.completions.create(ask("two"))])
      )
      assert.deepStrictEqual([first, second].map(({ choices }) => choices[0]?.message.content), ["one", "two"])
      const entries = yield* MockProvider.entries
      for (const said of ["one", "two"]) {
        const attempts = entries.filter(({ body }) => body.includes(said))
        assert.deepStrictEqual(attempts.map(({ by, status }) => [by, status]), [
          ["status 1 of 3", 429],
          ["status 2 of 3", 500],
          ["fallback", 200]
        ])
        assert.deepStrictEqual(attempts.map(({ headers }) => headers["x-stainless-retry-count"]), ["0", "1", "2"])
      }
    }).pipe(Effect.provide(served({ status: [429, { status: 500, headers: { "retry-after": "0" } }, 200] }))))

  it.effect("makes its own errors of those that are sent", () =>
    Effect.gen(function*() {
      const client = yield* openai()
      const create = (text: string) => rejection(() => client.chat.completions.create(ask(text)))
      const limited = yield* create("limited")
      assert.instanceOf(limited, RateLimitError)
      assert.strictEqual((limited as RateLimitError).headers.get("retry-after"), "7")
      assert.strictEqual((limited as RateLimitError).code, "rate_limit_exceeded")
      assert.match((limited as RateLimitError).requestID ?? "", /^req_/)
      const quota = yield* create("quota")
      assert.strictEqual((quota as RateLimitError).code, "insufficient_quota")
      const key = yield* create("key")
      assert.instanceOf(key, AuthenticationError)
      assert.strictEqual((key as AuthenticationError).code, "invalid_api_key")
      const teapot = yield* create("teapot")
      assert.deepInclude(teapot as APIError, { status: 418, error: { message: "short and stout" } })
      const refused = yield* rejection(() => client.chat.completions.create({ model: "gpt-5", messages: [] }))
      assert.instanceOf(refused, BadRequestError)
      assert.strictEqual((refused as BadRequestError).param, "messages")
    }).pipe(Effect.provide(served({
      handler: MockModel.conditional(
        MockModel.when(
          ({ lastUserText }) => lastUserText === "limited",
          MockResponse.fail(new AiError.RateLimitError({ retryAfter: Duration.seconds(7) }))
        ),
        MockModel.when(
          ({ lastUserText }) => lastUserText === "quota",
          MockResponse.fail(new AiError.QuotaExhaustedError({}))
        ),
        MockModel.when(
          ({ lastUserText }) => lastUserText === "key",
          MockResponse.fail(new AiError.AuthenticationError({ kind: "InvalidKey" }))
        ),
        MockModel.otherwise(MockResponse.httpError(418, { body: { error: { message: "short and stout" } } }))
      )
    }))))

  it.effect("hears a stream up to where it breaks, by the connection or by an error of the provider", () => {
    const overloaded = new AiError.InternalProviderError({ description: "overloaded" })
    const handler = MockModel.queue(
      MockResponse.cut("one two three", 2),
      MockResponse.breakAfter("one two three", 1, overloaded),
      MockResponse.cut("one two three", 9)
    )
    return Effect.gen(function*() {
      const client = yield* openai()
      const hear = async () => {
        const heard: Array<string> = []
        try {
          for await (const chunk of await client.chat.completions.create({ ...ask(), stream: true })) {
            heard.push(chunk.choices[0]?.delta.content ?? chunk.choices[0]?.finish_reason ?? "?")
          }
        } catch (error) {
          return [heard.join(""), (error as Error).message]
        }
        return [heard.join("")]
      }
      const [cut, broken, late] = yield* Effect.promise(async () => [await hear(), await hear(), await hear()])
      assert.deepStrictEqual(cut, ["one two", "terminated"])
      assert.deepStrictEqual(broken, ["one", "overloaded"])
      assert.deepStrictEqual(late, ["one two three", "terminated"])
      assert.deepStrictEqual((yield* MockProvider.entries).map(({ outcome }) => outcome), ["cut", "sent", "cut"])
    }).pipe(Effect.provide(served({ handler })))
  })

  it.effect("loses a response that isn't streamed in the middle of its body", () =>
    Effect.gen(function*() {
      const client = yield* openai()
      assert.match(String(yield* rejection(() => client.chat.completions.create(ask()))), /terminated|Connection/)
      assert.deepStrictEqual((yield* MockProvider.entries).map(({ outcome }) => outcome), ["cut"])
    }).pipe(Effect.provide(served({ handler: MockModel.queue(MockResponse.cut("one two", 1)) }))))

  it.effect("waits for what never comes, until it gives up", () =>
    Effect.gen(function*() {
      const client = yield* openai({ timeout: 100 })
      assert.instanceOf(yield* rejection(() => client.chat.completions.create(ask())), APIConnectionTimeoutError)
      const heard: Array<string> = []
      const stream = yield* Effect.promise(() => client.chat.completions.create({ ...ask(), stream: true }))
      yield* Effect.promise(async () => {
        for await (const chunk of stream) {
          heard.push(chunk.choices[0]?.delta.content ?? "?")
          if (heard.length === 3) stream.controller.abort()
        }
      })
      assert.deepStrictEqual(heard, ["", "one", " two"])
    }).pipe(Effect.provide(served({
      handler: MockModel.queue(MockResponse.hang("one"), MockResponse.hang("one two three", 2))
    }))))
})

const Length = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 9 }))

const Parts = Schema.Array(Schema.Union([
  Schema.Struct({ type: Schema.Literal("text"), text: Schema.String }),
  Schema.Struct({ type: Schema.Literal("reasoning"), text: Schema.String }),
  Schema.Struct({
    type: Schema.Literal("tool-call"),
    name: Schema.Literals(["get_weather", "book"]),
    params: Schema.Record(Schema.String, Schema.String)
  }),
  Schema.Struct({
    type: Schema.Literal("source"),
    sourceType: Schema.Literal("url"),
    id: Schema.String,
    url: Schema.String,
    title: Schema.String
  })
]))

describe("a chat completion", () => {
  it.effect.prop("says the same streamed as at once", [Parts, Length], ([parts, length]) =>
    Effect.promise(async () => {
      const response = MockResponse.chunked({ _tag: "MockResponse", parts }, length)
      const { fetch } = MockProvider.make({ handler: MockModel.make(() => response) })
      const client = new OpenAI({ apiKey: "none", baseURL: "http://mock/v1", fetch })
      const whole = await client.chat.completions.create(ask())
      const { choices: [choice], created, id, usage } = await client.chat.completions.stream({
        ...ask(),
        stream_options: { include_usage: true }
      }).finalChatCompletion()
      const said = ({ content, tool_calls: calls }: OpenAI.Chat.ChatCompletionMessage) => ({
        content: content ?? "",
        calls: (calls ?? []).map((call) =>
          call.type === "function" && [call.id, call.function.name, call.function.arguments]
        )
      })
      assert.deepStrictEqual(said(choice!.message), said(whole.choices[0]!.message))
      assert.strictEqual(choice!.finish_reason, whole.choices[0]!.finish_reason)
      assert.deepStrictEqual([id, created, usage], [whole.id, whole.created, whole.usage])
    }))

  it.effect("comes frame by frame as OpenAI sends it", () =>
    Effect.promise(async () => {
      const { fetch } = MockProvider.make({
        handler: MockModel.make(() =>
          MockResponse.all("Hi you", MockResponse.toolCall("a", { n: 1 }, { id: "call_a" }))
        )
      })
      const response = await fetch("http://mock/v1/chat/completions", {
        method: "POST",
        body: JSON.stringify({ ...ask(), stream: true, stream_options: { include_usage: true } })
      })
      assert.strictEqual(response.headers.get("content-type"), "text/event-stream; charset=utf-8")
      const lines = (await response.text()).split("\n\n")
      assert.deepStrictEqual(lines.slice(-2), ["data: [DONE]", ""])
      const chunks = lines.slice(0, -2).map((line) => JSON.parse(line.replace(/^data: /, "")))
      const envelopes = chunks.map(({ created, id, model, object }) => [object, id, created, model].join())
      assert.strictEqual(new Set(envelopes).size, 1)
      assert.match(envelopes[0]!, /^chat\.completion\.chunk,chatcmpl-\w{24},\d{10},gpt-5$/)
      const deltas = chunks.map(({ choices: [choice] }) => choice && [choice.index, choice.delta, choice.finish_reason])
      const named = { index: 0, id: "call_a", type: "function", function: { name: "a", arguments: "" } }
      assert.deepStrictEqual(deltas, [
        [0, { role: "assistant", content: "", refusal: null }, null],
        [0, { content: "Hi" }, null],
        [0, { content: " you" }, null],
        [0, { tool_calls: [named] }, null],
        [0, { tool_calls: [{ index: 0, function: { arguments: `{"n":1}` } }] }, null],
        [0, {}, "tool_calls"],
        undefined
      ])
      assert.deepStrictEqual(chunks.map(({ usage }) => usage === null), [true, true, true, true, true, true, false])
    }))

  it.effect("has as many choices as it is asked for, which say the same", () =>
    Effect.promise(async () => {
      const asking = { ...ask(), n: 3 }
      const client = (response: MockResponse.Input) => {
        const { fetch } = MockProvider.make({ handler: MockModel.make(() => response) })
        return new OpenAI({ apiKey: "none", baseURL: "http://mock/v1", fetch, maxRetries: 0 })
      }
      const said = MockResponse.all("Hi you", MockResponse.toolCall("a", { n: 1 }, { id: "call_a" }))
      const whole = await client(said).chat.completions.create(asking)
      const streamed = await client(said).chat.completions.stream({
        ...asking,
        stream_options: { include_usage: true }
      })
        .finalChatCompletion()
      for (const { choices, usage } of [whole, streamed]) {
        assert.deepStrictEqual(
          choices.map(({ finish_reason, index, message }) => [index, message.content, finish_reason]),
          [
            [0, "Hi you", "tool_calls"],
            [1, "Hi you", "tool_calls"],
            [2, "Hi you", "tool_calls"]
          ]
        )
        assert.deepStrictEqual(choices.map(({ message }) => message.tool_calls?.length), [1, 1, 1])
        assert.strictEqual(usage?.completion_tokens, 12)
      }
      const counted = await client(MockResponse.withUsage("Hi", { output: 5 })).chat.completions.create(asking)
      assert.strictEqual(counted.usage?.completion_tokens, 5)
      const heard: Array<string> = []
      const broken = client(MockResponse.cut("one two three", 2))
      await (async () => {
        for await (const { choices: [choice] } of await broken.chat.completions.create({ ...asking, stream: true })) {
          heard.push(`${choice?.index}${choice?.delta.content}`)
        }
      })().catch(() => {})
      assert.deepStrictEqual(heard.slice(3), ["0one", "1one", "2one", "0 two", "1 two", "2 two"])
    }))

  it.effect("has no usage in a stream unless it is asked for", () =>
    Effect.promise(async () => {
      const { fetch } = MockProvider.make()
      const body = JSON.stringify({ ...ask(), stream: true })
      const response = await fetch("http://mock/v1/chat/completions", { method: "POST", body })
      assert.notInclude(await response.text(), "usage")
    }))

  it.effect("ends as the script says", () =>
    Effect.promise(async () => {
      const ends = {
        stop: "stop",
        length: "length",
        "content-filter": "content_filter",
        "tool-calls": "tool_calls"
      } as const
      for (const [reason, expected] of Object.entries(ends)) {
        const response = MockResponse.withFinishReason("Hi", reason as keyof typeof ends)
        const { fetch } = MockProvider.make({ handler: MockModel.make(() => response) })
        const client = new OpenAI({ apiKey: "none", baseURL: "http://mock/v1", fetch })
        const { choices: [choice] } = await client.chat.completions.create(ask())
        assert.strictEqual(choice?.finish_reason, expected)
      }
    }))

  it.effect("reads arguments back that were sent in fragments", () =>
    Effect.promise(async () => {
      const params = { city: "Åre \"x\" 👩‍👩‍👧", list: [1, null, { deep: true }] }
      const { fetch } = MockProvider.make({
        handler: MockModel.make(() => MockResponse.chunked(MockResponse.toolCall("get_weather", params), 1))
      })
      const client = new OpenAI({ apiKey: "none", baseURL: "http://mock/v1", fetch })
      const { choices: [choice] } = await client.chat.completions.stream(ask()).finalChatCompletion()
      const [call] = choice!.message.tool_calls ?? []
      assert.deepStrictEqual(
        Schema.decodeUnknownSync(Schema.fromJsonString(Schema.Unknown))(
          call?.type === "function" ? call.function.arguments : ""
        ),
        params
      )
    }))
})
