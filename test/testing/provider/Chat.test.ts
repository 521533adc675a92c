import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import {
  APIConnectionTimeoutError,
  type APIError,
  AuthenticationError,
  BadRequestError,
  type OpenAI,
  RateLimitError
} from "openai"
import type { ChatCompletionMessageParam, ChatCompletionTool } from "openai/resources/chat/completions"
import { MockModel, MockProvider, MockResponse } from "../../../src/testing/index.ts"
import { calls, eachWay, resultOf } from "./booking.ts"
import { common, Length } from "./parts.ts"
import { promptOf, showsHandler, watched } from "./seeing.ts"
import { openai, openaiOf, post, rejection, saying, served } from "./serve.ts"
import { breaksOff, failing, hearing, triesAgain } from "./trouble.ts"

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

/** The loop of a client, with what the model says, streamed or not. */
const loop = async (client: OpenAI, content: string, isStreamed: boolean) => {
  const messages: Array<ChatCompletionMessageParam> = [{ role: "user", content }]
  for (;;) {
    const request = { model: "gpt-5", messages, tools: [tool("get_weather"), tool("book")] }
    const { choices: [choice], usage } = isStreamed
      ? await client.chat.completions.stream({ ...request, stream_options: { include_usage: true } })
        .finalChatCompletion()
      : await client.chat.completions.create(request)
    const { content, role, tool_calls: calls } = choice!.message
    messages.push({ role, content, ...(calls === undefined ? undefined : { tool_calls: calls }) })
    if (choice!.finish_reason !== "tool_calls") return { messages, usage, finish: choice!.finish_reason }
    for (const call of calls ?? []) {
      if (call.type !== "function") return assert.fail(`a call of the type ${call.type}`)
      const result = resultOf(call.function.name, JSON.parse(call.function.arguments).city)
      messages.push({ role: "tool", tool_call_id: call.id, content: result })
    }
  }
}

describe("the official client of OpenAI, over a socket", () => {
  eachWay((content, isStreamed) =>
    Effect.gen(function*() {
      const client = yield* openai()
      const { finish, messages, usage } = yield* Effect.promise(() => loop(client, content, isStreamed))
      const called = messages.flatMap((message) =>
        message.role === "assistant"
          ? (message.tool_calls ?? []).map((call) =>
            "function" in call && [call.function.name, call.function.arguments]
          )
          : []
      )
      assert.deepStrictEqual(called, calls.map(([name, params]) => [name, JSON.stringify(params)]))
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
        [1, isStreamed],
        [4, isStreamed],
        [6, isStreamed]
      ])
    })
  )

  showsHandler(
    Effect.map(openai(), (client) => () =>
      client.chat.completions.create({
        model: "gpt-5",
        messages: [
          { role: "developer", content: "Be brief." },
          { role: "user", content: [{ type: "text", text: "How warm" }, { type: "text", text: " is it?" }] },
          {
            role: "assistant",
            content: null,
            tool_calls: [
              { id: "c1", type: "function", function: { name: "get_weather", arguments: `{"city":"Rome"}` } },
              { id: "c2", type: "custom", custom: { name: "note", input: "warm" } }
            ]
          },
          { role: "tool", tool_call_id: "c1", content: `{"celsius":30}` },
          { role: "tool", tool_call_id: "c2", content: "noted" }
        ],
        tools: [tool("get_weather"), { type: "custom", custom: { name: "note", description: "Notes" } }],
        tool_choice: { type: "function", function: { name: "get_weather" } }
      })),
    {
      toolNames: ["get_weather", "note"],
      iteration: 1,
      results: [["c1", "get_weather", false, { celsius: 30 }], ["c2", "note", false, "noted"]],
      roles: ["system", "user", "assistant", "tool"]
    },
    ({ messages: [, , assistant] }) =>
      assert.deepInclude(assistant?.content[1], { type: "tool-call", id: "c2", name: "note", params: "warm" })
  )

  triesAgain(
    500,
    Effect.map(openai({ maxRetries: 2 }), (client) => async (text) => {
      const { choices } = await client.chat.completions.create(ask(text))
      return choices[0]?.message.content
    })
  )

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
      handler: failing(MockResponse.httpError(418, { body: { error: { message: "short and stout" } } }))
    }))))

  breaksOff(
    "overloaded",
    Effect.map(openai(), (client) => () =>
      hearing(async function*() {
        for await (const chunk of await client.chat.completions.create({ ...ask(), stream: true })) {
          yield chunk.choices[0]?.delta.content ?? chunk.choices[0]?.finish_reason ?? "?"
        }
      }))
  )

  it.effect("loses a response that isn't streamed in the middle of its body", () =>
    Effect.gen(function*() {
      const client = yield* openai()
      assert.match(String(yield* rejection(() => client.chat.completions.create(ask()))), /terminated|Connection/)
      assert.deepStrictEqual((yield* MockProvider.entries).map(({ outcome }) => outcome), ["cut"])
    }).pipe(Effect.provide(served({ handler: MockModel.queue(MockResponse.cut("one two", 1)) }))))

  it.effect("waits for what never comes, until it gives up", () =>
    Effect.gen(function*() {
      const client = yield* openai()
      const hung = yield* rejection(() => client.chat.completions.create(ask(), { timeout: 100 }))
      assert.instanceOf(hung, APIConnectionTimeoutError)
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

describe("a request for a chat completion", () => {
  it.effect("is read as it is meant, whatever its messages are", () =>
    Effect.promise(async () => {
      const { fetch, seen } = watched()
      const call = (id: string, name: string, args: string) => ({
        id,
        type: "function",
        function: { name, arguments: args }
      })
      const response = await post(fetch, "chat/completions", {
        model: "gpt-5",
        messages: [
          { role: "system", content: [{ type: "text", text: "Be" }, { type: "text", text: "brief." }] },
          { role: "developer", content: "Cite." },
          {
            role: "user",
            content: [
              { type: "text", text: "Look" },
              { type: "image_url", image_url: { url: "https://a.b/c.png" } },
              { type: "image_url", image_url: { url: "not a URL" } },
              { type: "input_audio", input_audio: { format: "wav", data: "AAAA" } },
              { type: "file", file: { file_data: "data:text/plain;charset=utf-8;base64,QQ==", filename: "a.txt" } },
              { type: "file", file: { file_id: "file_1" } }
            ]
          },
          {
            role: "assistant",
            content: "",
            reasoning_content: "Hm.",
            tool_calls: [call("c1", "look", `{"at":1}`), call("c2", "look", "not JSON")]
          },
          { role: "tool", tool_call_id: "c2", content: [{ type: "text", text: "two" }] },
          { role: "tool", tool_call_id: "c1", content: "1" },
          { role: "assistant", content: null, refusal: "No." },
          { role: "assistant", content: [{ type: "text", text: "Well" }, { type: "refusal", refusal: "No." }] },
          { role: "function", name: "old", content: "3" },
          { role: "user", content: "Go on" }
        ]
      })
      assert.strictEqual(response.status, 200, await response.text())
      const [request] = seen
      assert.deepStrictEqual([request?.system, request?.lastUserText, request?.iteration], [
        "Be\nbrief.\n\nCite.",
        "Go on",
        0
      ])
      const bare = (part: { readonly [key: string]: unknown }) => ({ options: {}, ...part })
      const file = (mediaType: string, data: string, more: object = {}) =>
        bare({ type: "file", mediaType, data, ...more })
      const result = (id: string, name: string, result: unknown) =>
        bare({ type: "tool-result", id, name, isFailure: false, providerExecuted: false, result })
      assert.deepStrictEqual(promptOf(request), [
        ["system", "Be\nbrief."],
        ["system", "Cite."],
        ["user", [
          bare({ type: "text", text: "Look" }),
          file("image/*", "https://a.b/c.png"),
          file("image/*", "not a URL"),
          file("audio/wav", "AAAA"),
          file("text/plain", "QQ==", { fileName: "a.txt" }),
          file("application/octet-stream", "file_1", { options: { openai: { fileId: "file_1" } } })
        ]],
        ["assistant", [
          bare({ type: "reasoning", text: "Hm." }),
          bare({ type: "tool-call", id: "c1", name: "look", params: { at: 1 }, providerExecuted: false }),
          bare({ type: "tool-call", id: "c2", name: "look", params: "not JSON", providerExecuted: false })
        ]],
        ["tool", [result("c2", "look", "two"), result("c1", "look", 1)]],
        ["assistant", []],
        ["assistant", [bare({ type: "text", text: "Well" })]],
        ["tool", [result("", "old", 3)]],
        ["user", [bare({ type: "text", text: "Go on" })]]
      ])
    }))
})

describe("a chat completion", () => {
  it.effect.prop(
    "says the same streamed as at once",
    [Schema.Array(Schema.Union(common)), Length],
    ([parts, length]) =>
      Effect.promise(async () => {
        const response = MockResponse.chunked({ _tag: "MockResponse", parts }, length)
        const client = openaiOf(saying(response))
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
      })
  )

  it.effect("comes frame by frame as OpenAI sends it", () =>
    Effect.promise(async () => {
      const said = MockResponse.all("Hi you", MockResponse.toolCall("a", { n: 1 }, { id: "call_a" }))
      const asking = { ...ask(), stream: true, stream_options: { include_usage: true } }
      const response = await post(saying(said), "chat/completions", asking)
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

  it.effect("has every field that OpenAI sends, and its citations where the text is that they stand behind", () =>
    Effect.promise(async () => {
      const source = (id: string, url: string) => ({ type: "source", sourceType: "url", id, url, title: id }) as const
      const said = MockResponse.withUsage(
        {
          _tag: "MockResponse",
          parts: [
            { type: "reasoning", text: "Hm" },
            { type: "text", text: "So." },
            source("a", "https://a.b/"),
            { type: "text", text: " And" },
            source("b", "https://b.c/"),
            { type: "source", sourceType: "document", id: "d", mediaType: "text/plain", title: "d" }
          ]
        },
        { input: 10, cached: 4, output: 3, reasoning: 2 }
      )
      const annotation = (id: string, url: string, at: number) => ({
        type: "url_citation",
        url_citation: { start_index: at, end_index: at, url, title: id }
      })
      const usage = {
        prompt_tokens: 10,
        completion_tokens: 3,
        total_tokens: 13,
        prompt_tokens_details: { cached_tokens: 4, audio_tokens: 0 },
        completion_tokens_details: {
          reasoning_tokens: 2,
          audio_tokens: 0,
          accepted_prediction_tokens: 0,
          rejected_prediction_tokens: 0
        }
      }
      const common = { model: "gpt-5", service_tier: "default", system_fingerprint: "fp_troupe" }
      const { created, id, ...completion } = await (await post(saying(said), "chat/completions", ask())).json()
      assert.match(`${id} ${created}`, /^chatcmpl-\w{24} \d{10}$/)
      assert.deepStrictEqual(completion, {
        ...common,
        object: "chat.completion",
        choices: [{
          index: 0,
          message: {
            role: "assistant",
            content: "So. And",
            reasoning_content: "Hm",
            refusal: null,
            annotations: [annotation("a", "https://a.b/", 3), annotation("b", "https://b.c/", 7)]
          },
          logprobs: null,
          finish_reason: "stop"
        }],
        usage
      })
      const streamed = await post(saying(said), "chat/completions", {
        ...ask(),
        stream: true,
        stream_options: { include_usage: true }
      })
      const frames = (await streamed.text()).split("\n\n").slice(0, -2)
        .map((frame) => JSON.parse(frame.replace(/^data: /, "")))
      const chunk = { ...common, object: "chat.completion.chunk", id, created }
      const delta = (delta: object, finish_reason: string | null = null) => ({
        ...chunk,
        choices: [{ index: 0, delta, logprobs: null, finish_reason }],
        usage: null
      })
      assert.deepStrictEqual(frames, [
        delta({ role: "assistant", content: "", refusal: null }),
        delta({ reasoning_content: "Hm" }),
        delta({ content: "So." }),
        delta({ annotations: [annotation("a", "https://a.b/", 3)] }),
        delta({ content: " And" }),
        delta({ annotations: [annotation("b", "https://b.c/", 7)] }),
        delta({}, "stop"),
        { ...chunk, choices: [], usage }
      ])
    }))

  it.effect("has as many choices as it is asked for, which say the same", () =>
    Effect.promise(async () => {
      const asking = { ...ask(), n: 3 }
      const client = (response: MockResponse.Input) => openaiOf(saying(response))
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

  it.effect("begins to speak unless it only calls", () =>
    Effect.promise(async () => {
      const beginning = async (response: MockResponse.Input) => {
        const streamed = await post(saying(response), "chat/completions", { ...ask(), stream: true })
        return JSON.parse((await streamed.text()).slice("data: ".length).split("\n\n")[0]!).choices[0].delta.content
      }
      assert.strictEqual(await beginning(MockResponse.reasoning("Hm")), "")
      assert.strictEqual(await beginning(MockResponse.all("Hm", MockResponse.toolCall("a", {}))), "")
      assert.strictEqual(await beginning(MockResponse.toolCall("a", {})), null)
      const search = { type: "tool-call", id: "s", name: "web_search", params: {}, providerExecuted: true } as const
      assert.strictEqual(await beginning({ _tag: "MockResponse", parts: [search] }), "")
    }))

  it.effect("has no usage in a stream unless it is asked for", () =>
    Effect.promise(async () => {
      const response = await post(saying("Hi"), "chat/completions", { ...ask(), stream: true })
      assert.notInclude(await response.text(), "usage")
    }))

  it.effect("ends as the script says", () =>
    Effect.promise(async () => {
      const ends = {
        stop: "stop",
        length: "length",
        "content-filter": "content_filter",
        "tool-calls": "tool_calls",
        error: "stop",
        pause: "stop",
        other: "stop",
        unknown: "stop"
      } as const
      for (const [reason, expected] of Object.entries(ends)) {
        const response = MockResponse.withFinishReason("Hi", reason as keyof typeof ends)
        const { choices: [choice] } = await openaiOf(saying(response)).chat.completions.create(ask())
        assert.strictEqual(choice?.finish_reason, expected)
      }
    }))

  it.effect("breaks off in the middle of a call's arguments, and finishes nothing", () =>
    Effect.promise(async () => {
      const call = MockResponse.chunked(MockResponse.toolCall("get_weather", { city: "Rome" }), 4)
      const pieces = hearing(async function*() {
        const client = openaiOf(saying(MockResponse.cut(call, 2)))
        for await (const { choices: [choice] } of await client.chat.completions.create({ ...ask(), stream: true })) {
          yield choice?.delta.tool_calls?.[0]?.function?.arguments ?? choice?.finish_reason ?? ""
        }
      })
      assert.deepStrictEqual(await pieces, [`{"city":`, "terminated"])
    }))

  it.effect("reads arguments back that were sent in fragments", () =>
    Effect.promise(async () => {
      const params = { city: "Åre \"x\" 👩‍👩‍👧", list: [1, null, { deep: true }] }
      const client = openaiOf(saying(MockResponse.chunked(MockResponse.toolCall("get_weather", params), 1)))
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
