import Anthropic, {
  type APIError,
  AuthenticationError,
  BadRequestError,
  InternalServerError,
  RateLimitError
} from "@anthropic-ai/sdk"
import type { Message, MessageParam, Tool, ToolUseBlock } from "@anthropic-ai/sdk/resources/messages"
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Schema } from "effect"
import { AiError } from "effect/ai"
import { InstructionChain, MockModel, MockProvider, MockResponse } from "../../../src/testing/index.ts"
import { anthropic, rejection, served } from "./serve.ts"

const tool = (name: string): Tool => ({
  name,
  description: `Does ${name}`,
  input_schema: { type: "object", properties: { city: { type: "string" } } }
})

const ask = (content = "Hello") => ({
  model: "claude-sonnet-5",
  max_tokens: 4096,
  messages: [{ role: "user" as const, content }],
  tools: [tool("get_weather")]
})

const question = "Book the warmer one"

const signed = { metadata: { anthropic: { signature: "c2lnbmVk" } } }

/** A thought and two calls at once, then a call that depends on them, then an answer. */
const script = MockModel.queue(
  MockResponse.all(
    MockResponse.reasoning("Two cities.", signed),
    "Let me look.",
    MockResponse.toolCall("get_weather", { city: "Paris" }),
    MockResponse.toolCall("get_weather", { city: "Oslo, far in the north" })
  ),
  MockResponse.toolCall("book", { city: "Paris" }, { id: "toolu_book" }),
  MockResponse.withUsage("Booked Paris.", { input: 40, output: 4, cached: 30, reasoning: 1 })
)

/** The same as the script, in the conversation. */
const chain = InstructionChain.make(
  InstructionChain.step([
    InstructionChain.reasoning("Two cities."),
    InstructionChain.text("Let me look."),
    InstructionChain.toolCalls(
      { name: "get_weather", args: { city: "Paris" } },
      { name: "get_weather", args: { city: "Oslo, far in the north" } }
    )
  ]),
  InstructionChain.toolCall("book", { city: "Paris" }, { id: "toolu_book" }),
  InstructionChain.step(InstructionChain.text("Booked Paris."), {
    usage: { input: 40, output: 4, cached: 30, reasoning: 1 }
  })
)

const runs: Readonly<Record<string, (city: string) => unknown>> = {
  get_weather: (city) => ({ city, celsius: city.length }),
  book: () => "done"
}

const callsOf = ({ content }: Message): ReadonlyArray<ToolUseBlock> =>
  content.flatMap((block) => block.type === "tool_use" ? [block as ToolUseBlock] : [])

/** The loop of a client with thinking on, with what the model says, streamed or not. */
const loop = async (client: Anthropic, content: string, stream: boolean) => {
  const messages: Array<MessageParam> = [{ role: "user", content }]
  const answers: Array<Message> = []
  for (;;) {
    const request = {
      ...ask(),
      messages,
      tools: [tool("get_weather"), tool("book")],
      thinking: { type: "enabled" as const, budget_tokens: 1024 }
    }
    const answer = stream
      ? await client.messages.stream(request).finalMessage()
      : await client.messages.create(request)
    answers.push(answer)
    messages.push({ role: "assistant", content: answer.content as MessageParam["content"] })
    if (answer.stop_reason !== "tool_use") return answers
    messages.push({
      role: "user",
      content: callsOf(answer).map(({ id, input, name }) => ({
        type: "tool_result",
        tool_use_id: id,
        content: JSON.stringify(runs[name]!((input as { readonly city: string }).city))
      }))
    })
  }
}

describe("the official client of Anthropic, over a socket", () => {
  const drivers = [
    { what: "a handler", content: question, handler: script },
    { what: "one chain", content: InstructionChain.embed(question, chain), handler: MockModel.queue() }
  ]
  for (const { content, handler, what } of drivers) {
    for (const streamed of [false, true]) {
      it.effect(`goes through a loop of tools in three steps that ${what} drives, ${streamed ? "streamed" : "at once"}`, () =>
        Effect.gen(function*() {
          const client = yield* anthropic()
          const answers = yield* Effect.promise(() => loop(client, content, streamed))
          assert.deepStrictEqual(answers.map(({ content }) => content.map(({ type }) => type)), [
            ["thinking", "text", "tool_use", "tool_use"],
            ["tool_use"],
            ["text"]
          ])
          const calls = answers.flatMap(callsOf)
          assert.deepStrictEqual(calls.map(({ input, name }) => [name, input]), [
            ["get_weather", { city: "Paris" }],
            ["get_weather", { city: "Oslo, far in the north" }],
            ["book", { city: "Paris" }]
          ])
          assert.match(calls[0]!.id, /^toolu_\w{24}$/)
          assert.strictEqual(calls[2]!.id, "toolu_book")
          const [first, , last] = answers
          const [thought, said] = first!.content
          assert.deepInclude(thought, { thinking: "Two cities." })
          if (what === "a handler") assert.deepInclude(thought, { signature: "c2lnbmVk" })
          assert.deepInclude(said, { text: "Let me look." })
          assert.deepInclude(last?.content[0], { text: "Booked Paris." })
          assert.deepStrictEqual(answers.map((answer) => answer.stop_reason), ["tool_use", "tool_use", "end_turn"])
          const { cache_read_input_tokens, input_tokens, output_tokens, output_tokens_details } = last!.usage
          assert.deepStrictEqual([input_tokens, cache_read_input_tokens, output_tokens], [10, 30, 4])
          assert.deepStrictEqual(output_tokens_details, { thinking_tokens: 1 })
          const requests = yield* MockProvider.requests("anthropic-messages")
          assert.deepStrictEqual(requests.map(({ messages, stream }) => [messages.length, stream === true]), [
            [1, streamed],
            [3, streamed],
            [5, streamed]
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
      const client = yield* anthropic()
      yield* Effect.promise(() =>
        client.messages.create({
          ...ask(),
          system: [{ type: "text", text: "Be brief." }],
          messages: [
            {
              role: "user",
              content: [
                { type: "text", text: "How warm" },
                { type: "image", source: { type: "base64", media_type: "image/png", data: "AAAA" } },
                { type: "text", text: " is it?" }
              ]
            },
            {
              role: "assistant",
              content: [
                { type: "thinking", thinking: "Hm.", signature: "c2ln" },
                { type: "tool_use", id: "c1", name: "get_weather", input: { city: "Rome" } },
                { type: "tool_use", id: "c2", name: "get_weather", input: { city: "Oslo" } }
              ]
            },
            {
              role: "user",
              content: [
                { type: "tool_result", tool_use_id: "c1", content: `{"celsius":30}` },
                { type: "tool_result", tool_use_id: "c2", content: [{ type: "text", text: "no" }], is_error: true }
              ]
            }
          ],
          tools: [tool("get_weather"), { type: "web_search_20250305", name: "web_search" }],
          tool_choice: { type: "tool", name: "get_weather" }
        })
      )
      assert.strictEqual(seen?.system, "Be brief.")
      assert.strictEqual(seen?.lastUserText, "How warm is it?")
      assert.deepStrictEqual(seen?.toolNames, ["get_weather", "web_search"])
      assert.deepStrictEqual(seen?.toolChoice, { tool: "get_weather" })
      assert.strictEqual(seen?.iteration, 1)
      assert.deepStrictEqual(
        seen?.lastToolResults.map(({ id, isFailure, name, result }) => [id, name, isFailure, result]),
        [["c1", "get_weather", false, { celsius: 30 }], ["c2", "get_weather", true, "no"]]
      )
      assert.deepStrictEqual(seen?.messages.map(({ role }) => role), ["system", "user", "assistant", "tool"])
      const [, user, assistant] = seen?.messages ?? []
      assert.deepInclude(user?.content[1], { type: "file", mediaType: "image/png", data: "AAAA" })
      assert.deepInclude(assistant?.content[0], {
        type: "reasoning",
        text: "Hm.",
        options: { anthropic: { info: { type: "thinking", signature: "c2ln" } } }
      })
    }).pipe(Effect.provide(served({ handler })))
  })

  it.effect("tries again what it may, and each body has its own sequence of statuses", () =>
    Effect.gen(function*() {
      const client = yield* anthropic({ maxRetries: 2 })
      const [first, second] = yield* Effect.promise(() =>
        Promise.all([client.messages.create(ask("one")), client.messages.create(ask("two"))])
      )
      assert.deepStrictEqual([first, second].map(({ content: [block] }) => block?.type === "text" && block.text), [
        "one",
        "two"
      ])
      const entries = yield* MockProvider.entries
      for (const said of ["one", "two"]) {
        const attempts = entries.filter(({ body }) => body.includes(said))
        assert.deepStrictEqual(attempts.map(({ by, status }) => [by, status]), [
          ["status 1 of 3", 429],
          ["status 2 of 3", 529],
          ["fallback", 200]
        ])
      }
    }).pipe(Effect.provide(served({
      status: [
        { status: 429, headers: { "retry-after-ms": "1" } },
        { status: 529, headers: { "retry-after-ms": "1" } },
        200
      ]
    }))))

  it.effect("makes its own errors of those that are sent", () =>
    Effect.gen(function*() {
      const client = yield* anthropic()
      const create = (text: string) => rejection(() => client.messages.create(ask(text)))
      const limited = yield* create("limited")
      assert.instanceOf(limited, RateLimitError)
      assert.strictEqual((limited as RateLimitError).headers.get("retry-after"), "7")
      assert.strictEqual((limited as RateLimitError).type, "rate_limit_error")
      assert.match((limited as RateLimitError).requestID ?? "", /^req_/)
      const key = yield* create("key")
      assert.instanceOf(key, AuthenticationError)
      assert.strictEqual((key as AuthenticationError).type, "authentication_error")
      const overloaded = yield* create("overloaded")
      assert.instanceOf(overloaded, InternalServerError)
      assert.deepStrictEqual((overloaded as APIError).error, {
        type: "error",
        error: { type: "overloaded_error", message: "Overloaded" },
        request_id: (overloaded as APIError).requestID
      })
      const refused = yield* rejection(() => client.messages.create({ ...ask(), messages: [] }))
      assert.instanceOf(refused, BadRequestError)
      assert.strictEqual((refused as BadRequestError).apiMessage, "messages: at least one message is required")
    }).pipe(Effect.provide(served({
      handler: MockModel.conditional(
        MockModel.when(
          ({ lastUserText }) => lastUserText === "limited",
          MockResponse.fail(new AiError.RateLimitError({ retryAfter: Duration.seconds(7) }))
        ),
        MockModel.when(
          ({ lastUserText }) => lastUserText === "key",
          MockResponse.fail(new AiError.AuthenticationError({ kind: "InvalidKey" }))
        ),
        MockModel.otherwise(MockResponse.httpError(529))
      )
    }))))

  it.effect("hears a stream up to where it breaks, by the connection or by an error of the provider", () => {
    const handler = MockModel.queue(
      MockResponse.cut("one two three", 2),
      MockResponse.breakAfter("one two three", 1, new AiError.InternalProviderError({ description: "Overloaded" })),
      MockResponse.cut("one two three", 9)
    )
    return Effect.gen(function*() {
      const client = yield* anthropic()
      const hear = async () => {
        const heard: Array<string> = []
        try {
          for await (const event of await client.messages.create({ ...ask(), stream: true })) {
            if (event.type === "content_block_delta" && event.delta.type === "text_delta") heard.push(event.delta.text)
            if (event.type === "message_stop") heard.push("!")
          }
        } catch (error) {
          return [heard.join(""), (error as APIError).type ?? (error as Error).message]
        }
        return [heard.join("")]
      }
      const [cut, broken, late] = yield* Effect.promise(async () => [await hear(), await hear(), await hear()])
      assert.deepStrictEqual(cut, ["one two", "terminated"])
      assert.deepStrictEqual(broken, ["one", "api_error"])
      assert.deepStrictEqual(late, ["one two three", "terminated"])
      assert.deepStrictEqual((yield* MockProvider.entries).map(({ outcome }) => outcome), ["cut", "sent", "cut"])
    }).pipe(Effect.provide(served({ handler })))
  })
})

const Length = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 9 }))

const Parts = Schema.Array(Schema.Union([
  Schema.Struct({ type: Schema.Literal("text"), text: Schema.String }),
  Schema.Struct({ type: Schema.Literal("reasoning"), text: Schema.String }),
  Schema.Struct({
    type: Schema.Literal("reasoning"),
    text: Schema.Literal(""),
    metadata: Schema.Struct({ anthropic: Schema.Struct({ redactedData: Schema.String }) })
  }),
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
  }),
  Schema.Struct({
    type: Schema.Literal("file"),
    mediaType: Schema.Literal("image/png"),
    data: Schema.Literal("AAAA")
  })
]))

/** A message as it came, without what the client adds. */
const said = (message: Message): unknown => JSON.parse(JSON.stringify({ ...message, parsed_output: undefined }))

const local = (response: MockResponse.Input) => {
  const { fetch } = MockProvider.make({ handler: MockModel.make(() => response) })
  return new Anthropic({ apiKey: "none", baseURL: "http://mock", fetch, maxRetries: 0 })
}

const eventsOf = async (response: MockResponse.Input, request: object = ask()) => {
  const { fetch } = MockProvider.make({ handler: MockModel.make(() => response) })
  const body = JSON.stringify({ ...request, stream: true })
  const headers = { "anthropic-version": "2023-06-01" }
  const text = await (await fetch("http://mock/v1/messages", { method: "POST", headers, body })).text()
  return text.trimEnd().split("\n\n").map((frame) => {
    const [event, data] = frame.split("\ndata: ")
    const parsed = JSON.parse(data!)
    assert.strictEqual(event, `event: ${parsed.type}`)
    return parsed
  })
}

describe("a message", () => {
  it.effect.prop("says the same streamed as at once", [Parts, Length], ([parts, length]) =>
    Effect.promise(async () => {
      const client = local(MockResponse.chunked({ _tag: "MockResponse", parts }, length))
      const request = { ...ask(), thinking: { type: "enabled" as const, budget_tokens: 1024 } }
      const whole = await client.messages.create(request)
      const streamed = await client.messages.stream(request).finalMessage()
      assert.deepStrictEqual(said(streamed), said(whole))
    }))

  it.effect("comes event by event as Anthropic sends it", () =>
    Effect.promise(async () => {
      const events = await eventsOf(MockResponse.all(
        MockResponse.reasoning("Hm so", signed),
        "Hi you",
        MockResponse.toolCall("a", { n: 1 }, { id: "toolu_a" })
      ))
      const [{ message, type }, ...rest] = events
      assert.strictEqual(type, "message_start")
      assert.match(message.id, /^msg_\w{24}$/)
      assert.deepInclude(message, {
        type: "message",
        role: "assistant",
        model: "claude-sonnet-5",
        content: [],
        stop_reason: null,
        stop_sequence: null
      })
      assert.deepInclude(message.usage, { input_tokens: 2, output_tokens: 1, service_tier: "standard" })
      const usage = rest.at(-2).usage
      assert.deepStrictEqual([usage.input_tokens, usage.output_tokens], [2, 6])
      const caller = { type: "direct" }
      const delta = (index: number, delta: object) => ({ type: "content_block_delta", index, delta })
      assert.deepStrictEqual(rest, [
        { type: "ping" },
        {
          type: "content_block_start",
          index: 0,
          content_block: { type: "thinking", thinking: "", signature: "" }
        },
        delta(0, { type: "thinking_delta", thinking: "Hm" }),
        delta(0, { type: "thinking_delta", thinking: " so" }),
        delta(0, { type: "signature_delta", signature: "c2lnbmVk" }),
        { type: "content_block_stop", index: 0 },
        { type: "content_block_start", index: 1, content_block: { type: "text", text: "" } },
        delta(1, { type: "text_delta", text: "Hi" }),
        delta(1, { type: "text_delta", text: " you" }),
        { type: "content_block_stop", index: 1 },
        {
          type: "content_block_start",
          index: 2,
          content_block: { type: "tool_use", id: "toolu_a", name: "a", input: {}, caller }
        },
        delta(2, { type: "input_json_delta", partial_json: "" }),
        delta(2, { type: "input_json_delta", partial_json: `{"n":1}` }),
        { type: "content_block_stop", index: 2 },
        {
          type: "message_delta",
          delta: { container: null, stop_reason: "tool_use", stop_sequence: null, stop_details: null },
          usage
        },
        { type: "message_stop" }
      ])
    }))

  it.effect("cites its sources in the text before them, and shows what the provider's tools gave", () =>
    Effect.promise(async () => {
      const { cited, make, serverToolResult, serverToolUse, step } = InstructionChain
      const found = [{ url: "https://example.com", title: "Example" }]
      const steps = make(step([
        serverToolUse("web_search", { query: "warm" }),
        serverToolResult("web_search", { result: found }),
        serverToolUse("web_search", { query: "cold" }),
        serverToolResult("web_search", { error_code: "max_uses_exceeded" }),
        cited("It is warm.", { url: "https://example.com", title: "Example", cited_text: "warm" })
      ]))
      const { fetch } = MockProvider.make({ chain: steps })
      const client = new Anthropic({ apiKey: "none", baseURL: "http://mock", fetch, maxRetries: 0 })
      for (const stream of [false, true]) {
        const { content, stop_reason, usage } = stream
          ? await client.messages.stream(ask()).finalMessage()
          : await client.messages.create(ask())
        assert.strictEqual(stop_reason, "end_turn")
        assert.strictEqual(usage.server_tool_use?.web_search_requests, 2)
        const [use, result, , failed, text] = content
        assert.deepInclude(use, { type: "server_tool_use", name: "web_search", input: { query: "warm" } })
        assert.deepInclude(result, {
          type: "web_search_tool_result",
          tool_use_id: use?.type === "server_tool_use" ? use.id : "",
          content: [{ type: "web_search_result", encrypted_content: "", page_age: null, ...found[0]! }]
        })
        assert.deepInclude(failed, {
          content: { type: "web_search_tool_result_error", error_code: "max_uses_exceeded" }
        })
        assert.strictEqual(text?.type, "text")
        if (text?.type !== "text") return
        assert.strictEqual(text.text, "It is warm.")
        assert.deepInclude(text.citations?.[0], {
          type: "web_search_result_location",
          cited_text: "warm",
          url: "https://example.com",
          title: "Example"
        })
      }
    }))

  it.effect("begins with a thought where it calls tools and thinking is on, and pieces are counted without it", () =>
    Effect.promise(async () => {
      const request = { ...ask(), thinking: { type: "enabled", budget_tokens: 1024 } }
      const starts = (events: ReadonlyArray<{ readonly content_block?: { readonly type: string } }>) =>
        events.flatMap(({ content_block: block }) => block === undefined ? [] : [block.type])
      const call = MockResponse.toolCall("get_weather", { city: "Rome" })
      assert.deepStrictEqual(starts(await eventsOf(call, request)), ["thinking", "tool_use"])
      assert.deepStrictEqual(starts(await eventsOf(call)), ["tool_use"])
      assert.deepStrictEqual(starts(await eventsOf("Hi", request)), ["text"])
      const [{ type }] = await eventsOf(
        MockResponse.breakAfter(
          call,
          1,
          new AiError.InternalProviderError({
            description: "Overloaded"
          })
        ),
        request
      ).then((events) => events.slice(-1))
      assert.strictEqual(type, "error")
    }))

  it.effect("may choose tools in each way", () =>
    Effect.promise(async () => {
      const seen: Array<unknown> = []
      const handler = MockModel.make(({ toolChoice }) => {
        seen.push(toolChoice)
        return "ok"
      })
      const { fetch } = MockProvider.make({ handler })
      const client = new Anthropic({ apiKey: "none", baseURL: "http://mock", fetch })
      for (const type of ["auto", "any", "none"] as const) {
        await client.messages.create({ ...ask(), tool_choice: { type } })
      }
      await client.messages.create({ ...ask(), tool_choice: { type: "tool", name: "get_weather" } })
      assert.deepStrictEqual(seen, ["auto", "required", "none", { tool: "get_weather" }])
    }))

  it.effect("ends as the script says", () =>
    Effect.promise(async () => {
      const ends = {
        stop: "end_turn",
        length: "max_tokens",
        "content-filter": "refusal",
        "tool-calls": "tool_use",
        pause: "pause_turn"
      } as const
      for (const [reason, expected] of Object.entries(ends)) {
        const client = local(MockResponse.withFinishReason("Hi", reason as keyof typeof ends))
        const { stop_reason } = await client.messages.create(ask())
        assert.strictEqual(stop_reason, expected)
      }
      const stopped = MockResponse.withMetadata("Hi", { anthropic: { stopSequence: "END" } })
      const { stop_reason, stop_sequence } = await local(stopped).messages.stream(ask()).finalMessage()
      assert.deepStrictEqual([stop_reason, stop_sequence], ["stop_sequence", "END"])
    }))

  it.effect("comes with the headers of Anthropic", () =>
    Effect.promise(async () => {
      const { response, request_id } = await local("Hi").messages.create(ask()).withResponse()
      assert.match(request_id ?? "", /^req_/)
      assert.strictEqual(response.headers.get("anthropic-organization-id"), "org-troupe")
      assert.strictEqual(response.headers.get("anthropic-ratelimit-requests-limit"), "1000")
    }))
})
