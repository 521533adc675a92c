/** Whatever stands in a body, it is answered or refused: nothing in a provider breaks of it. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, type Schema } from "effect"
import { MockModel, MockProvider, MockResponse } from "../../../src/testing/index.ts"
import { post } from "./serve.ts"

type Json = Schema.Json

const isObject = (json: Json): json is Schema.JsonObject =>
  typeof json === "object" && json !== null && !Array.isArray(json)

/** Keys that mean something elsewhere in a body. */
const strays: Schema.JsonObject = { role: "user", type: "message", content: null, text: "?", name: "", id: "a" }

/** All that can be made of a body by putting another value in the place of one, by taking that out, or by a stray key. */
const variants = (json: Json, others: ReadonlyArray<Json>): ReadonlyArray<Json> => {
  if (Array.isArray(json)) {
    const list: ReadonlyArray<Json> = json
    return list.flatMap((each, index) => [
      list.toSpliced(index, 1),
      ...[...others, ...variants(each, others)].map((other) => list.with(index, other))
    ])
  }
  if (!isObject(json)) return []
  const astray = Object.entries(strays).flatMap(([key, value]) => key in json ? [] : [{ ...json, [key]: value }])
  return astray.concat(
    Object.entries(json).flatMap(([key, value]) => {
      const { [key]: _, ...rest } = json
      return [rest, ...[...others, ...variants(value, others)].map((other) => ({ ...json, [key]: other }))]
    })
  )
}

const others: ReadonlyArray<Json> = [null, 0.5, "?", [null], { type: "?" }]

const parameters = { type: "object", properties: { city: { type: "string" } } }

const bodies: Readonly<Record<string, Json>> = {
  "chat/completions": {
    model: "any",
    messages: [
      { role: "system", content: "Be brief." },
      {
        role: "user",
        content: [{ type: "text", text: "Hi" }, { type: "image_url", image_url: { url: "data:image/png;base64,AA" } }]
      },
      {
        role: "assistant",
        content: null,
        tool_calls: [{ id: "a", type: "function", function: { name: "add", arguments: "{}" } }]
      },
      { role: "tool", tool_call_id: "a", content: "1" }
    ],
    tools: [{ type: "function", function: { name: "add", description: "Adds", parameters, strict: false } }],
    tool_choice: { type: "function", function: { name: "add" } },
    response_format: { type: "json_schema", json_schema: { name: "sum", schema: parameters } },
    stream: true,
    stream_options: { include_usage: true },
    n: 2
  },
  responses: {
    model: "any",
    instructions: "Be brief.",
    input: [
      { role: "user", content: [{ type: "input_text", text: "Hi" }, { type: "input_file", file_url: "http://a.b/c" }] },
      { type: "reasoning", id: "rs_1", summary: [{ type: "summary_text", text: "Hm." }], encrypted_content: "x" },
      { type: "function_call", call_id: "a", name: "add", arguments: "{}" },
      { type: "function_call_output", call_id: "a", output: [{ type: "input_text", text: "1" }] }
    ],
    tools: [{ type: "function", name: "add", parameters }, { type: "web_search" }],
    tool_choice: { type: "allowed_tools", mode: "auto", tools: [{ type: "function", name: "add" }] },
    text: { format: { type: "json_schema", name: "sum", schema: parameters } },
    reasoning: { effort: "low" },
    include: ["reasoning.encrypted_content"],
    stream: true
  },
  messages: {
    model: "any",
    max_tokens: 2048,
    system: [{ type: "text", text: "Be brief." }],
    messages: [
      {
        role: "user",
        content: [
          { type: "text", text: "Hi" },
          { type: "image", source: { type: "base64", media_type: "image/png", data: "AA" } },
          { type: "document", source: { type: "content", content: [{ type: "text", text: "Once" }] }, title: "Tale" }
        ]
      },
      {
        role: "assistant",
        content: [
          { type: "thinking", thinking: "Hm.", signature: "c2ln" },
          { type: "server_tool_use", id: "s", name: "web_search", input: {} },
          { type: "web_search_tool_result", tool_use_id: "s", content: { type: "web_search_tool_result_error" } },
          { type: "tool_use", id: "a", name: "add", input: {} }
        ]
      },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "a", content: [{ type: "text", text: "1" }] }] }
    ],
    tools: [{ name: "add", input_schema: parameters }, { type: "web_search_20250305", name: "web_search" }],
    tool_choice: { type: "auto" },
    thinking: { type: "enabled", budget_tokens: 1024 },
    output_config: { format: { type: "json_schema", schema: { ...parameters, additionalProperties: false } } },
    stream: true
  }
}

describe("any body", () => {
  for (const [path, body] of Object.entries(bodies)) {
    it(`of a request to ${path} is answered or refused`, async () => {
      const handler = MockModel.make(({ lastToolResults, prompt, responseFormat, toolChoice, tools }) =>
        JSON.stringify([lastToolResults, prompt, responseFormat.type, toolChoice, tools.map(({ name }) => name)])
      )
      const provider = MockProvider.make({ handler })
      const all = [body, ...others, ...variants(body, others)]
      const statuses = new Map<number, number>()
      for (const each of all) {
        const response = await post(provider.fetch, path, each)
        const text = await response.text()
        assert.include([200, 400], response.status, `${JSON.stringify(each)}: ${text}`)
        statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1)
      }
      assert.isAbove(statuses.get(200) ?? 0, 40)
      assert.isAbove(statuses.get(400) ?? 0, 150)
      assert.strictEqual((await post(provider.fetch, path, body)).status, 200)
    })
  }

  const deep = (depth: number) => "[".repeat(depth) + "]".repeat(depth)
  const deepSchema = (depth: number) => `${`{"type":"object","properties":{"a":`.repeat(depth)}{}${"}}".repeat(depth)}`

  /** What each protocol asks at least, with fields of any depth. */
  const asking: Readonly<Record<string, (field: string, schema: string) => string>> = {
    "chat/completions": (field, schema) =>
      `{"model":"any","messages":[{"role":"user","content":"Hi"}],"metadata":{"a":${field}},` +
      `"tools":[{"type":"function","function":{"name":"add","strict":true,"parameters":${schema}}}]}`,
    responses: (field, schema) =>
      `{"model":"any","input":"Hi","metadata":{"a":${field}},` +
      `"tools":[{"type":"function","name":"add","strict":true,"parameters":${schema}}]}`,
    messages: (field, schema) =>
      `{"model":"any","max_tokens":9,"messages":[{"role":"user","content":"Hi"}],"metadata":{"a":${field}},` +
      `"output_config":{"format":{"type":"json_schema","schema":${schema}}}}`
  }
  for (const [path, body] of Object.entries(asking)) {
    it(`of a request to ${path} is refused where it is too deep to be read`, async () => {
      const { fetch } = MockProvider.make({ handler: MockModel.make(({ tools }) => JSON.stringify(tools)) })
      const sent = (field: string, schema: string) => {
        const headers = { "anthropic-version": "2023-06-01" }
        return fetch(`http://mock/v1/${path}`, { method: "POST", headers, body: body(field, schema) })
      }
      for (const depth of [2000, 10_000, 100_000]) {
        for (const text of [sent(deep(depth), "{}"), sent("1", deepSchema(depth))]) {
          const response = await text
          assert.strictEqual(response.status, 400)
          assert.include((await response.json()).error.message, "JSON")
        }
      }
      assert.include([200, 400], (await sent(deep(900), deepSchema(450))).status)
    })
  }
})

describe("a defect", () => {
  it("is a response that no client tries again, with the reason, and a miss", async () => {
    const provider = MockProvider.make({ handler: MockModel.make(() => MockResponse.toolCall(1n as never, {})) })
    for (const stream of [false, true]) {
      const body = { model: "any", messages: [{ role: "user", content: "Hi" }], stream }
      const response = await post(provider.fetch, "chat/completions", body)
      assert.deepStrictEqual([response.status, response.headers.get("x-should-retry")], [500, "false"])
      assert.match((await response.json()).error.message, /^Request \d to the mock provider: .*TypeError.* BigInt/)
    }
    const misses = Effect.runSync(provider.misses)
    assert.deepStrictEqual(misses.map(({ isDefect, number }) => [number, isDefect]), [[1, true], [2, true]])
  })
})
