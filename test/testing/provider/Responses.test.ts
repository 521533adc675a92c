import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { AiError, Tool } from "effect/ai"
import { AuthenticationError, BadRequestError, type OpenAI, RateLimitError } from "openai"
import { toResponseInputItems } from "openai/lib/responses/ResponseInputItems"
import type { FunctionTool, Response, ResponseInputItem } from "openai/resources/responses/responses"
import { InstructionChain, MockProvider, MockResponse } from "../../../src/testing/index.ts"
import { calls, eachWay, resultOf } from "./booking.ts"
import { common, file, Length } from "./parts.ts"
import { showsHandler, watched } from "./seeing.ts"
import { eventsOf, openai, openaiOf, post, rejection, saying, served } from "./serve.ts"
import { breaksOff, failing, hearing, triesAgain } from "./trouble.ts"

const tool = (name: string): FunctionTool => ({
  type: "function",
  name,
  description: `Does ${name}`,
  parameters: { type: "object", properties: { city: { type: "string" } } },
  strict: false
})

const ask = (input = "Hello") => ({ model: "gpt-5", input, tools: [tool("get_weather")] })

const callsOf = ({ output }: Response) => output.flatMap((item) => item.type === "function_call" ? [item] : [])

/** The loop of a client, with what the model says, streamed or not. */
const loop = async (client: OpenAI, content: string, isStreamed: boolean) => {
  const input: Array<ResponseInputItem> = [{ role: "user", content }]
  const answers: Array<Response> = []
  for (;;) {
    const request = { model: "gpt-5", input, tools: [tool("get_weather"), tool("book")] }
    const answer = isStreamed
      ? await client.responses.stream(request).finalResponse()
      : await client.responses.create(request)
    answers.push(answer)
    input.push(...toResponseInputItems(answer.output))
    const calls = callsOf(answer)
    if (calls.length === 0) return answers
    for (const { arguments: given, call_id, name } of calls) {
      const output = resultOf(name, JSON.parse(given).city)
      input.push({ type: "function_call_output", call_id, output })
    }
  }
}

describe("the official client of OpenAI for responses, over a socket", () => {
  eachWay((content, isStreamed) =>
    Effect.gen(function*() {
      const client = yield* openai()
      const answers = yield* Effect.promise(() => loop(client, content, isStreamed))
      assert.deepStrictEqual(answers.map(({ output }) => output.map(({ type }) => type)), [
        ["reasoning", "message", "function_call", "function_call"],
        ["function_call"],
        ["reasoning", "message"]
      ])
      const called = answers.flatMap(callsOf)
      assert.deepStrictEqual(
        called.map(({ arguments: given, name }) => [name, given]),
        calls.map(([name, params]) => [name, JSON.stringify(params)])
      )
      assert.match(called[0]!.call_id, /^call_\w{24}$/)
      assert.strictEqual(called[2]!.call_id, "chosen_by_the_script")
      assert.deepStrictEqual(answers.map(({ output_text }) => output_text), ["Let me look.", "", "Booked Paris."])
      assert.deepInclude(answers[0]!.output[0], { summary: [{ type: "summary_text", text: "Two cities." }] })
      const ids = answers.map(({ id, output }) => [id, ...output.map(({ id }) => id)].map((id) => id?.split("_")[0]))
      assert.deepStrictEqual(ids, [["resp", "rs", "msg", "fc", "fc"], ["resp", "fc"], ["resp", "rs", "msg"]])
      const last = answers[2]!
      assert.strictEqual(last.status, "completed")
      assert.deepStrictEqual(last.usage, {
        input_tokens: 40,
        input_tokens_details: { cached_tokens: 30 },
        output_tokens: 4,
        output_tokens_details: { reasoning_tokens: 1 },
        total_tokens: 44
      } as never)
      const requests = yield* MockProvider.requests("openai-responses")
      assert.deepStrictEqual(requests.map(({ input, stream }) => [input.length, stream === true]), [
        [1, isStreamed],
        [7, isStreamed],
        [9, isStreamed]
      ])
    })
  )

  showsHandler(
    Effect.map(openai(), (client) => () =>
      client.responses.create({
        model: "gpt-5",
        instructions: "Be brief.",
        input: [
          {
            role: "user",
            content: [
              { type: "input_text", text: "How warm" },
              { type: "input_image", image_url: "data:image/png;base64,AAAA", detail: "auto" },
              { type: "input_text", text: " is it?" }
            ]
          },
          { type: "function_call", call_id: "c0", name: "book", arguments: "{}" },
          { type: "function_call_output", call_id: "c0", output: "done" },
          { type: "reasoning", id: "rs_1", summary: [{ type: "summary_text", text: "Hm." }], encrypted_content: "x" },
          { type: "function_call", call_id: "c1", name: "get_weather", arguments: `{"city":"Rome"}` },
          { type: "function_call", call_id: "c2", name: "get_weather", arguments: `{"city":"Oslo"}` },
          { type: "function_call_output", call_id: "c1", output: `{"celsius":30}` },
          { type: "function_call_output", call_id: "c2", output: [{ type: "input_text", text: "cold" }] }
        ],
        tools: [tool("get_weather"), { type: "web_search" }],
        tool_choice: { type: "function", name: "get_weather" }
      })),
    {
      toolNames: ["get_weather", "web_search"],
      iteration: 2,
      results: [["c1", "get_weather", false, { celsius: 30 }], ["c2", "get_weather", false, "cold"]],
      roles: ["system", "user", "assistant", "tool", "assistant", "tool"]
    },
    ({ messages: [, user, , , assistant] }) => {
      assert.deepInclude(user?.content[1], { type: "file", mediaType: "image/png", data: "AAAA" })
      assert.deepInclude(assistant?.content[0], {
        type: "reasoning",
        text: "Hm.",
        options: { openai: { itemId: "rs_1", encryptedContent: "x" } }
      })
    }
  )

  triesAgain(
    500,
    Effect.map(openai({ maxRetries: 2 }), (client) => async (text) => {
      const { output_text } = await client.responses.create(ask(text))
      return output_text
    })
  )

  it.effect("makes its own errors of those that are sent", () =>
    Effect.gen(function*() {
      const client = yield* openai()
      const create = (text: string) => rejection(() => client.responses.create(ask(text)))
      const limited = yield* create("limited")
      assert.instanceOf(limited, RateLimitError)
      assert.strictEqual((limited as RateLimitError).headers.get("retry-after"), "7")
      assert.strictEqual((limited as RateLimitError).code, "rate_limit_exceeded")
      assert.match((limited as RateLimitError).requestID ?? "", /^req_/)
      const key = yield* create("key")
      assert.instanceOf(key, AuthenticationError)
      const refused = yield* rejection(() => client.responses.create({ model: "gpt-5", input: [] }))
      assert.instanceOf(refused, BadRequestError)
      assert.strictEqual((refused as BadRequestError).param, "input")
    }).pipe(Effect.provide(served({ handler: failing("ok") }))))

  breaksOff(
    "overloaded",
    Effect.map(openai(), (client) => () =>
      hearing(async function*() {
        for await (const event of await client.responses.create({ ...ask(), stream: true })) {
          if (event.type === "response.output_text.delta") yield event.delta
          if (event.type === "response.completed") yield "!"
        }
      }))
  )
})

const Parts = Schema.Array(Schema.Union([
  ...common,
  file,
  Schema.Struct({
    type: Schema.Literal("tool-call"),
    name: Schema.Literals(["web_search", "lookup"]),
    params: Schema.Struct({ query: Schema.String }),
    providerExecuted: Schema.Literal(true)
  })
]))

interface Event {
  readonly type: string
  readonly sequence_number: number
  readonly response: Response
  readonly [field: string]: unknown
}

const framesOf = async (response: MockResponse.Input, request: object = ask()): Promise<ReadonlyArray<Event>> => {
  const events = await eventsOf(await post(saying(response), "responses", { ...request, stream: true }))
  assert.deepStrictEqual(events.map(({ sequence_number }) => sequence_number), events.map((_, index) => index))
  return events
}

/** The events without what they have in common, and ids by the item that they name. */
const brief = (events: ReadonlyArray<Event>) =>
  events.map((event) =>
    JSON.parse(
      JSON.stringify({ ...event, sequence_number: undefined }).replace(/"(msg|rs|fc)_[^"]*"/g, "\"$1\"")
    )
  )

describe("a request for a response", () => {
  it.effect("is read as it is meant, whatever its items are", () =>
    Effect.promise(async () => {
      const { fetch, seen } = watched()
      await openaiOf(fetch).responses.create({
        model: "gpt-5",
        input: [
          { role: "developer", content: "Cite." },
          { role: "system", content: [{ type: "input_text", text: "Be" }, { type: "input_text", text: "brief." }] },
          {
            role: "user",
            content: [
              { type: "input_image", file_id: "file_1", detail: "auto" },
              { type: "input_image", image_url: "https://a.b/c.png", detail: "auto" },
              { type: "input_file", file_data: "data:text/plain;base64,AAAA", filename: "a.txt" },
              { type: "input_file", file_url: "https://a.b/c.pdf" },
              { type: "input_file", file_id: "file_2" },
              { type: "input_text", text: "What is it?" }
            ]
          },
          {
            type: "message",
            role: "assistant",
            id: "msg_1",
            status: "completed",
            content: [
              { type: "refusal", refusal: "No." },
              { type: "output_text", text: "", annotations: [] },
              { type: "output_text", text: "A tale.", annotations: [] }
            ]
          },
          { type: "function_call", call_id: "c1", name: "book", arguments: "not JSON" },
          { type: "function_call_output", call_id: "c1", output: "done" },
          { role: "user", content: "Go on" }
        ],
        tools: [{ type: "custom", name: "note" }, tool("book")],
        tool_choice: { type: "custom", name: "note" }
      })
      const [request] = seen
      assert.strictEqual(request?.system, "Cite.\n\nBe\nbrief.")
      assert.deepStrictEqual(request?.toolChoice, { tool: "note" })
      assert.deepStrictEqual(request?.toolNames, ["note", "book"])
      assert.deepStrictEqual(request?.tools.map((tool) => Tool.getJsonSchema(tool)), [
        { type: "object", properties: {} },
        tool("book").parameters as never
      ])
      assert.deepStrictEqual(request?.messages.map(({ role }) => role), [
        "system",
        "system",
        "user",
        "assistant",
        "tool",
        "user"
      ])
      const [, , user, assistant, tools] = request?.messages ?? []
      assert.deepStrictEqual(
        user?.role === "user" &&
          user.content.map((part) =>
            part.type === "file"
              ? [part.mediaType, String(part.data), part.fileName, ...Object.values(part.options)]
              : part.text
          ),
        [
          ["image/*", "file_1", undefined, { fileId: "file_1" }],
          ["image/*", "https://a.b/c.png", undefined],
          ["text/plain", "AAAA", "a.txt"],
          ["application/pdf", "https://a.b/c.pdf", undefined],
          ["application/pdf", "file_2", undefined, { fileId: "file_2" }],
          "What is it?"
        ]
      )
      assert.deepStrictEqual(
        assistant?.role === "assistant" && assistant.content.map((part) =>
          part.type === "text" ? part.text : part.type === "tool-call" ? [part.id, part.name, part.params] : part.type
        ),
        ["A tale.", ["c1", "book", "not JSON"]]
      )
      assert.deepStrictEqual(
        tools?.role === "tool" && tools.content.map((part) =>
          part.type === "tool-result" && [part.id, part.name, part.isFailure, part.result]
        ),
        [["c1", "book", false, "done"]]
      )
    }))
})

describe("a response", () => {
  it.effect.prop("says the same streamed as at once", [Parts, Length], ([parts, length]) =>
    Effect.promise(async () => {
      const response = MockResponse.chunked({ _tag: "MockResponse", parts }, length)
      const whole = await openaiOf(saying(response)).responses.create(ask())
      const events = await framesOf(response)
      const { output_text: _, ...said } = JSON.parse(JSON.stringify(whole))
      assert.deepStrictEqual(events.at(-1)!.response as unknown, said)
      const done = events.filter(({ type }) => type === "response.output_item.done").map(({ item }) => item)
      assert.deepStrictEqual(done, said.output)
      const streamed = await openaiOf(saying(response)).responses.stream(ask()).finalResponse()
      assert.strictEqual(streamed.output_text, whole.output_text)
      assert.strictEqual(new Set(said.output.map(({ id }: { readonly id: string }) => id)).size, said.output.length)
    }))

  it.effect("comes event by event as OpenAI sends it", () =>
    Effect.promise(async () => {
      const events = await framesOf(MockResponse.all(
        MockResponse.reasoning("Hm so"),
        "Hi you",
        MockResponse.toolCall("a", { n: 1 }, { id: "call_a" })
      ))
      const [created, ongoing] = events
      assert.deepStrictEqual([created!.type, ongoing!.type], ["response.created", "response.in_progress"])
      assert.deepStrictEqual(ongoing!.response, created!.response)
      assert.match(created!.response.id, /^resp_\w{24}$/)
      assert.deepInclude(created!.response, {
        object: "response",
        status: "in_progress",
        completed_at: null,
        model: "gpt-5",
        output: [],
        usage: null,
        error: null,
        incomplete_details: null
      } as never)
      const thought = { item_id: "rs", output_index: 0, summary_index: 0 }
      const said = { item_id: "msg", output_index: 1, content_index: 0 }
      const called = { item_id: "fc", output_index: 2 }
      const part = (text: string) => ({ type: "output_text", annotations: [], logprobs: [], text })
      const summary = (text: string) => ({ type: "summary_text", text })
      const call = { id: "fc", type: "function_call", call_id: "call_a", name: "a" }
      const message = { id: "msg", type: "message", role: "assistant" }
      assert.deepStrictEqual(brief(events.slice(2, -1)), [
        {
          type: "response.output_item.added",
          output_index: 0,
          item: { id: "rs", type: "reasoning", summary: [] }
        },
        { type: "response.reasoning_summary_part.added", ...thought, part: summary("") },
        { type: "response.reasoning_summary_text.delta", ...thought, delta: "Hm" },
        { type: "response.reasoning_summary_text.delta", ...thought, delta: " so" },
        { type: "response.reasoning_summary_text.done", ...thought, text: "Hm so" },
        { type: "response.reasoning_summary_part.done", ...thought, part: summary("Hm so") },
        {
          type: "response.output_item.done",
          output_index: 0,
          item: { id: "rs", type: "reasoning", summary: [summary("Hm so")] }
        },
        {
          type: "response.output_item.added",
          output_index: 1,
          item: { ...message, status: "in_progress", content: [] }
        },
        { type: "response.content_part.added", ...said, part: part("") },
        { type: "response.output_text.delta", ...said, delta: "Hi", logprobs: [] },
        { type: "response.output_text.delta", ...said, delta: " you", logprobs: [] },
        { type: "response.output_text.done", ...said, text: "Hi you", logprobs: [] },
        { type: "response.content_part.done", ...said, part: part("Hi you") },
        {
          type: "response.output_item.done",
          output_index: 1,
          item: { ...message, status: "completed", content: [part("Hi you")] }
        },
        {
          type: "response.output_item.added",
          output_index: 2,
          item: { ...call, status: "in_progress", arguments: "" }
        },
        { type: "response.function_call_arguments.delta", ...called, delta: `{"n":1}` },
        { type: "response.function_call_arguments.done", ...called, name: "a", arguments: `{"n":1}` },
        {
          type: "response.output_item.done",
          output_index: 2,
          item: { ...call, status: "completed", arguments: `{"n":1}` }
        }
      ])
      const last = events.at(-1)!
      assert.strictEqual(last.type, "response.completed")
      assert.strictEqual(last.response.status, "completed")
      assert.strictEqual(last.response.output.length, 3)
      assert.strictEqual(last.response.usage?.total_tokens, 8)
    }))

  it.effect("cites its sources in the text before them, and shows what the provider's tools gave", () =>
    Effect.promise(async () => {
      const { cited, make, serverToolResult, serverToolUse, step } = InstructionChain
      const steps = make(step([
        serverToolUse("web_search", { query: "warm" }),
        serverToolResult("web_search", { result: [] }),
        serverToolUse("lookup", { key: 1 }),
        serverToolResult("lookup", { error_code: "unavailable" }),
        cited("It is warm.", { url: "https://example.com", title: "Example" })
      ]))
      const { fetch } = MockProvider.make({ chain: steps })
      const client = openaiOf(fetch)
      for (const stream of [false, true]) {
        const { output } = stream
          ? await client.responses.stream(ask()).finalResponse()
          : await client.responses.create(ask())
        const [search, lookup, message] = output
        assert.deepInclude(search, { type: "web_search_call", status: "completed" })
        assert.deepInclude(lookup, { type: "mcp_call", status: "failed", name: "lookup", arguments: `{"key":1}` })
        assert.strictEqual(message?.type, "message")
        if (message?.type !== "message") return
        assert.deepInclude(message.content[0], {
          text: "It is warm.",
          annotations: [{
            type: "url_citation",
            start_index: 11,
            end_index: 11,
            title: "Example",
            url: "https://example.com"
          }]
        } as never)
      }
    }))

  it.effect("has an item for each call of the provider's own tools, with its result, and for an image", () =>
    Effect.promise(async () => {
      const own = { providerExecuted: true } as const
      const call = (id: string, name: string, params: unknown) =>
        ({ type: "tool-call", id, name, params, ...own }) as const
      const gave = (id: string, name: string, result: unknown, isFailure = false) =>
        ({ type: "tool-result", id, name, result, isFailure, ...own }) as const
      const parts = [
        call("s1", "web_search", { query: "warm" }),
        gave("s1", "web_search", []),
        call("s2", "web_search_preview", {}),
        gave("s2", "web_search_preview", "down", true),
        call("l1", "lookup", { key: 1 }),
        gave("l1", "lookup", { found: true }),
        call("l2", "lookup", {}),
        gave("l2", "lookup", "gone", true),
        call("l3", "lookup", {}),
        call("l4", "lookup", { key: 2 }),
        { type: "tool-approval-request", approvalId: "mcpr_4", toolCallId: "l4" },
        { type: "file", mediaType: "image/png", data: "AAAA" }
      ] as const
      const events = await framesOf({ _tag: "MockResponse", parts })
      const search = (status: string, query: string) => ({
        type: "web_search_call",
        status,
        action: { type: "search", query, queries: [query] }
      })
      const lookup = (status: string, args: string, output: string | null, error: string | null) => ({
        type: "mcp_call",
        status,
        approval_request_id: null,
        arguments: args,
        error,
        name: "lookup",
        output,
        server_label: "troupe"
      })
      const output = JSON.parse(JSON.stringify(events.at(-1)!.response.output))
      assert.match(
        output.map(({ id }: { readonly id: string }) => id).join(),
        /^(ws_\w{24},){2}(mcp_\w{24},){3}mcpr_4,ig_\w{24}$/
      )
      assert.deepStrictEqual(
        output.map((item: object) => ({ ...item, id: undefined })),
        [
          search("completed", "warm"),
          search("failed", ""),
          lookup("completed", `{"key":1}`, `{"found":true}`, null),
          lookup("failed", "{}", null, `"gone"`),
          lookup("completed", "{}", null, null),
          { type: "mcp_approval_request", name: "lookup", server_label: "troupe", arguments: `{"key":2}` },
          { type: "image_generation_call", status: "completed", result: "AAAA" }
        ].map((item) => ({ id: undefined, ...item }))
      )
      const states = events.map(({ type }) => type.replace("response.", "")).slice(2, -1)
      const item = (...types: ReadonlyArray<string>) => ["output_item.added", ...types, "output_item.done"]
      assert.deepStrictEqual(states, [
        ...item("web_search_call.in_progress", "web_search_call.searching", "web_search_call.completed"),
        ...item("web_search_call.in_progress", "web_search_call.searching", "web_search_call.failed"),
        ...item("mcp_call.in_progress", "mcp_call.completed"),
        ...item("mcp_call.in_progress", "mcp_call.failed"),
        ...item("mcp_call.in_progress", "mcp_call.completed"),
        ...item(),
        ...item(
          "image_generation_call.in_progress",
          "image_generation_call.generating",
          "image_generation_call.completed"
        )
      ])
      const added = events.filter(({ type }) => type === "response.output_item.added")
      assert.deepStrictEqual(
        added.map(({ item, output_index }) => [output_index, (item as { readonly status: string }).status]),
        [0, 1, 2, 3, 4, 5, 6].map((index) => [index, index === 5 ? undefined : "in_progress"])
      )
    }))

  it.effect("keeps ids and secrets of reasoning that a script has for it, and names files that it cites", () =>
    Effect.promise(async () => {
      const said = MockResponse.all(
        MockResponse.reasoning("Hm", { metadata: { openai: { itemId: "rs_mine", encryptedContent: "secret" } } }),
        MockResponse.reasoning("So", { metadata: { openai: { itemId: 5, encryptedContent: null } } }),
        "It says so.",
        {
          _tag: "MockResponse",
          parts: [
            {
              type: "source",
              sourceType: "document",
              id: "f1",
              mediaType: "text/plain",
              title: "Tale",
              fileName: "a.txt"
            },
            { type: "source", sourceType: "document", id: "f2", mediaType: "text/plain", title: "Other" }
          ]
        },
        MockResponse.toolCall("get_weather", {})
      )
      const { output } = await openaiOf(saying(said)).responses.create(ask()) as Response
      assert.deepStrictEqual((await framesOf(said)).at(-1)!.response.output, output)
      const [mine, own, message, call] = JSON.parse(JSON.stringify(output))
      assert.deepStrictEqual([mine.id, mine.encrypted_content], ["rs_mine", "secret"])
      assert.match(own.id, /^rs_\w{24}$/)
      assert.notProperty(own, "encrypted_content")
      assert.deepStrictEqual(message.content[0].annotations, [
        { type: "file_citation", file_id: "f1", filename: "a.txt", index: 11 },
        { type: "file_citation", file_id: "f2", filename: "Other", index: 11 }
      ])
      assert.strictEqual(call.id, `fc_${own.id.slice("rs_".length)}_rs0`)
    }))

  it.effect("may choose tools in each way", () =>
    Effect.promise(async () => {
      const { fetch, seen } = watched()
      const client = openaiOf(fetch)
      for (const choice of ["auto", "required", "none"] as const) {
        await client.responses.create({ ...ask(), tool_choice: choice })
      }
      const named = { type: "function", name: "get_weather" } as const
      await client.responses.create({ ...ask(), tool_choice: named })
      await client.responses.create({
        ...ask(),
        tool_choice: { type: "allowed_tools", mode: "required", tools: [named] }
      })
      const oneOf = { mode: "required", oneOf: ["get_weather"] } as const
      const choices = seen.map(({ toolChoice }) => toolChoice)
      assert.deepStrictEqual(choices, ["auto", "required", "none", { tool: "get_weather" }, oneOf])
    }))

  it.effect("ends as the script says", () =>
    Effect.promise(async () => {
      const ends = {
        stop: ["completed", undefined],
        length: ["incomplete", "max_output_tokens"],
        "content-filter": ["incomplete", "content_filter"],
        "tool-calls": ["completed", undefined],
        unknown: ["completed", undefined]
      } as const
      for (const [reason, [status, why]] of Object.entries(ends)) {
        const response = MockResponse.withFinishReason("Hi", reason as keyof typeof ends)
        const whole = await openaiOf(saying(response)).responses.create(ask())
        assert.deepStrictEqual([whole.status, whole.incomplete_details?.reason], [status, why])
        assert.strictEqual((await framesOf(response)).at(-1)?.type, `response.${status}`)
      }
    }))

  it.effect("breaks off with an error that counts on", () =>
    Effect.promise(async () => {
      const error = new AiError.InternalProviderError({ description: "overloaded" })
      const events = await framesOf(MockResponse.breakAfter("one two", 1, error))
      const said = { code: "server_error", message: "overloaded", param: null }
      assert.deepInclude(events.at(-1), { type: "error", ...said, error: { type: "server_error", ...said } })
    }))

  const echoed = async (asked: object) => {
    const { id, object, created_at, model, output, usage, ...rest } = await (await post(saying("Hi"), "responses", {
      model: "gpt-5",
      input: "Hello",
      ...asked
    })).json()
    assert.deepStrictEqual([object, model, output.length, usage.output_tokens], ["response", "gpt-5", 1, 1])
    assert.match(`${id} ${created_at}`, /^resp_\w{24} \d{10}$/)
    assert.strictEqual(rest.completed_at, created_at)
    return { ...rest, completed_at: undefined }
  }

  const plain = {
    background: false,
    completed_at: undefined,
    error: null,
    incomplete_details: null,
    instructions: null,
    max_output_tokens: null,
    max_tool_calls: null,
    metadata: {},
    parallel_tool_calls: true,
    previous_response_id: null,
    prompt_cache_key: null,
    reasoning: { effort: null, summary: null },
    safety_identifier: null,
    service_tier: "default",
    status: "completed",
    store: true,
    temperature: 1,
    text: { format: { type: "text" }, verbosity: "medium" },
    tool_choice: "auto",
    tools: [],
    top_logprobs: 0,
    top_p: 1,
    truncation: "disabled",
    user: null
  }

  it.effect("says of its request what it was asked, or what OpenAI takes it to ask", () =>
    Effect.promise(async () => {
      assert.deepStrictEqual(await echoed({}), plain)
      const asked = {
        instructions: "Be brief.",
        max_output_tokens: 100,
        max_tool_calls: 3,
        metadata: { a: "b" },
        parallel_tool_calls: false,
        prompt_cache_key: "key",
        safety_identifier: "who",
        store: false,
        temperature: 0.5,
        tool_choice: "none",
        tools: [tool("get_weather")],
        top_logprobs: 2,
        top_p: 0.9,
        truncation: "auto",
        user: "me"
      }
      const echo = await echoed({ ...asked, reasoning: { effort: "low" }, text: { verbosity: "low" } })
      assert.deepStrictEqual(echo, {
        ...plain,
        ...asked,
        reasoning: { effort: "low", summary: null },
        text: { format: { type: "text" }, verbosity: "low" }
      })
    }))

  it.effect("hides reasoning in what only the provider reads, where that is asked for", () =>
    Effect.promise(async () => {
      const thoughtOf = async (asked: object) => {
        const { output: [thought] } = await openaiOf(saying(MockResponse.reasoning("Hm"))).responses.create({
          ...ask(),
          ...asked
        }) as Response
        return thought?.type === "reasoning" ? thought.encrypted_content : "none"
      }
      assert.match(await thoughtOf({ include: ["reasoning.encrypted_content"] }) ?? "", /^gAAAAAB\w{24}$/)
      assert.isUndefined(await thoughtOf({ include: ["file_search_call.results"] }))
      assert.isUndefined(await thoughtOf({}))
    }))

  it.effect("comes with the headers of OpenAI", () =>
    Effect.promise(async () => {
      const { request_id, response } = await openaiOf(saying("Hi")).responses.create(ask()).withResponse()
      assert.match(request_id ?? "", /^req_\w{24}$/)
      assert.strictEqual(response.headers.get("openai-version"), "2020-10-01")
      assert.strictEqual(response.headers.get("openai-organization"), "org-troupe")
      assert.strictEqual(response.headers.get("openai-processing-ms"), "1")
    }))
})
