import { describe } from "@effect/vitest"
import { Record } from "effect"
import { openAiError, type OpenAiSaid, refuses, takes } from "./bodies.ts"

const ask = { role: "user", content: "Hello" }

const call = (id: string) => ({ id, type: "function", function: { name: "add", arguments: "{}" } })

const calls = (...ids: ReadonlyArray<string>) => ({ role: "assistant", content: null, tool_calls: ids.map(call) })

const result = (id: string) => ({ role: "tool", tool_call_id: id, content: "1" })

const add = { type: "function", function: { name: "add", parameters: { type: "object", properties: {} } } }

const model = "gpt-5"

const one = { type: "string" }

const formatted = (schema: object) => ({
  type: "json_schema",
  json_schema: { name: "answer", strict: true, schema: { type: "object", additionalProperties: false, ...schema } }
})

const answers = (unanswered: string) =>
  "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. " +
  `The following tool_call_ids did not have response messages: ${unanswered}`

const refused: Readonly<Record<string, readonly [body: unknown, ...OpenAiSaid]>> = {
  "without a model": [{ messages: [ask] }, "you must provide a model parameter"],
  "with a model that isn't a name": [
    { model: 5, messages: [ask] },
    "Invalid type for 'model': expected a string, but got an integer instead.",
    "model",
    "invalid_type"
  ],
  "without messages": [
    { model },
    "Missing required parameter: 'messages'.",
    "messages",
    "missing_required_parameter"
  ],
  "with messages that aren't a list": [
    { model, messages: "Hello" },
    "Invalid type for 'messages': expected an array of objects, but got a string instead.",
    "messages",
    "invalid_type"
  ],
  "with no message": [
    { model, messages: [] },
    "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead.",
    "messages",
    "empty_array"
  ],
  "with a message of nobody": [
    { model, messages: [{ content: "Hello" }] },
    "Missing required parameter: 'messages[0].role'.",
    "messages[0].role",
    "missing_required_parameter"
  ],
  "with an unknown role": [
    { model, messages: [{ role: "human", content: "Hello" }] },
    "Invalid value: 'human'. Supported values are: 'system', 'assistant', 'user', 'function', 'tool', and 'developer'.",
    "messages[0].role",
    "invalid_value"
  ],
  "with a role that isn't one": [
    { model, messages: [{ role: 5, content: "Hello" }] },
    "Invalid type for 'messages[0].role': expected a string, but got an integer instead.",
    "messages[0].role",
    "invalid_type"
  ],
  "with a message that isn't one": [
    { model, messages: ["Hello"] },
    "Invalid type for 'messages[0]': expected an object, but got a string instead.",
    "messages[0]",
    "invalid_type"
  ],
  "with content that is neither text nor parts": [
    { model, messages: [{ role: "user", content: 0.5 }] },
    "Invalid type for 'messages[0].content': expected one of a string or array of objects, but got a decimal instead.",
    "messages[0].content",
    "invalid_type"
  ],
  "with an image that is nowhere": [
    { model, messages: [{ role: "user", content: [{ type: "image_url", image_url: {} }] }] },
    "Missing required parameter: 'messages[0].content[0].image_url.url'.",
    "messages[0].content[0].image_url.url",
    "missing_required_parameter"
  ],
  "with a tool that the provider runs": [
    { model, messages: [ask], tools: [{ type: "web_search" }] },
    "Invalid value: 'web_search'. Supported values are: 'function' and 'custom'.",
    "tools[0].type",
    "invalid_value"
  ],
  "with an unknown choice": [
    { model, messages: [ask], tools: [add], tool_choice: "any" },
    "Invalid value: 'any'. Supported values are: 'none', 'auto', and 'required'.",
    "tool_choice",
    "invalid_value"
  ],
  "with no choice": [
    { model, messages: [ask], n: 0 },
    "Invalid 'n': integer below minimum value. Expected a value >= 1, but got 0 instead.",
    "n",
    "integer_below_min_value"
  ],
  "with too many choices": [
    { model, messages: [ask], n: 129 },
    "Invalid 'n': integer above maximum value. Expected a value <= 128, but got 129 instead.",
    "n",
    "integer_above_max_value"
  ],
  "with half a choice": [
    { model, messages: [ask], n: 1.5 },
    "Invalid type for 'n': expected an integer, but got a decimal instead.",
    "n",
    "invalid_type"
  ],
  "with a stream that isn't a boolean": [
    { model, messages: [ask], stream: "yes" },
    "Invalid type for 'stream': expected a boolean, but got a string instead.",
    "stream",
    "invalid_type"
  ],
  "with a message that says nothing": [
    { model, messages: [{ role: "user", content: null }] },
    "Invalid value for 'content': expected a string, got null.",
    "messages.[0].content"
  ],
  "with an assistant that neither speaks nor calls": [
    { model, messages: [ask, { role: "assistant" }] },
    "Invalid value for 'content': expected a string, got null.",
    "messages.[1].content"
  ],
  "with a part of an unknown type": [
    { model, messages: [{ role: "user", content: [{ type: "input_text", text: "Hello" }] }] },
    "Invalid value: 'input_text'. Supported values are: " +
    "'text', 'image_url', 'input_audio', 'refusal', 'audio', and 'file'.",
    "messages[0].content[0].type",
    "invalid_value"
  ],
  "with a part without text": [
    { model, messages: [{ role: "user", content: [{ type: "text" }] }] },
    "Missing required parameter: 'messages[0].content[0].text'.",
    "messages[0].content[0].text",
    "missing_required_parameter"
  ],
  "with an empty list of calls": [
    { model, messages: [ask, calls()] },
    "Invalid 'messages[1].tool_calls': empty array. " +
    "Expected an array with minimum length 1, but got an empty array instead.",
    "messages[1].tool_calls",
    "empty_array"
  ],
  "with a call without arguments": [
    {
      model,
      messages: [ask, { role: "assistant", tool_calls: [{ id: "a", type: "function", function: { name: "add" } }] }]
    },
    "Missing required parameter: 'messages[1].tool_calls[0].function.arguments'.",
    "messages[1].tool_calls[0].function.arguments",
    "missing_required_parameter"
  ],
  "with a result that names no call": [
    { model, messages: [ask, calls("a"), { role: "tool", content: "1" }] },
    "Missing required parameter: 'messages[2].tool_call_id'.",
    "messages[2].tool_call_id",
    "missing_required_parameter"
  ],
  "with a result without a call": [
    { model, messages: [ask, result("a")] },
    "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
    "messages.[1].role"
  ],
  "with a result of another call": [
    { model, messages: [ask, calls("a"), result("b")] },
    "Invalid parameter: 'tool_call_id' of 'b' not found in 'tool_calls' of previous message.",
    "messages.[2].tool_call_id"
  ],
  "with a result that comes after the user spoke": [
    { model, messages: [ask, calls("a"), result("a"), ask, result("a")] },
    "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
    "messages.[4].role"
  ],
  "with a call that is never answered": [{ model, messages: [ask, calls("a")] }, answers("a"), "messages.[1].role"],
  "with some of its calls unanswered": [
    { model, messages: [ask, calls("a", "b", "c"), result("b"), ask] },
    answers("a, c"),
    "messages.[3].role"
  ],
  "with a call that the user spoke over": [
    { model, messages: [ask, calls("a"), ask, calls("b"), result("b"), ask] },
    answers("a"),
    "messages.[2].role"
  ],
  "with a tool without a name": [
    { model, messages: [ask], tools: [{ type: "function", function: {} }] },
    "Missing required parameter: 'tools[0].function.name'.",
    "tools[0].function.name",
    "missing_required_parameter"
  ],
  "with a tool of an impossible name": [
    { model, messages: [ask], tools: [{ type: "function", function: { name: "a.b" } }] },
    "Invalid 'tools[0].function.name': string does not match pattern. " +
    "Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.",
    "tools[0].function.name",
    "invalid_value"
  ],
  "with a choice among no tools": [
    { model, messages: [ask], tool_choice: { type: "function", function: { name: "add" } } },
    "Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are specified.",
    "tool_choice"
  ],
  "with the choice of a tool that isn't there": [
    { model, messages: [ask], tools: [add], tool_choice: { type: "function", function: { name: "sub" } } },
    "Invalid value for 'tool_choice': function 'sub' not found in 'tools'.",
    "tool_choice"
  ],
  "with a tool whose schema isn't as strict as it should be": [
    { model, messages: [ask], tools: [{ type: "function", function: { ...add.function, strict: true } }] },
    "Invalid schema for function 'add': In context=(), 'additionalProperties' is required to be supplied and to be " +
    "false.",
    "tools[0].function.parameters",
    "invalid_function_parameters"
  ],
  "with an answer whose schema leaves a key out": [
    { model, messages: [ask], response_format: formatted({ properties: { a: one, b: one }, required: ["a"] }) },
    "Invalid schema for response_format 'answer': In context=(), 'required' is required to be supplied and to be an " +
    "array including every key in properties. Missing 'b'.",
    "response_format"
  ],
  "with an answer whose schema is open inside": [
    {
      model,
      messages: [ask],
      response_format: formatted({
        properties: { a: { type: "array", items: { type: "object" } } },
        required: ["a"]
      })
    },
    "Invalid schema for response_format 'answer': In context=('properties', 'a', 'items'), 'additionalProperties' is " +
    "required to be supplied and to be false.",
    "response_format"
  ],
  "with an answer whose schema is open in one of several": [
    {
      model,
      messages: [ask],
      response_format: formatted({
        properties: { a: { anyOf: [{ type: "null" }, { type: "object" }] } },
        required: ["a"]
      })
    },
    "Invalid schema for response_format 'answer': In context=('properties', 'a', 'anyOf', '1'), " +
    "'additionalProperties' is required to be supplied and to be false.",
    "response_format"
  ],
  "with an answer whose schema isn't of an object": [
    { model, messages: [ask], response_format: formatted({ type: "array" }) },
    "Invalid schema for response_format 'answer': schema must be a JSON Schema of 'type: \"object\"', got " +
    "'type: \"array\"'.",
    "response_format"
  ],
  "with an answer of an impossible name": [
    { model, messages: [ask], response_format: { type: "json_schema", json_schema: { name: "a b" } } },
    "Invalid 'response_format.json_schema.name': string does not match pattern. Expected a string that matches the " +
    "pattern '^[a-zA-Z0-9_-]+$'.",
    "response_format.json_schema.name",
    "invalid_value"
  ],
  "with an answer in JSON that nobody speaks of": [
    { model, messages: [ask], response_format: { type: "json_object" } },
    "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'.",
    "messages"
  ],
  "with options of a stream that isn't one": [
    { model, messages: [ask], stream_options: { include_usage: true } },
    "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
    "stream_options"
  ],
  "that isn't an object": [
    [ask],
    "We could not parse the JSON body of your request. (HINT: This likely means you aren't using your HTTP library " +
    "correctly. The OpenAI API expects a JSON payload, but what was sent was not valid JSON.)"
  ]
}

describe("a request for a chat completion", () => {
  refuses("chat/completions", refused, openAiError)

  const taken = {
    "with no tool": { messages: [ask], tools: [] },
    "whose calls are answered in another order": { messages: [ask, calls("a", "b"), result("b"), result("a")] },
    "whose user speaks after the results": { messages: [ask, calls("a"), result("a"), ask] },
    "that calls again with the same id": { messages: [ask, calls("a"), result("a"), calls("a"), result("a")] },
    "that a tool was offered to": { messages: [ask], tools: [add], tool_choice: "required" },
    "with parts": { messages: [{ role: "user", content: [{ type: "text", text: "Hello" }] }] },
    "with a schema that nobody wants kept strictly": {
      messages: [ask],
      tools: [add],
      response_format: { type: "json_schema", json_schema: { name: "answer", schema: { type: "object" } } }
    },
    "with a schema that may be kept strictly": {
      messages: [ask],
      response_format: formatted({
        properties: { a: { anyOf: [{ type: "object", additionalProperties: false }, { type: "null" }] } },
        required: ["a"]
      })
    },
    "with options that mean nothing here": { messages: [ask], temperature: 2, tools: null, tool_choice: null }
  }
  takes("chat/completions", Record.map(taken, (body) => ({ model, ...body })))
})
