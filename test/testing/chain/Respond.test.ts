import { assert, describe, it } from "@effect/vitest"
import { Duration } from "effect"
import { InstructionChain, MockResponse } from "troupe/testing"
import { choose, partsOf, textOf, tools, user } from "./request.ts"

const {
  cited,
  embed,
  error,
  headersEcho,
  make,
  paramsEcho,
  reasoning,
  serverToolResult,
  serverToolUse,
  step,
  systemPromptEcho,
  toolCall,
  toolCalls,
  toolSchema,
  toolsEcho,
  toolsList,
  urlEcho,
  words
} = InstructionChain

const first = (step: InstructionChain.StepInput, more: Partial<InstructionChain.Request> = {}) =>
  choose([user(embed("Go", make(step)))], more)

const responseOf = (step: InstructionChain.StepInput): MockResponse.MockResponse => {
  const choice = first(step)
  return choice._tag === "Chosen" ? choice.response : assert.fail(choice.reason)
}

describe("What a step says", () => {
  it("is words of the lorem ipsum, from its beginning in every part", () => {
    assert.strictEqual(textOf(first(words(8))), "lorem ipsum dolor sit amet consectetur adipiscing elit")
    assert.strictEqual(textOf(first(words(0))), "")
    const many = textOf(first(words(140))).split(" ")
    assert.deepStrictEqual(many.slice(66, 72), ["id", "est", "laborum", "lorem", "ipsum", "dolor"])
    assert.strictEqual(many.length, 140)
    assert.deepStrictEqual(partsOf(first(step([words(1), words(2)]))), [
      { type: "text", text: "lorem" },
      { type: "text", text: "lorem ipsum" }
    ])
  })

  it("is text as it is, also where that looks like a directive", () => {
    for (const text of ["", "  a\n\nb ", "__SYSTEM_PROMPT__", "__TOOL_SCHEMA__:x"]) {
      assert.deepStrictEqual(partsOf(first(text, { system: "secret" })), [{ type: "text", text }])
    }
  })

  it("is reasoning, before the messages or among them", () => {
    assert.deepStrictEqual(partsOf(first(step(["a", reasoning("b"), "c"], { reasoning: { length: 2 } }))), [
      { type: "reasoning", text: "lorem ipsum" },
      { type: "text", text: "a" },
      { type: "reasoning", text: "b" },
      { type: "text", text: "c" }
    ])
    assert.deepStrictEqual(partsOf(first(reasoning(1))), [{ type: "reasoning", text: "lorem" }])
  })

  it("signs its reasoning as providers do", () => {
    const metadata = {
      anthropic: { info: { type: "thinking", signature: "c2ln" } },
      openai: { encryptedContent: "c2ln" }
    }
    const signed = { reasoning: { length: 1, signature: "c2ln" } }
    assert.deepStrictEqual(partsOf(first(step([reasoning("b", { signature: "c2ln" })], signed))), [
      { type: "reasoning", text: "lorem", metadata },
      { type: "reasoning", text: "b", metadata }
    ])
  })

  it("calls tools, with ids of its own, of the step, or none", () => {
    const messages = [
      toolCalls({ name: "a", args: [1] }, { name: "b", id: "mine" }),
      "text",
      toolCall("c", "raw"),
      toolCall("d")
    ]
    assert.deepStrictEqual(partsOf(first(step(messages, { ids: ["one", "two"] }))), [
      { type: "tool-call", id: "one", name: "a", params: [1] },
      { type: "tool-call", id: "mine", name: "b", params: {} },
      { type: "text", text: "text" },
      { type: "tool-call", id: "two", name: "c", params: "raw" },
      { type: "tool-call", name: "d", params: {} }
    ])
  })

  it("cites sources behind the text", () => {
    const url = "https://effect.website/"
    const message = cited("It is so.", { url, title: "Effect", cited_text: "so" }, { url })
    assert.deepStrictEqual(partsOf(first(message)), [
      { type: "text", text: "It is so." },
      {
        type: "source",
        sourceType: "url",
        id: "source_1",
        url,
        title: "Effect",
        metadata: { anthropic: { source: "url", citedText: "so" } }
      },
      { type: "source", sourceType: "url", id: "source_2", url, title: url }
    ])
    assert.deepStrictEqual(partsOf(first(cited(2))), [{ type: "text", text: "lorem ipsum" }])
  })

  it("has the provider call tools, each result with its call", () => {
    const messages = [
      serverToolUse("web_search", { query: "a" }),
      serverToolUse("web_fetch", {}, { id: "mine" }),
      serverToolResult("web_search", { result: ["found"] }),
      serverToolResult("web_fetch", { error_code: "unavailable" })
    ]
    const [search, fetch] = [{ id: "srvtoolu_1", name: "web_search" }, { id: "mine", name: "web_fetch" }]
    assert.deepStrictEqual(partsOf(first(step(messages))), [
      { type: "tool-call", ...search, params: { query: "a" }, providerExecuted: true },
      { type: "tool-call", ...fetch, params: {}, providerExecuted: true },
      { type: "tool-result", ...search, result: ["found"], isFailure: false, providerExecuted: true },
      {
        type: "tool-result",
        ...fetch,
        result: { type: "web_fetch_tool_result_error", error_code: "unavailable" },
        isFailure: true,
        providerExecuted: true
      }
    ])
    const again = [serverToolUse("a"), serverToolUse("a"), serverToolResult("a", { result: 1 })]
    const parts = partsOf(first(step(again)))
    assert.deepStrictEqual(typeof parts !== "string" && parts.map((part) => "id" in part && part.id), [
      "srvtoolu_1",
      "srvtoolu_2",
      "srvtoolu_2"
    ])
    assert.throws(() => make(serverToolResult("web_search", { result: 1 })), /no server_tool_use of "web_search"/)
    assert.deepStrictEqual(
      partsOf(first(serverToolResult("web_search", { result: 1 }, { tool_use_id: "earlier" }))),
      [{ type: "tool-result", id: "earlier", name: "web_search", result: 1, isFailure: false, providerExecuted: true }]
    )
  })
})

describe("What a step echoes", () => {
  const request = {
    system: "Be brief.",
    tools,
    body: { model: "m", stream: false, stop: null, messages: [1] },
    url: "http://localhost/v1/messages?beta=true",
    headers: { "x-key": "a, b", accept: "*/*" }
  }

  const echoes: ReadonlyArray<readonly [InstructionChain.Message, string, string]> = [
    [systemPromptEcho, "Be brief.", "No system prompt configured"],
    [toolsList, "get_weather, sleep", "No tools available"],
    [toolsEcho, "get_weather: Tells the weather\nsleep: _No description provided._", "No tools available"],
    [toolSchema("nope"), "Tool 'nope' not found", "Tool 'nope' not found"],
    [{ tool_schema: {} }, "No tool name specified", "No tool name specified"],
    [urlEcho, "http://localhost/v1/messages?beta=true", "No URL"],
    [headersEcho, "x-key: a, b\naccept: */*", "No headers"],
    [paramsEcho(), "{\"model\":\"m\",\"stream\":false,\"stop\":null,\"messages\":[1]}", "{}"],
    [paramsEcho("stop", "stream", "top,k"), "{\"stop\":null,\"stream\":false}", "No matching params"]
  ]

  it("is said of the request, or that there is nothing", () => {
    for (const [message, expected, nothing] of echoes) {
      assert.strictEqual(textOf(first(message, request)), expected)
      assert.strictEqual(textOf(first(message)), nothing)
    }
  })

  it("shows the schema of a tool", () => {
    assert.strictEqual(
      textOf(first(toolSchema("get_weather"), request)),
      [
        "# get_weather",
        "",
        "## Description",
        "",
        "Tells the weather",
        "",
        "## Schema",
        "",
        "```json",
        "{",
        "  \"type\": \"object\",",
        "  \"properties\": {",
        "    \"city\": {",
        "      \"type\": \"string\"",
        "    }",
        "  },",
        "  \"required\": [",
        "    \"city\"",
        "  ],",
        "  \"additionalProperties\": true",
        "}",
        "```"
      ].join("\n")
    )
  })
})

describe("How a step answers", () => {
  it("fails with an error of HTTP in its place", () => {
    const options = { body: { error: { message: "slow" } }, headers: { "retry-after": "2" } }
    assert.deepStrictEqual(responseOf(error(429, options)), MockResponse.httpError(429, options))
    assert.deepStrictEqual(
      responseOf({ ...step("never"), ...error(500), delay: 5 }),
      MockResponse.delay(MockResponse.httpError(500), 5)
    )
    assert.deepStrictEqual(responseOf({ ...error(500), cut: 1 }), MockResponse.httpError(500))
    for (const status of [200, 399, 600]) {
      assert.throws(() => make("a", error(status)), /^instruction_chain\[1\].error.status: Expected /)
    }
  })

  it("fails with an error of HTTP in the middle, and comes in chunks of a length", () => {
    const body = { error: { message: "slow" } }
    const broken = responseOf(step("one two", { error: { status: 529, body, after: 2 } }))
    assert.deepStrictEqual(broken.parts, [{ type: "text", text: "one two" }])
    assert.deepStrictEqual(broken.http, { status: 529, body })
    assert.strictEqual(broken.failure?.after, 2)
    assert.deepStrictEqual(broken.failure?.error, MockResponse.httpError(529, { body }).failure?.error)
    assert.deepStrictEqual(responseOf(step("a", { chunks: 3 })), MockResponse.chunked("a", 3))
    assert.deepStrictEqual(responseOf(step("a", { chunks: [0, 3] })), MockResponse.chunked("a", [0, 3]))
    for (const chunks of [0, 0.5, -1]) {
      assert.throws(() => make(step("a", { chunks })), /instruction_chain\[0\]\.chunks/)
    }
  })

  it("waits, is cut, hangs, and reports what it is told to", () => {
    assert.deepStrictEqual(responseOf(step("a", { delay: "2 seconds" })).delay, Duration.millis(2000))
    assert.deepStrictEqual(responseOf(step("a b c", { cut: 2 })), MockResponse.cut("a b c", 2))
    assert.deepStrictEqual(responseOf({ cut: 0 }).failure, MockResponse.cut("", 0).failure)
    assert.deepStrictEqual(responseOf(step("a b c", { hang: 2 })), MockResponse.hang("a b c", 2))
    assert.deepStrictEqual(responseOf({ hang: true }), MockResponse.hang())
    const usage = { input: 1, output: 2, cached: 1, reasoning: 0 }
    assert.deepStrictEqual(
      responseOf(step("a", { usage, finish: "length" })),
      MockResponse.withFinishReason(MockResponse.withUsage("a", usage), "length")
    )
    assert.deepStrictEqual(responseOf("a"), MockResponse.text("a"))
  })
})
