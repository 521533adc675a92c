/** Fields of requests: those that the providers' own clients know by their types are taken, and others are refused. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { parseSync } from "oxc-parser"
import { MockProvider } from "../../../src/testing/index.ts"
import { openAiError, refuses } from "./bodies.ts"
import { post } from "./serve.ts"

const ask = { role: "user", content: "Hello" }
const chat = { model: "gpt-5", messages: [ask] }
const responses = { model: "gpt-5", input: "Hello" }
const messages = { model: "claude-sonnet-5", max_tokens: 10, messages: [ask] }

const withTool = (body: object, tool: object) => ({ ...body, tools: [tool] })
const item = (fields: object) => ({ model: "gpt-5", input: [fields] })
const block = (fields: object, role = "user") => ({ ...messages, messages: [{ role, content: [fields] }] })

type Fields = Readonly<Record<string, unknown>>

/** A struct of a body: how the type of a client is called that it has, fields that it needs, and a body with it. */
type Struct = readonly [name: string, needed: Fields, body: (fields: Fields) => object]

const source = { type: "url", url: "https://example.com/a.png" }
const called = { type: "tool_use", id: "t", name: "add", input: {} }

const clients: Readonly<Record<string, readonly [path: string, file: string, structs: ReadonlyArray<Struct>]>> = {
  "OpenAI's chat completions": ["chat/completions", "openai/resources/chat/completions/completions", [
    ["ChatCompletionCreateParamsBase", chat, (fields) => fields],
    ["ChatCompletionStreamOptions", {}, (stream_options) => ({ ...chat, stream: true, stream_options })],
    ["ChatCompletionFunctionTool", { type: "function", function: { name: "add" } }, (tool) => withTool(chat, tool)]
  ]],
  "functions and formats of OpenAI's chat completions": ["chat/completions", "openai/resources/shared", [
    ["FunctionDefinition", { name: "add" }, (f) => withTool(chat, { type: "function", function: f })],
    [
      "ResponseFormatJSONSchema",
      { type: "json_schema", json_schema: { name: "a", schema: {} } },
      (response_format) => ({
        ...chat,
        response_format
      })
    ],
    ["JSONSchema", { name: "a" }, (json_schema) => ({
      ...chat,
      response_format: { type: "json_schema", json_schema }
    })]
  ]],
  "OpenAI's responses": ["responses", "openai/resources/responses/responses", [
    ["ResponseCreateParamsBase", responses, (fields) => fields],
    ["ResponseTextConfig", {}, (text) => ({ ...responses, text })],
    ["ResponseFormatTextJSONSchemaConfig", { type: "json_schema", name: "a", schema: {} }, (format) => ({
      ...responses,
      text: { format }
    })],
    ["StreamOptions", {}, (stream_options) => ({ ...responses, stream: true, stream_options })],
    ["FunctionTool", { type: "function", name: "add" }, (tool) => withTool(responses, tool)],
    ["CustomTool", { type: "custom", name: "add" }, (tool) => withTool(responses, tool)],
    ["EasyInputMessage", ask, item],
    ["ResponseOutputMessage", { role: "assistant", content: "Hello" }, item],
    ["ResponseInputText", { type: "input_text", text: "a" }, (part) => item({ role: "user", content: [part] })],
    ["ResponseInputImage", { type: "input_image", image_url: "a" }, (part) => item({ role: "user", content: [part] })],
    ["ResponseInputFile", { type: "input_file", file_id: "a" }, (part) => item({ role: "user", content: [part] })],
    ["ResponseOutputText", { type: "output_text", text: "a" }, (part) => item({ role: "assistant", content: [part] })],
    ["ResponseFunctionToolCall", { type: "function_call", call_id: "c", name: "a", arguments: "{}" }, item],
    ["ResponseReasoningItem", { type: "reasoning", id: "rs_1", summary: [] }, item]
  ]],
  ...Object.fromEntries((["messages/messages", "beta/messages/messages"] as const).map((file) => {
    const beta = file === "messages/messages" ? "" : "Beta"
    const structs: ReadonlyArray<Struct> = [
      ["MessageCreateParamsBase", messages, (fields) => fields],
      [`${beta}TextBlockParam`, { type: "text", text: "a" }, block],
      [`${beta}ImageBlockParam`, { type: "image", source }, block],
      [`${beta}SearchResultBlockParam`, { type: "search_result" }, block],
      [`${beta}ToolUseBlockParam`, called, (fields) => block(fields, "assistant")],
      [`${beta}ToolResultBlockParam`, { type: "tool_result", tool_use_id: "t" }, block],
      [
        `${beta}ThinkingBlockParam`,
        { type: "thinking", thinking: "a", signature: "a" },
        (fields) => block(fields, "assistant")
      ],
      [`${beta}Tool`, { name: "add", input_schema: { type: "object" } }, (tool) => withTool(messages, tool)],
      [`${beta}ToolChoiceAuto`, { type: "auto" }, (tool_choice) => ({ ...messages, tool_choice })],
      [`${beta}ThinkingConfigEnabled`, { type: "enabled", budget_tokens: 1024 }, (thinking) => ({
        ...messages,
        thinking
      })],
      [`${beta}OutputConfig`, {}, (output_config) => ({ ...messages, output_config })]
    ]
    return [`Anthropic's ${file}`, ["messages", `@anthropic-ai/sdk/resources/${file}`, structs]] as const
  }))
}

/** The members of the interfaces in a client's declarations. */
const interfacesIn = (module: string): ReadonlyMap<string, ReadonlyArray<string>> => {
  const file = fileURLToPath(new URL(`../../../node_modules/${module}.d.ts`, import.meta.url))
  const found = new Map<string, ReadonlyArray<string>>()
  const visit = (statements: ReadonlyArray<unknown>): void => {
    for (const statement of statements as ReadonlyArray<Syntax>) {
      const declared = statement.declaration ?? statement
      if (declared.type === "TSModuleDeclaration") visit(declared.body?.body ?? [])
      if (declared.type !== "TSInterfaceDeclaration") continue
      const members = declared.body.body.flatMap(({ key }) => key === undefined ? [] : [String(key.name ?? key.value)])
      found.set(declared.id.name, [...found.get(declared.id.name) ?? [], ...members])
    }
  }
  visit(parseSync(file, readFileSync(file, "utf8")).program.body)
  return found
}

/** What of a syntax tree is looked at. */
interface Syntax {
  readonly type: string
  readonly declaration?: Syntax
  readonly id: { readonly name: string }
  readonly body: {
    readonly body: ReadonlyArray<Syntax & { readonly key?: { readonly name?: string; readonly value?: string } }>
  }
}

const isUnknown = /Unrecognized request argument|Unknown parameter|Extra inputs are not permitted/

const send = (path: string, body: object, options?: MockProvider.Options) =>
  Effect.promise(async () => {
    const response = await post(MockProvider.make(options).fetch, path, body)
    return `${response.status} ${await response.text()}`
  })

describe("a field of a request", () => {
  for (const [what, [path, module, structs]] of Object.entries(clients)) {
    it.effect(`is known if a type of the client has it: ${what}`, () =>
      Effect.gen(function*() {
        const interfaces = interfacesIn(module)
        for (const [name, needed, body] of structs) {
          const members = interfaces.get(name) ?? []
          assert.isNotEmpty(members, name)
          for (const member of members) {
            // What a header says stands in no body.
            if (member === "betas") continue
            const answer = yield* send(path, body({ [member]: null, ...needed }))
            assert.notMatch(answer, isUnknown, `${name}.${member}`)
          }
          const other = yield* send(path, body({ ...needed, nobody_knows: 1 }))
          assert.match(other, isUnknown, name)
        }
      }))
  }

  it.effect("that the provider doesn't know is taken with unknownFields: \"take\"", () =>
    Effect.gen(function*() {
      for (
        const [path, body] of [["chat/completions", chat], ["responses", responses], ["messages", messages]] as const
      ) {
        assert.match(yield* send(path, { ...body, repetition_penalty: 1 }), /^400/)
        assert.match(yield* send(path, { ...body, repetition_penalty: 1 }, { unknownFields: "take" }), /^200/)
      }
      const counting = { model: "claude-sonnet-5", messages: [ask], beam: 2 }
      assert.match(yield* send("messages/count_tokens", counting), /^400.*beam: Extra inputs are not permitted/)
      assert.match(yield* send("messages/count_tokens", counting, { unknownFields: "take" }), /^200/)
    }))

  it.effect("of a message of a chat is taken, as servers have that speak like OpenAI", () =>
    Effect.gen(function*() {
      const said = { role: "assistant", content: "Hi", reasoning_content: "Hm", reasoning_details: [] }
      assert.match(yield* send("chat/completions", { ...chat, messages: [ask, said, ask] }), /^200/)
    }))
})

describe("a request for a chat completion", () => {
  refuses("chat/completions", {
    "with an argument that there isn't": [{ ...chat, top_k: 4 }, "Unrecognized request argument supplied: top_k"],
    "with two arguments that there aren't": [
      { ...chat, top_k: 4, think: true },
      "Unrecognized request arguments supplied: top_k, think"
    ],
    "with a parameter of a format that there isn't": [
      { ...chat, response_format: { type: "json_schema", json_schema: { name: "a" }, strict: true } },
      "Unknown parameter: 'response_format.strict'.",
      "response_format.strict",
      "unknown_parameter"
    ],
    "with a parameter of a function that there isn't": [
      withTool(chat, { type: "function", function: { name: "add", returns: {} } }),
      "Unknown parameter: 'tools[0].function.returns'.",
      "tools[0].function.returns",
      "unknown_parameter"
    ]
  }, openAiError)
})

describe("a request for a response", () => {
  refuses("responses", {
    "with a parameter that there isn't": [
      { ...responses, messages: [ask] },
      "Unknown parameter: 'messages'.",
      "messages",
      "unknown_parameter"
    ],
    "with a parameter of an item that there isn't": [
      item({ type: "function_call", call_id: "c", name: "a", arguments: "{}", parsed_arguments: null }),
      "Unknown parameter: 'input[0].parsed_arguments'.",
      "input[0].parsed_arguments",
      "unknown_parameter"
    ]
  }, openAiError)
})

describe("a request for a message", () => {
  refuses("messages", {
    "with an input that there isn't": [{ ...messages, seed: 1 }, "seed: Extra inputs are not permitted"],
    "with a name of a message": [
      { ...messages, messages: [{ ...ask, name: "Ada" }] },
      "messages.0.name: Extra inputs are not permitted"
    ],
    "with an input of a block that there isn't": [
      block({ ...called, text: "a" }, "assistant"),
      "messages.0.content.0.tool_use.text: Extra inputs are not permitted"
    ],
    "with an input of a tool that there isn't": [
      withTool(messages, { name: "add", input_schema: { type: "object" }, parameters: {} }),
      "tools.0.custom.parameters: Extra inputs are not permitted"
    ],
    "with an input of a thought that there isn't": [
      block({ type: "thinking", thinking: "a", signature: "a", cache_control: null }, "assistant"),
      "messages.0.content.0.thinking.cache_control: Extra inputs are not permitted"
    ]
  }, ([message], { headers }) => ({
    type: "error",
    error: { type: "invalid_request_error", message },
    request_id: headers.get("request-id")
  }))
})
