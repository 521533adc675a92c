import { describe } from "@effect/vitest"
import { refuses, takes } from "./bodies.ts"

const ask = { role: "user", content: "Hello" }

const call = (id: string) => ({ type: "tool_use", id, name: "add", input: {} })

const thought = { type: "thinking", thinking: "Hm.", signature: "c2ln" }

const assistant = (...content: ReadonlyArray<object>) => ({ role: "assistant", content })

const calls = (...ids: ReadonlyArray<string>) => assistant(...ids.map(call))

const user = (...content: ReadonlyArray<object>) => ({ role: "user", content })

const result = (id: string) => ({ type: "tool_result", tool_use_id: id, content: "1" })

const results = (...ids: ReadonlyArray<string>) => user(...ids.map(result))

const text = (text: string) => ({ type: "text", text })

const add = { name: "add", input_schema: { type: "object", properties: {} } }

const model = "claude-sonnet-5"

const asking = (...messages: ReadonlyArray<object>) => ({ model, max_tokens: 2048, messages })

const thinking = { type: "enabled", budget_tokens: 1024 }

const unanswered = (at: string, ids: string) =>
  `${at}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${ids}. ` +
  "Each `tool_use` block must have a corresponding `tool_result` block in the next message."

const unexpected = (at: string, id: string) =>
  `${at}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${id}. ` +
  "Each `tool_result` block must have a corresponding `tool_use` block in the previous message."

const thoughtless = (at: string, found: string) =>
  `${at}: Expected \`thinking\` or \`redacted_thinking\`, but found \`${found}\`. When \`thinking\` is enabled, a final ` +
  "`assistant` message must start with a thinking block (preceeding the lastmost set of `tool_use` and `tool_result` " +
  "blocks). We recommend you include thinking blocks from previous turns. To avoid this requirement, disable " +
  "`thinking`. Please consult our documentation at https://docs.claude.com/en/docs/build-with-claude/extended-thinking"

/** A body that Anthropic refuses, with what it says of it. */
const refused: Readonly<Record<string, readonly [body: unknown, message: string]>> = {
  "without a model": [{ max_tokens: 9, messages: [ask] }, "model: Field required"],
  "with a model that isn't a name": [{ ...asking(ask), model: 5 }, "model: Input should be a valid string"],
  "without messages": [{ model, max_tokens: 9 }, "messages: Field required"],
  "with messages that aren't a list": [
    { ...asking(), messages: "Hello" },
    "messages: Input should be a valid list"
  ],
  "with no message": [asking(), "messages: at least one message is required"],
  "without max_tokens": [{ model, messages: [ask] }, "max_tokens: Field required"],
  "with a max_tokens that isn't a number": [
    { ...asking(ask), max_tokens: "9" },
    "max_tokens: Input should be a valid integer"
  ],
  "with a max_tokens below zero": [
    { ...asking(ask), max_tokens: -1 },
    "max_tokens: Input should be greater than or equal to 0"
  ],
  "with a stream that isn't a boolean": [
    { ...asking(ask), stream: "yes" },
    "stream: Input should be a valid boolean"
  ],
  "with a message of nobody": [asking({ content: "Hello" }), "messages.0.role: Field required"],
  "with an unknown role": [
    asking({ role: "tool", content: "Hello" }),
    "messages: Unexpected role \"tool\". Allowed roles are \"user\" or \"assistant\""
  ],
  "with a message without content": [asking({ role: "user" }), "messages.0.content: Field required"],
  "with content that is neither text nor a list": [
    asking({ role: "user", content: 5 }),
    "messages.0.content: Input should be a valid list"
  ],
  "with an empty message": [
    asking(ask, { role: "assistant", content: "" }, ask),
    "messages.1: all messages must have non-empty content except for the optional final assistant message"
  ],
  "with an empty text": [asking(user(text(""))), "messages: text content blocks must be non-empty"],
  "with a text without words": [
    asking(user(text(" \n"))),
    "messages: text content blocks must contain non-whitespace text"
  ],
  "with a message without words": [
    asking({ role: "user", content: " " }),
    "messages: text content blocks must contain non-whitespace text"
  ],
  "with a block of no type": [asking(user({ text: "Hello" })), "messages.0.content.0.type: Field required"],
  "with a block of an unknown type": [
    asking(user({ type: "input_text", text: "Hello" })),
    "messages.0.content.0: Input tag 'input_text' found using 'type' does not match any of the expected tags: " +
    "'bash_code_execution_tool_result', 'code_execution_tool_result', 'container_upload', 'document', 'image', " +
    "'redacted_thinking', 'search_result', 'server_tool_use', 'text', 'text_editor_code_execution_tool_result', " +
    "'thinking', 'tool_result', 'tool_search_tool_result', 'tool_use', 'web_fetch_tool_result', " +
    "'web_search_tool_result'"
  ],
  "with an image that is nowhere": [
    asking(user({ type: "image", source: { type: "base64", media_type: "image/png" } })),
    "messages.0.content.0.image.source.base64.data: Field required"
  ],
  "with a block that isn't one": [
    asking({ role: "user", content: ["Hello"] }),
    "messages.0.content.0: Input should be a valid dictionary or object to extract fields from"
  ],
  "with an empty text in a result": [
    asking(ask, calls("a"), user({ ...result("a"), content: [text("")] })),
    "messages: text content blocks must be non-empty"
  ],
  "with thoughts of an unknown kind": [
    { ...asking(ask), thinking: { type: "on" } },
    "thinking: Input tag 'on' found using 'type' does not match any of the expected tags: " +
    "'adaptive', 'between_tools', 'disabled', 'enabled'"
  ],
  "with a fraction of a token": [
    { ...asking(ask), max_tokens: 0.5 },
    "max_tokens: Input should be a valid integer"
  ],
  "with a tool of the provider's without a name": [
    { ...asking(ask), tools: [{ type: "web_search_20250305" }] },
    "tools.0.web_search_20250305.name: Field required"
  ],
  "with a text without text": [asking(user({ type: "text" })), "messages.0.content.0.text.text: Field required"],
  "with a thought without its signature": [
    asking(ask, assistant({ type: "thinking", thinking: "Hm." }), ask),
    "messages.1.content.0.thinking.signature: Field required"
  ],
  "with a call without input": [
    asking(ask, assistant({ type: "tool_use", id: "a", name: "add" }), results("a")),
    "messages.1.content.0.tool_use.input: Field required"
  ],
  "with a call whose input is text": [
    asking(ask, assistant({ ...call("a"), input: "{}" }), results("a")),
    "messages.1.content.0.tool_use.input: Input should be a valid dictionary"
  ],
  "with a call of an impossible id": [
    asking(ask, calls("a.b"), results("a.b")),
    "messages.1.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'"
  ],
  "with a result that names no call": [
    asking(ask, calls("a"), user({ type: "tool_result", content: "1" })),
    "messages.2.content.0.tool_result.tool_use_id: Field required"
  ],
  "with a result of an unknown block": [
    asking(ask, calls("a"), user({ ...result("a"), content: [{ type: "json", json: {} }] })),
    "messages.2.content.0.tool_result.content.0: Input tag 'json' found using 'type' does not match any of the " +
    "expected tags: 'text', 'image', 'document', 'search_result', 'tool_reference'"
  ],
  "with an assistant that speaks first": [
    asking({ role: "assistant", content: "Hi" }, ask),
    "messages: first message must use the \"user\" role"
  ],
  "with a beginning that ends in a space": [
    asking(ask, { role: "assistant", content: "Well " }),
    "messages: final assistant content cannot end with trailing whitespace"
  ],
  "with a result without a call": [asking(results("a")), unexpected("messages.0.content.0", "a")],
  "with a result of another call": [
    asking(ask, calls("a"), results("a", "b")),
    unexpected("messages.2.content.1", "b")
  ],
  "with a result that comes after the user spoke": [
    asking(ask, calls("a"), results("a"), { role: "assistant", content: "Hi" }, results("a")),
    unexpected("messages.4.content.0", "a")
  ],
  "with two results of one call": [
    asking(ask, calls("a"), results("a", "a")),
    "messages.2.content.1: each tool_use must have a single result. " +
    "Found multiple `tool_result` blocks with id: a"
  ],
  "with a call that is never answered": [asking(ask, calls("a")), unanswered("messages.1", "a")],
  "with some of its calls unanswered": [
    asking(ask, calls("a", "b", "c"), results("b")),
    unanswered("messages.1", "a, c")
  ],
  "with a call that the user spoke over": [asking(ask, calls("a"), ask), unanswered("messages.1", "a")],
  "with a result behind a text": [
    asking(ask, calls("a"), user(text("Here:"), result("a"))),
    unanswered("messages.1", "a")
  ],
  "that calls twice with one id": [
    asking(ask, calls("a"), results("a"), calls("a"), results("a")),
    "messages.3.content.0: `tool_use` ids must be unique"
  ],
  "that lost the thought before its call": [
    { ...asking(ask, calls("a"), results("a")), thinking },
    thoughtless("messages.1.content.0.type", "tool_use")
  ],
  "that lost the thought before its text": [
    { ...asking(ask, assistant(text("Hm"), call("a")), results("a")), thinking },
    thoughtless("messages.1.content.0.type", "text")
  ],
  "that lost the thought of a turn with two steps": [
    { ...asking(ask, calls("a"), results("a"), assistant(thought, call("b")), results("b")), thinking },
    thoughtless("messages.1.content.0.type", "tool_use")
  ],
  "with too little to think": [
    { ...asking(ask), thinking: { type: "enabled", budget_tokens: 9 } },
    "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024"
  ],
  "with more to think than to say": [
    { ...asking(ask), thinking: { type: "enabled", budget_tokens: 2048 } },
    "`max_tokens` must be greater than `thinking.budget_tokens`. Please consult our documentation at " +
    "https://docs.claude.com/en/docs/build-with-claude/extended-thinking#max-tokens-and-context-window-size"
  ],
  "that thinks and must call": [
    { ...asking(ask), thinking, tools: [add], tool_choice: { type: "any" } },
    "Thinking may not be enabled when tool_choice forces tool use."
  ],
  "with an answer whose schema is open": [
    { ...asking(ask), output_config: { format: { type: "json_schema", schema: { type: "object" } } } },
    "output_config.format.schema: For 'object' type, 'additionalProperties' must be explicitly set to false"
  ],
  "with an answer whose schema is open inside, as betas have it": [
    {
      ...asking(ask),
      output_format: {
        type: "json_schema",
        schema: {
          type: "object",
          additionalProperties: false,
          properties: { a: { type: "object", additionalProperties: true } }
        }
      }
    },
    "output_format.schema: For 'object' type, 'additionalProperties: true' is not supported. " +
    "Please set 'additionalProperties' to false"
  ],
  "with an empty system prompt": [
    { ...asking(ask), system: [text("")] },
    "system: text content blocks must be non-empty"
  ],
  "with a tool without a name": [
    { ...asking(ask), tools: [{ input_schema: add.input_schema }] },
    "tools.0.custom.name: Field required"
  ],
  "with a tool of an impossible name": [
    { ...asking(ask), tools: [{ ...add, name: "a.b" }] },
    "tools.0.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'"
  ],
  "with a tool without a schema": [
    { ...asking(ask), tools: [{ name: "add" }] },
    "tools.0.custom.input_schema: Field required"
  ],
  "with a tool that doesn't take an object": [
    { ...asking(ask), tools: [{ name: "add", input_schema: { type: "string" } }] },
    "tools.0.custom.input_schema.type: Input should be 'object'"
  ],
  "with two tools of one name": [{ ...asking(ask), tools: [add, add] }, "tools: Tool names must be unique."],
  "with a choice among no tools": [
    { ...asking(ask), tool_choice: { type: "auto" } },
    "tool_choice may only be specified while providing tools."
  ],
  "with an unknown choice": [
    { ...asking(ask), tools: [add], tool_choice: { type: "required" } },
    "tool_choice: Input tag 'required' found using 'type' does not match any of the expected tags: " +
    "'auto', 'any', 'tool', 'none'"
  ],
  "with the choice of a tool that isn't there": [
    { ...asking(ask), tools: [add], tool_choice: { type: "tool", name: "sub" } },
    "Tool 'sub' not found in provided tools"
  ],
  "that isn't an object": [[ask], "The request body is not valid JSON: expected value at line 1 column 1 (char 0)"]
}

describe("a request for a message", () => {
  refuses("messages", refused, ([message], { headers }) => ({
    type: "error",
    error: { type: "invalid_request_error", message },
    request_id: headers.get("request-id")
  }))

  takes("messages", {
    "whose calls are answered in another order": asking(ask, calls("a", "b"), results("b", "a")),
    "whose calls are answered in two messages": asking(ask, calls("a", "b"), results("b"), results("a")),
    "whose user speaks behind the results": asking(ask, calls("a"), user(result("a"), text("Go on"))),
    "whose user speaks twice": asking(ask, ask),
    "whose user ends in a space": asking({ role: "user", content: "Hello " }),
    "whose assistant has begun": asking(ask, { role: "assistant", content: "Well" }),
    "with a message of the system": asking(ask, { role: "system", content: "Be brief." }),
    "that a tool was offered to": { ...asking(ask), tools: [add], tool_choice: { type: "any" } },
    "with a tool of the provider": { ...asking(ask), tools: [{ type: "web_search_20250305", name: "web_search" }] },
    "whose turn began with a thought": {
      ...asking(ask, assistant(thought, call("a")), results("a"), calls("b"), results("b")),
      thinking
    },
    "whose turn began with a hidden thought": {
      ...asking(ask, assistant({ type: "redacted_thinking", data: "x" }, call("a")), results("a")),
      thinking
    },
    "that lost the thoughts of earlier turns": {
      ...asking(ask, calls("a"), results("a"), { role: "assistant", content: "Hi" }, ask),
      thinking
    },
    "that lost its thought where none is asked for": asking(ask, calls("a"), results("a")),
    "with options that mean nothing here": { ...asking(ask), temperature: 1, metadata: { user_id: "x" } }
  })
})
