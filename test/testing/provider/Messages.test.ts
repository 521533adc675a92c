import {
  type Anthropic,
  type APIError,
  AuthenticationError,
  BadRequestError,
  InternalServerError,
  RateLimitError
} from "@anthropic-ai/sdk"
import { betaTool } from "@anthropic-ai/sdk/helpers/beta/json-schema"
import type { Message, MessageParam, Tool, ToolUseBlock } from "@anthropic-ai/sdk/resources/messages"
import { ThreadUnsupportedRequestError } from "@anthropic-ai/sdk/resources/messages/messages"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { AiError } from "effect/ai"
import { InstructionChain, MockModel, MockProvider, MockResponse } from "../../../src/testing/index.ts"
import { calls, eachWay, resultOf } from "./booking.ts"
import { common, file, Length } from "./parts.ts"
import { promptOf, showsHandler, watched } from "./seeing.ts"
import { anthropic, anthropicOf, eventsOf, post, rejection, saying, served } from "./serve.ts"
import { breaksOff, failing, hearing, triesAgain } from "./trouble.ts"

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

const signed = { metadata: { anthropic: { signature: "c2lnbmVk" } } }

const callsOf = ({ content }: Message): ReadonlyArray<ToolUseBlock> =>
  content.flatMap((block) => block.type === "tool_use" ? [block as ToolUseBlock] : [])

/** The loop of a client with thinking on, with what the model says, streamed or not. */
const loop = async (client: Anthropic, content: string, isStreamed: boolean) => {
  const messages: Array<MessageParam> = [{ role: "user", content }]
  const answers: Array<Message> = []
  for (;;) {
    const request = {
      ...ask(),
      messages,
      tools: [tool("get_weather"), tool("book")],
      thinking: { type: "enabled" as const, budget_tokens: 1024 }
    }
    const answer = isStreamed
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
        content: resultOf(name, (input as { readonly city: string }).city)
      }))
    })
  }
}

describe("the official client of Anthropic, over a socket", () => {
  eachWay((content, isStreamed) =>
    Effect.gen(function*() {
      const client = yield* anthropic()
      const answers = yield* Effect.promise(() => loop(client, content, isStreamed))
      assert.deepStrictEqual(answers.map(({ content }) => content.map(({ type }) => type)), [
        ["thinking", "text", "tool_use", "tool_use"],
        ["tool_use"],
        ["thinking", "text"]
      ])
      const called = answers.flatMap(callsOf)
      assert.deepStrictEqual(called.map(({ input, name }) => [name, input]), calls)
      assert.match(called[0]!.id, /^toolu_\w{24}$/)
      assert.strictEqual(called[2]!.id, "chosen_by_the_script")
      const [first, , last] = answers
      const [thought, said] = first!.content
      assert.deepInclude(thought, { thinking: "Two cities.", signature: "c2lnbmVk" })
      assert.deepInclude(said, { text: "Let me look." })
      assert.deepInclude(last?.content[1], { text: "Booked Paris." })
      assert.deepStrictEqual(answers.map((answer) => answer.stop_reason), ["tool_use", "tool_use", "end_turn"])
      const { cache_read_input_tokens, input_tokens, output_tokens, output_tokens_details } = last!.usage
      assert.deepStrictEqual([input_tokens, cache_read_input_tokens, output_tokens], [10, 30, 4])
      assert.deepStrictEqual(output_tokens_details, { thinking_tokens: 1 })
      const requests = yield* MockProvider.requests("anthropic-messages")
      assert.deepStrictEqual(requests.map(({ messages, stream }) => [messages.length, stream === true]), [
        [1, isStreamed],
        [3, isStreamed],
        [5, isStreamed]
      ])
    })
  )

  for (const stream of [false, true]) {
    it.effect(`runs its own loop of tools to its end, ${stream ? "streamed" : "whole"}, with each request whole`, () =>
      Effect.gen(function*() {
        const client = yield* anthropic()
        const add = betaTool({
          name: "add",
          description: "Adds",
          inputSchema: { type: "object", properties: { n: { type: "number" } }, required: ["n"] },
          run: ({ n }) => String(n + 1)
        })
        const runner = client.beta.messages.toolRunner({ ...ask(), tools: [add], stream } as never)
        const last = yield* Effect.promise(() => runner.runUntilDone())
        assert.deepInclude(last.content[0], { type: "text", text: "3" })
        const entries = yield* MockProvider.entries
        assert.deepStrictEqual(entries.map(({ asked, status }) => [status, asked?.messages.length]), [
          [400, undefined],
          [200, 1],
          [200, 3],
          [200, 5]
        ])
        yield* MockProvider.assertNoMisses
      }).pipe(Effect.provide(served({
        strict: true,
        handler: MockModel.make(({ lastToolResults: [last] }) => {
          const n = Number(last?.result ?? 1)
          return n < 3 ? MockResponse.toolCall("add", { n }) : String(n)
        })
      }))))
  }

  it.effect("is told that there are no threads, and goes on without where it may", () =>
    Effect.gen(function*() {
      const client = yield* anthropic()
      const { messages: _, tools: _tools, ...params } = ask()
      const error = yield* rejection(() => client.beta.messages.thread(params).send({ role: "user", content: "Hello" }))
      assert.instanceOf(error, ThreadUnsupportedRequestError)
      const unsupportedRequestBehavior = "continue_unthreaded"
      const thread = client.beta.messages.thread({ ...params, unsupportedRequestBehavior })
      for (const content of ["one", "two"]) yield* Effect.promise(() => thread.send({ role: "user", content }))
      const requests = yield* MockProvider.requests("anthropic-messages")
      assert.deepStrictEqual(requests.map(({ messages }) => messages.length), [1, 3])
    }).pipe(Effect.provide(served({}))))

  showsHandler(
    Effect.map(anthropic(), (client) => () =>
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
      })),
    {
      toolNames: ["get_weather", "web_search"],
      iteration: 1,
      results: [["c1", "get_weather", false, { celsius: 30 }], ["c2", "get_weather", true, "no"]],
      roles: ["system", "user", "assistant", "tool"]
    },
    ({ messages: [, user, assistant] }) => {
      assert.deepInclude(user?.content[1], { type: "file", mediaType: "image/png", data: "AAAA" })
      assert.deepInclude(assistant?.content[0], {
        type: "reasoning",
        text: "Hm.",
        options: { anthropic: { info: { type: "thinking", signature: "c2ln" } } }
      })
    }
  )

  triesAgain(
    529,
    Effect.map(anthropic({ maxRetries: 2 }), (client) => async (text) => {
      const { content: [block] } = await client.messages.create(ask(text))
      return block?.type === "text" ? block.text : undefined
    })
  )

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
    }).pipe(Effect.provide(served({ handler: failing(MockResponse.httpError(529)) }))))

  breaksOff(
    "api_error",
    Effect.map(anthropic(), (client) => () =>
      hearing(
        async function*() {
          for await (const event of await client.messages.create({ ...ask(), stream: true })) {
            if (event.type === "content_block_delta" && event.delta.type === "text_delta") yield event.delta.text
            if (event.type === "message_stop") yield "!"
          }
        },
        (error) => (error as APIError).type ?? (error as Error).message
      ))
  )
})

const Parts = Schema.Array(Schema.Union([
  ...common,
  file,
  Schema.Struct({
    type: Schema.Literal("reasoning"),
    text: Schema.Literal(""),
    metadata: Schema.Struct({ anthropic: Schema.Struct({ redactedData: Schema.String }) })
  })
]))

/** A message as it came, without what the client adds. */
const said = (message: Message): unknown => JSON.parse(JSON.stringify({ ...message, parsed_output: undefined }))

const framesOf = async (response: MockResponse.Input, request: object = ask()) =>
  eventsOf(await post(saying(response), "messages", { ...request, stream: true }))

describe("a request for a message", () => {
  it.effect("is read as it is meant, whatever its blocks are", () =>
    Effect.promise(async () => {
      const { fetch, seen } = watched()
      const error = { type: "web_search_tool_result_error", error_code: "unavailable" }
      const response = await post(fetch, "messages", {
        model: "claude-sonnet-5",
        max_tokens: 9,
        system: "Be brief.",
        messages: [
          { role: "system", content: "Cite." },
          {
            role: "user",
            content: [
              { type: "image", source: { type: "url", url: "https://a.b/c.png" } },
              {
                type: "document",
                source: { type: "base64", media_type: "application/pdf", data: "AAAA" },
                title: "Tale"
              },
              { type: "document", source: { type: "url", url: "https://a.b/c.pdf" }, title: null },
              { type: "document", source: { type: "text", media_type: "text/plain", data: "Once" } },
              {
                type: "document",
                source: { type: "content", content: [{ type: "text", text: "upon" }, { type: "image" }] }
              },
              { type: "document", source: { type: "file", file_id: "file_1" } },
              { type: "search_result" },
              { type: "container_upload", file_id: "file_2" }
            ]
          },
          {
            role: "assistant",
            content: [
              { type: "redacted_thinking", data: "hidden" },
              { type: "text", text: "A time" },
              { type: "server_tool_use", id: "s1", name: "web_search", input: { query: "a" } },
              { type: "web_search_tool_result", tool_use_id: "s1", content: [{ url: "https://a.b" }] },
              { type: "server_tool_use", id: "s2", name: "web_search", input: {} },
              { type: "web_search_tool_result", tool_use_id: "s2", content: error },
              { type: "code_execution_tool_result", tool_use_id: "s3" },
              { type: "container_upload" },
              { type: "tool_use", id: "c1", name: "get_weather", input: { city: "Rome" } }
            ]
          },
          {
            role: "user",
            content: [
              {
                type: "tool_result",
                tool_use_id: "c1",
                content: [{ type: "text", text: "[1," }, { type: "text", text: "2]" }]
              },
              { type: "text", text: "Go on" }
            ]
          }
        ]
      })
      assert.strictEqual(response.status, 200)
      const [request] = seen
      assert.deepStrictEqual([request?.system, request?.lastUserText], ["Be brief.\n\nCite.", "Go on"])
      const own = { providerExecuted: true }
      const named = { name: "web_search", ...own }
      const file = (mediaType: string, data: string, more: object = {}) => ({ type: "file", mediaType, data, ...more })
      const bare = (part: { readonly [key: string]: unknown }) => ({ options: {}, ...part })
      assert.deepStrictEqual(promptOf(request), [
        ["system", "Be brief."],
        ["system", "Cite."],
        [
          "user",
          [
            file("image/*", "https://a.b/c.png"),
            file("application/pdf", "AAAA", { fileName: "Tale" }),
            file("application/pdf", "https://a.b/c.pdf"),
            { type: "text", text: "Once" },
            { type: "text", text: "upon" },
            file("application/pdf", "file_1", { options: { anthropic: { fileId: "file_1" } } }),
            file("application/octet-stream", "file_2", { options: { anthropic: { fileId: "file_2" } } })
          ].map(bare)
        ],
        [
          "assistant",
          [
            {
              type: "reasoning",
              text: "",
              options: { anthropic: { info: { type: "redacted_thinking", redactedData: "hidden" } } }
            },
            { type: "text", text: "A time" },
            { type: "tool-call", id: "s1", params: { query: "a" }, ...named },
            { type: "tool-result", id: "s1", isFailure: false, result: [{ url: "https://a.b" }], ...named },
            { type: "tool-call", id: "s2", params: {}, ...named },
            { type: "tool-result", id: "s2", isFailure: true, result: error, ...named },
            { type: "tool-result", id: "s3", isFailure: false, result: null, name: "", ...own },
            { type: "tool-call", id: "c1", name: "get_weather", params: { city: "Rome" }, providerExecuted: false }
          ].map(bare)
        ],
        [
          "tool",
          [{
            type: "tool-result",
            id: "c1",
            name: "get_weather",
            isFailure: false,
            result: [1, 2],
            providerExecuted: false
          }].map(bare)
        ],
        ["user", [{ type: "text", text: "Go on" }].map(bare)]
      ])
    }))
})

describe("a message", () => {
  it.effect.prop("says the same streamed as at once", [Parts, Length], ([parts, length]) =>
    Effect.promise(async () => {
      const client = anthropicOf(saying(MockResponse.chunked({ _tag: "MockResponse", parts }, length)))
      const request = { ...ask(), thinking: { type: "enabled" as const, budget_tokens: 1024 } }
      const whole = await client.messages.create(request)
      const streamed = await client.messages.stream(request).finalMessage()
      assert.deepStrictEqual(said(streamed), said(whole))
    }))

  it.effect("comes event by event as Anthropic sends it", () =>
    Effect.promise(async () => {
      const events = await framesOf(MockResponse.all(
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
      const client = anthropicOf(fetch)
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

  it.effect("has every field that Anthropic sends", () =>
    Effect.promise(async () => {
      const own = { providerExecuted: true } as const
      const call = (id: string, name: string) => ({ type: "tool-call", id, name, params: {}, ...own }) as const
      const used = {
        _tag: "MockResponse",
        parts: [
          call("s1", "web_search"),
          call("s2", "web_fetch"),
          call("s3", "tool_search_tool_regex"),
          { type: "tool-result", id: "s3", name: "tool_search_tool_regex", result: {}, isFailure: false, ...own },
          { type: "text", text: "No." }
        ],
        usage: { input: 10, cached: 4, output: 3, reasoning: 2 },
        finishReason: "content-filter"
      } as const
      const response = await post(saying(used), "messages", ask())
      const message = await response.json()
      const direct = { caller: { type: "direct" } }
      const use = (id: string, name: string) => ({ type: "server_tool_use", id, name, input: {}, ...direct })
      assert.match(message.id, /^msg_\w{24}$/)
      assert.deepStrictEqual({ ...message, id: undefined }, {
        id: undefined,
        type: "message",
        role: "assistant",
        model: "claude-sonnet-5",
        container: null,
        diagnostics: null,
        content: [
          use("s1", "web_search"),
          use("s2", "web_fetch"),
          use("s3", "tool_search_tool_regex"),
          { type: "tool_search_tool_result", tool_use_id: "s3", content: {} },
          { type: "text", text: "No." }
        ],
        stop_reason: "refusal",
        stop_sequence: null,
        stop_details: { type: "refusal", category: null, explanation: null },
        usage: {
          input_tokens: 6,
          cache_creation_input_tokens: 0,
          cache_read_input_tokens: 4,
          output_tokens: 3,
          output_tokens_details: { thinking_tokens: 2 },
          server_tool_use: { web_search_requests: 1, web_fetch_requests: 1 },
          cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0 },
          service_tier: "standard",
          inference_geo: "not_available",
          speed: "standard"
        }
      })
      const events = await framesOf(used)
      assert.deepStrictEqual(events.at(-2).usage, {
        input_tokens: 6,
        cache_creation_input_tokens: 0,
        cache_read_input_tokens: 4,
        output_tokens: 3,
        output_tokens_details: { thinking_tokens: 2 },
        server_tool_use: { web_search_requests: 1, web_fetch_requests: 1 }
      })
      assert.deepStrictEqual(events[0].message.usage.server_tool_use, null)
    }))

  it.effect("streams what it cites into the text before, block by block", () =>
    Effect.promise(async () => {
      const cites = {
        _tag: "MockResponse",
        parts: [
          { type: "text", text: "So." },
          { type: "source", sourceType: "url", id: "u", url: "https://a.b/", title: "A" },
          {
            type: "source",
            sourceType: "document",
            id: "d",
            mediaType: "text/plain",
            title: "Tale",
            metadata: { anthropic: { citedText: "once", documentIndex: 2, startCharIndex: 5, endCharIndex: "?" } }
          },
          { type: "text", text: "Well." },
          { type: "reasoning", text: "" },
          { type: "source", sourceType: "document", id: "e", mediaType: "text/plain", title: "Other" }
        ]
      } as const
      const web = (index: string) => ({
        type: "web_search_result_location",
        cited_text: "",
        url: "https://a.b/",
        title: "A",
        encrypted_index: index
      })
      const char = (fields: object) => ({
        type: "char_location",
        cited_text: "",
        document_index: 0,
        file_id: null,
        start_char_index: 0,
        end_char_index: 0,
        ...fields
      })
      const tale = char({
        cited_text: "once",
        document_index: 2,
        document_title: "Tale",
        start_char_index: 5,
        end_char_index: 9
      })
      const other = char({ document_title: "Other" })
      const { content } = await (await post(saying(cites), "messages", ask())).json()
      const index: string = content[0].citations[0].encrypted_index
      const { signature } = content[2]
      assert.match(`${index} ${signature}`, /^Eo8BCioIAhgB\w{24} EqQBCgIYAhIM\w{24}$/)
      assert.deepStrictEqual(content, [
        { type: "text", text: "So.", citations: [web(index), tale] },
        { type: "text", text: "Well." },
        { type: "thinking", thinking: "", signature },
        { type: "text", text: "", citations: [other] }
      ])
      const events = (await framesOf(cites)).slice(2, -2)
      const start = (index: number, content_block: object) => ({ type: "content_block_start", index, content_block })
      const delta = (index: number, delta: object) => ({ type: "content_block_delta", index, delta })
      const stop = (index: number) => ({ type: "content_block_stop", index })
      const text = (text: string) => ({ type: "text_delta", text })
      const cite = (citation: object) => ({ type: "citations_delta", citation })
      const empty = { type: "text", text: "" }
      assert.deepStrictEqual(events, [
        start(0, empty),
        delta(0, text("So.")),
        delta(0, cite(web(index))),
        delta(0, cite(tale)),
        stop(0),
        start(1, empty),
        delta(1, text("Well.")),
        stop(1),
        start(2, { type: "thinking", thinking: "", signature: "" }),
        delta(2, { type: "signature_delta", signature }),
        stop(2),
        start(3, empty),
        delta(3, cite(other)),
        stop(3)
      ])
    }))

  it.effect("begins with a thought where it calls tools and thinking is on, and pieces are counted without it", () =>
    Effect.promise(async () => {
      const request = { ...ask(), thinking: { type: "enabled", budget_tokens: 1024 } }
      const starts = (events: ReadonlyArray<{ readonly content_block?: { readonly type: string } }>) =>
        events.flatMap(({ content_block: block }) => block === undefined ? [] : [block.type])
      const call = MockResponse.toolCall("get_weather", { city: "Rome" })
      assert.deepStrictEqual(starts(await framesOf(call, request)), ["thinking", "tool_use"])
      assert.deepStrictEqual(starts(await framesOf(call)), ["tool_use"])
      assert.deepStrictEqual(starts(await framesOf("Hi", request)), ["text"])
      const [{ type }] = await framesOf(
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
      const { fetch, seen } = watched()
      const client = anthropicOf(fetch)
      for (const type of ["auto", "any", "none"] as const) {
        await client.messages.create({ ...ask(), tool_choice: { type } })
      }
      await client.messages.create({ ...ask(), tool_choice: { type: "tool", name: "get_weather" } })
      assert.deepStrictEqual(seen.map(({ toolChoice }) => toolChoice), ["auto", "required", "none", {
        tool: "get_weather"
      }])
    }))

  it.effect("ends as the script says", () =>
    Effect.promise(async () => {
      const ends = {
        stop: "end_turn",
        length: "max_tokens",
        "content-filter": "refusal",
        "tool-calls": "tool_use",
        pause: "pause_turn",
        error: "end_turn",
        other: "end_turn",
        unknown: "end_turn"
      } as const
      for (const [reason, expected] of Object.entries(ends)) {
        const client = anthropicOf(saying(MockResponse.withFinishReason("Hi", reason as keyof typeof ends)))
        const { stop_reason } = await client.messages.create(ask())
        assert.strictEqual(stop_reason, expected)
      }
      const stopped = MockResponse.withMetadata("Hi", { anthropic: { stopSequence: "END" } })
      const { stop_reason, stop_sequence } = await anthropicOf(saying(stopped)).messages.stream(ask()).finalMessage()
      assert.deepStrictEqual([stop_reason, stop_sequence], ["stop_sequence", "END"])
    }))

  it.effect("comes with the headers of Anthropic", () =>
    Effect.promise(async () => {
      const { response, request_id } = await anthropicOf(saying("Hi")).messages.create(ask()).withResponse()
      assert.match(request_id ?? "", /^req_/)
      assert.strictEqual(response.headers.get("anthropic-organization-id"), "org-troupe")
      assert.strictEqual(response.headers.get("anthropic-ratelimit-requests-limit"), "1000")
    }))
})
