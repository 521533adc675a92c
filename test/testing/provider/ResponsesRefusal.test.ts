import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { InstructionChain, MockProvider } from "../../../src/testing/index.ts"
import { openAiError, type OpenAiSaid, refuses, takes } from "./bodies.ts"
import { post } from "./serve.ts"

const ask = { role: "user", content: "Hello" }

const call = (id: string) => ({ type: "function_call", call_id: id, name: "add", arguments: "{}" })

const output = (id: string) => ({ type: "function_call_output", call_id: id, output: "1" })

const thought = (id: string) => ({ type: "reasoning", id, summary: [] })

const reference = (id: string) => ({ type: "item_reference", id })

const add = { type: "function", name: "add", parameters: { type: "object", properties: {} } }

const model = "gpt-5"

const asking = (...input: ReadonlyArray<object>) => ({ model, input })

const emptyArray = (param: string) =>
  `Invalid '${param}': empty array. Expected an array with minimum length 1, but got an empty array instead.`

const refused: Readonly<Record<string, readonly [body: unknown, ...OpenAiSaid]>> = {
  "without a model": [
    { input: "Hello" },
    "Missing required parameter: 'model'.",
    "model",
    "missing_required_parameter"
  ],
  "without input": [{ model }, "Missing required parameter: 'input'.", "input", "missing_required_parameter"],
  "with input that is neither text nor items": [
    { model, input: 5 },
    "Invalid type for 'input': expected one of a string or array of input items, but got an integer instead.",
    "input",
    "invalid_type"
  ],
  "with no item": [asking(), emptyArray("input"), "input", "empty_array"],
  "with an item of an unknown type": [
    asking(ask, { type: "tool_use" }),
    "Invalid value: 'tool_use'. Supported values are: 'message', 'function_call', 'function_call_output', 'reasoning', " +
    "'item_reference', 'mcp_approval_response', 'apply_patch_call', 'apply_patch_call_output', 'code_interpreter_call', 'compaction', " +
    "'computer_call', 'computer_call_output', 'custom_tool_call', 'custom_tool_call_output', 'file_search_call', " +
    "'image_generation_call', 'local_shell_call', 'local_shell_call_output', 'mcp_approval_request', " +
    "'mcp_call', 'mcp_list_tools', 'shell_call', 'shell_call_output', 'tool_search_call', " +
    "'tool_search_output', and 'web_search_call'.",
    "input[1]",
    "invalid_value"
  ],
  "with an answer to an approval that says neither yes nor no": [
    asking(ask, { type: "mcp_approval_response", approval_request_id: "mcpr_1" }),
    "Missing required parameter: 'input[1].approve'.",
    "input[1].approve",
    "missing_required_parameter"
  ],
  "with reasoning without its summary": [
    asking(ask, { type: "reasoning", id: "rs_1" }, call("a"), output("a")),
    "Missing required parameter: 'input[1].summary'.",
    "input[1].summary",
    "missing_required_parameter"
  ],
  "with a list of more than texts": [
    { ...asking(ask), include: [5] },
    "Invalid type for 'include[0]': expected a string, but got an integer instead.",
    "include[0]",
    "invalid_type"
  ],
  "with what is to be included in no list": [
    { ...asking(ask), include: "all" },
    "Invalid type for 'include': expected an array of strings, but got a string instead.",
    "include",
    "invalid_type"
  ],
  "with a message of nobody": [
    asking({ content: "Hello" }),
    "Missing required parameter: 'input[0].role'.",
    "input[0].role",
    "missing_required_parameter"
  ],
  "with an unknown role": [
    asking({ role: "tool", content: "Hello" }),
    "Invalid value: 'tool'. Supported values are: 'assistant', 'system', 'developer', and 'user'.",
    "input[0].role",
    "invalid_value"
  ],
  "with a message without content": [
    asking({ role: "user" }),
    "Missing required parameter: 'input[0].content'.",
    "input[0].content",
    "missing_required_parameter"
  ],
  "with a part of chat completions": [
    asking({ role: "user", content: [{ type: "text", text: "Hello" }] }),
    "Invalid value: 'text'. Supported values are: 'input_text', 'input_image', and 'input_file'.",
    "input[0].content[0]",
    "invalid_value"
  ],
  "with an assistant that says what is put in": [
    asking(ask, { role: "assistant", content: [{ type: "input_text", text: "Hi" }] }),
    "Invalid value: 'input_text'. Supported values are: 'output_text' and 'refusal'.",
    "input[1].content[0]",
    "invalid_value"
  ],
  "with a part of no type": [
    asking({ role: "user", content: [{ text: "Hello" }] }),
    "Missing required parameter: 'input[0].content[0].type'.",
    "input[0].content[0].type",
    "missing_required_parameter"
  ],
  "with a part without text": [
    asking({ role: "user", content: [{ type: "input_text" }] }),
    "Missing required parameter: 'input[0].content[0].text'.",
    "input[0].content[0].text",
    "missing_required_parameter"
  ],
  "with a call without arguments": [
    asking(ask, { type: "function_call", call_id: "a", name: "add" }, output("a")),
    "Missing required parameter: 'input[1].arguments'.",
    "input[1].arguments",
    "missing_required_parameter"
  ],
  "with a call that has its call's id as its own": [
    asking(ask, { ...call("call_a"), id: "call_a" }, output("call_a")),
    "Invalid 'input[1].id': 'call_a'. Expected an ID that begins with 'fc'.",
    "input[1].id",
    "invalid_value"
  ],
  "with an output that names no call": [
    asking(ask, call("a"), { type: "function_call_output", output: "1" }),
    "Missing required parameter: 'input[2].call_id'.",
    "input[2].call_id",
    "missing_required_parameter"
  ],
  "with an output of a call without a name": [
    asking(ask, call("a"), output("")),
    "Invalid 'input[2].call_id': empty string. Expected a string with minimum length 1, but got an empty string " +
    "instead.",
    "input[2].call_id",
    "empty_string"
  ],
  "with an output without a call": [
    asking(ask, output("a")),
    "No tool call found for function call output with call_id a.",
    "input"
  ],
  "with an output before its call": [
    asking(ask, output("a"), call("a")),
    "No tool call found for function call output with call_id a.",
    "input"
  ],
  "with more outputs than it refers to calls": [
    asking(ask, reference("fc_1"), output("a"), output("b")),
    "No tool call found for function call output with call_id b.",
    "input"
  ],
  "with an output, and a reference to what is no call": [
    asking(ask, reference("rs_1"), output("a")),
    "No tool call found for function call output with call_id a.",
    "input"
  ],
  "with a thought that an output cuts short": [
    asking(ask, call("a"), thought("rs_1"), output("a")),
    "Item 'rs_1' of type 'reasoning' was provided without its required following item.",
    "input"
  ],
  "with a call that is never answered": [
    asking(ask, call("a"), call("b"), output("a"), ask),
    "No tool output found for function call b.",
    "input"
  ],
  "with a thought that leads to nothing": [
    asking(ask, thought("rs_1")),
    "Item 'rs_1' of type 'reasoning' was provided without its required following item.",
    "input"
  ],
  "with a thought that the user cuts short": [
    asking(ask, thought("rs_1"), ask),
    "Item 'rs_1' of type 'reasoning' was provided without its required following item.",
    "input"
  ],
  "that lost the thought before its call": [
    asking(ask, { ...call("a"), id: "fc_X_rs0" }, output("a")),
    "Item 'fc_X_rs0' of type 'function_call' was provided without its required 'reasoning' item: 'rs_X'.",
    "input"
  ],
  "with an item twice": [
    asking(ask, { ...call("a"), id: "fc_1" }, { ...call("b"), id: "fc_1" }, output("a"), output("b")),
    "Duplicate item found with id fc_1. Remove duplicate items from your input and try again.",
    "input"
  ],
  "that goes on from a response": [
    { ...asking(ask), previous_response_id: "resp_1" },
    "Previous response with id 'resp_1' not found.",
    "previous_response_id",
    "previous_response_not_found"
  ],
  "with a tool of chat completions": [
    { ...asking(ask), tools: [{ type: "function", function: { name: "add" } }] },
    "Missing required parameter: 'tools[0].name'.",
    "tools[0].name",
    "missing_required_parameter"
  ],
  "with a tool of an impossible name": [
    { ...asking(ask), tools: [{ ...add, name: "a.b" }] },
    "Invalid 'tools[0].name': string does not match pattern. " +
    "Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.",
    "tools[0].name",
    "invalid_value"
  ],
  "with an unknown choice": [
    { ...asking(ask), tool_choice: "any" },
    "Invalid value: 'any'. Supported values are: 'none', 'auto', and 'required'.",
    "tool_choice",
    "invalid_value"
  ],
  "with the choice of a tool that isn't there": [
    { ...asking(ask), tools: [add], tool_choice: { type: "function", name: "sub" } },
    "Tool choice 'function' not found in 'tools' parameter.",
    "tool_choice"
  ],
  "with a tool whose schema isn't as strict as it should be": [
    { ...asking(ask), tools: [{ ...add, strict: true }] },
    "Invalid schema for function 'add': In context=(), 'additionalProperties' is required to be supplied and to be " +
    "false.",
    "tools[0].parameters",
    "invalid_function_parameters"
  ],
  "with an answer whose schema is open": [
    {
      ...asking(ask),
      text: { format: { type: "json_schema", name: "answer", strict: true, schema: { type: "object" } } }
    },
    "Invalid schema for response_format 'answer': In context=(), 'additionalProperties' is required to be supplied " +
    "and to be false.",
    "text.format.schema",
    "invalid_json_schema"
  ],
  "with an answer in JSON that nobody speaks of": [
    { ...asking(ask), text: { format: { type: "json_object" } } },
    "Response input messages must contain the word 'json' in some form to use 'text.format' of type 'json_object'.",
    "input"
  ],
  "with options of a stream that isn't one": [
    { ...asking(ask), stream_options: { include_obfuscation: false } },
    "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
    "stream_options"
  ],
  "that isn't an object": [
    [ask],
    "We could not parse the JSON body of your request. (HINT: This likely means you aren't using your HTTP library " +
    "correctly. The OpenAI API expects a JSON payload, but what was sent was not valid JSON.)"
  ]
}

describe("a request for a response", () => {
  refuses("responses", refused, openAiError)

  takes("responses", {
    "that is a text": { model, input: "Hello" },
    "whose calls are answered in another order": asking(ask, call("a"), call("b"), output("b"), output("a")),
    "whose calls are answered one by one": asking(ask, call("a"), output("a"), call("b"), output("b")),
    "whose assistant speaks between a call and its output": asking(
      ask,
      call("a"),
      { role: "assistant", content: "Well" },
      output("a")
    ),
    "that only refers to a call": asking(ask, reference("rs_1"), reference("fc_1"), output("a")),
    "whose thought leads to a call": asking(ask, thought("rs_X"), { ...call("a"), id: "fc_X_rs0" }, output("a")),
    "that refers to a thought": asking(ask, reference("rs_X"), { ...call("a"), id: "fc_X_rs0" }, output("a")),
    "that lost the thought and the id of its call": asking(ask, call("a"), output("a")),
    "with an output in parts": asking(ask, call("a"), {
      ...output("a"),
      output: [{ type: "input_text", text: "1" }]
    }),
    "with a tool of the provider": { ...asking(ask), tools: [{ type: "web_search" }], tool_choice: "required" },
    "with options that mean nothing here": { ...asking(ask), temperature: 2, tools: null, tool_choice: null }
  })

  it.effect("is refused where it lost the thought that its calls came with", () =>
    Effect.gen(function*() {
      const { make, reasoning, step, toolCalls } = InstructionChain
      const { fetch } = MockProvider.make({
        chain: make(step([reasoning("Hm."), toolCalls({ name: "add" }, { name: "add" })]), "done")
      })
      const answerTo = (...input: ReadonlyArray<object>) =>
        Effect.promise(async () => (await post(fetch, "responses", asking(...input))).json())
      const { output: items } = yield* answerTo(ask)
      const outputs = items.slice(1).map((item: { readonly call_id: string }) => output(item.call_id))
      const lost = yield* answerTo(ask, ...items.slice(1), ...outputs)
      assert.include(lost.error.message, `without its required 'reasoning' item: '${items[0].id}'`)
      const kept = yield* answerTo(ask, ...items, ...outputs)
      assert.strictEqual(kept.output[0].content[0].text, "done")
    }))
})
