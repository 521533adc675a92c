/**
 * What Anthropic refuses of a request for a message, in its words.
 *
 * @since 0.1.0
 */
import type { MessagesRequest } from "./MessagesRequest.ts"
import { checkTurns } from "./MessagesTurns.ts"
import { type Fields, first, isObject } from "./OpenAiRefusal.ts"
import type { Refusal } from "./Protocol.ts"

/** Refuses a request as Anthropic does. */
const refuse = (message: string): Refusal => ({ status: 400, type: "invalid_request_error", message })

type Kind = "string" | "integer" | "list" | "dictionary" | "boolean"

const kinds: Readonly<Record<Kind, (value: unknown) => boolean>> = {
  string: (value) => typeof value === "string",
  integer: Number.isInteger,
  list: Array.isArray,
  dictionary: isObject,
  boolean: (value) => typeof value === "boolean"
}

const field = (fields: Fields, name: string, kind: Kind, at = ""): Refusal | undefined => {
  const path = at === "" ? name : `${at}.${name}`
  if (fields[name] === undefined) return refuse(`${path}: Field required`)
  return kinds[kind](fields[name]) ? undefined : refuse(
    `${path}: Input should be a valid ${kind}`
  )
}

const optional = (fields: Fields, name: string, kind: Kind, at = ""): Refusal | undefined =>
  fields[name] === undefined || fields[name] === null ? undefined : field(fields, name, kind, at)

const quoted = (values: ReadonlyArray<string>): string => values.map((value) => `'${value}'`).join(", ")

const untagged = (at: string, tag: unknown, tags: ReadonlyArray<string>): Refusal =>
  refuse(
    `${at}: Input tag '${String(tag)}' found using 'type' does not match any of the expected tags: ${quoted(tags)}`
  )

/** Checks a list, element by element. */
const each = (
  value: ReadonlyArray<unknown>,
  at: string,
  check: (element: Fields, at: string) => Refusal | undefined
): Refusal | undefined =>
  first(value, (element, index) =>
    isObject(element)
      ? check(element, `${at}.${index}`)
      : refuse(`${at}.${index}: Input should be a valid dictionary or object to extract fields from`))

const named = /^[a-zA-Z0-9_-]+$/

const id = (fields: Fields, name: string, at: string): Refusal | undefined =>
  field(fields, name, "string", at) ?? (named.test(fields[name] as string)
    ? undefined
    : refuse(`${at}.${name}: String should match pattern '^[a-zA-Z0-9_-]+$'`))

const resultTags = [
  "bash_code_execution_tool_result",
  "code_execution_tool_result",
  "text_editor_code_execution_tool_result",
  "tool_search_tool_result",
  "web_fetch_tool_result",
  "web_search_tool_result"
]

const tags = [
  ...resultTags,
  "container_upload",
  "document",
  "image",
  "redacted_thinking",
  "search_result",
  "server_tool_use",
  "text",
  "thinking",
  "tool_result",
  "tool_use"
].sort()

const texts = ["text", "image", "document", "search_result", "tool_reference"]

const checkBlock = (allowed: ReadonlyArray<string>) => (block: Fields, at: string): Refusal | undefined => {
  const { type } = block
  if (type === undefined) return refuse(`${at}.type: Field required`)
  if (!allowed.includes(type as string)) return untagged(at, type, allowed)
  const within = `${at}.${type as string}`
  switch (type) {
    case "text":
      return field(block, "text", "string", within) ??
        (block.text === "" ? refuse("messages: text content blocks must be non-empty") : undefined)
    case "thinking":
      return field(block, "signature", "string", within) ?? field(block, "thinking", "string", within)
    case "redacted_thinking":
      return field(block, "data", "string", within)
    case "tool_use":
    case "server_tool_use":
      return id(block, "id", within) ?? field(block, "input", "dictionary", within) ??
        field(block, "name", "string", within)
    case "tool_result":
      return id(block, "tool_use_id", within) ?? checkResult(block, within)
    case "image":
      return field(block, "source", "dictionary", within)
    default:
      return resultTags.includes(type as string)
        ? id(block, "tool_use_id", within)
        : undefined
  }
}

const checkResult = ({ content }: Fields, at: string): Refusal | undefined => {
  if (content === undefined || typeof content === "string") return undefined
  return Array.isArray(content)
    ? each(content, `${at}.content`, checkBlock(texts))
    : refuse(`${at}.content: Input should be a valid list`)
}

const roles = ["user", "assistant", "system"]

const checkMessage = (message: Fields, at: string, isLast: boolean): Refusal | undefined => {
  const { content, role } = message
  if (role === undefined) return refuse(`${at}.role: Field required`)
  if (!roles.includes(role as string)) {
    return refuse(`messages: Unexpected role "${String(role)}". Allowed roles are "user" or "assistant"`)
  }
  if (content === undefined) return refuse(`${at}.content: Field required`)
  if (typeof content !== "string" && !Array.isArray(content)) {
    return refuse(`${at}.content: Input should be a valid list`)
  }
  if (content.length === 0 && !(isLast && role === "assistant")) {
    return refuse(`${at}: all messages must have non-empty content except for the optional final assistant message`)
  }
  return typeof content === "string" ? undefined : each(content, `${at}.content`, checkBlock(tags))
}

const checkMessages = (messages: ReadonlyArray<unknown>): Refusal | undefined => {
  if (messages.length === 0) return refuse("messages: at least one message is required")
  let left = messages.length
  return each(messages, "messages", (message, at) => checkMessage(message, at, --left === 0))
}

const checkTool = (tool: Fields, at: string): Refusal | undefined => {
  const isCustom = (tool.type ?? "custom") === "custom"
  const within = isCustom ? `${at}.custom` : `${at}.${String(tool.type)}`
  const refusal = field(tool, "name", "string", within) ??
    (isCustom ? field(tool, "input_schema", "dictionary", within) : undefined)
  if (refusal !== undefined || !isCustom) return refusal
  if (!/^[a-zA-Z0-9_-]{1,128}$/.test(tool.name as string)) {
    return refuse(`${within}.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'`)
  }
  const schema = tool.input_schema as Fields
  if (schema.type === undefined) return refuse(`${within}.input_schema.type: Field required`)
  return schema.type === "object" ? undefined : refuse(`${within}.input_schema.type: Input should be 'object'`)
}

const checkTools = ({ tools }: Fields): Refusal | undefined => {
  if (tools === undefined || tools === null) return undefined
  if (!Array.isArray(tools)) return refuse("tools: Input should be a valid list")
  const refusal = each(tools, "tools", checkTool)
  if (refusal !== undefined) return refusal
  return new Set(tools.map(({ name }: Fields) => name)).size < tools.length
    ? refuse("tools: Tool names must be unique.")
    : undefined
}

const choices = ["auto", "any", "tool", "none"]

const checkChoice = ({ tool_choice: choice, tools }: Fields): Refusal | undefined => {
  if (choice === undefined || choice === null) return undefined
  if (!isObject(choice)) {
    return refuse("tool_choice: Input should be a valid dictionary or object to extract fields from")
  }
  const { name, type } = choice
  if (type === undefined) return refuse("tool_choice.type: Field required")
  if (!choices.includes(type as string)) return untagged("tool_choice", type, choices)
  const offered = (tools ?? []) as ReadonlyArray<Fields>
  if (offered.length === 0) return refuse("tool_choice may only be specified while providing tools.")
  if (type !== "tool") return undefined
  return field(choice, "name", "string", "tool_choice.tool") ??
    (offered.some((tool) => tool.name === name)
      ? undefined
      : refuse(`Tool '${String(name)}' not found in provided tools`))
}

const thinkingTags = ["adaptive", "between_tools", "disabled", "enabled"]

const limits = "Please consult our documentation at " +
  "https://docs.claude.com/en/docs/build-with-claude/extended-thinking#max-tokens-and-context-window-size"

const checkThinking = ({ max_tokens: limit, thinking, tool_choice: choice }: Fields): Refusal | undefined => {
  if (thinking === undefined || thinking === null) return undefined
  if (!isObject(thinking)) {
    return refuse("thinking: Input should be a valid dictionary or object to extract fields from")
  }
  const { budget_tokens: budget, type } = thinking
  if (type === undefined) return refuse("thinking.type: Field required")
  if (!thinkingTags.includes(type as string)) return untagged("thinking", type, thinkingTags)
  if (type !== "enabled") return undefined
  const refusal = field(thinking, "budget_tokens", "integer", "thinking.enabled")
  if (refusal !== undefined) return refusal
  if ((budget as number) < 1024) {
    return refuse("thinking.enabled.budget_tokens: Input should be greater than or equal to 1024")
  }
  if ((budget as number) >= (limit as number)) {
    return refuse(`\`max_tokens\` must be greater than \`thinking.budget_tokens\`. ${limits}`)
  }
  return isObject(choice) && (choice.type === "any" || choice.type === "tool")
    ? refuse("Thinking may not be enabled when tool_choice forces tool use.")
    : undefined
}

const checkSystem = ({ system }: Fields): Refusal | undefined => {
  if (system === undefined || system === null || typeof system === "string") return undefined
  if (!Array.isArray(system)) return refuse("system: Input should be a valid list")
  return each(
    system,
    "system",
    (block, at) =>
      field(block, "type", "string", at) ?? field(block, "text", "string", at) ??
        (block.text === "" ? refuse("system: text content blocks must be non-empty") : undefined)
  )
}

/** Why Anthropic refuses a body, if it does. Else it is a `MessagesRequest`. */
export const check = (body: unknown): Refusal | undefined => {
  if (!isObject(body)) {
    return refuse("The request body is not valid JSON: expected value at line 1 column 1 (char 0)")
  }
  return field(body, "model", "string") ??
    field(body, "messages", "list") ??
    field(body, "max_tokens", "integer") ??
    ((body.max_tokens as number) < 0 ? refuse("max_tokens: Input should be greater than or equal to 0") : undefined) ??
    optional(body, "stream", "boolean") ??
    checkMessages(body.messages as ReadonlyArray<unknown>) ??
    checkSystem(body) ??
    checkTools(body) ??
    checkChoice(body) ??
    checkThinking(body) ??
    checkTurns(body as unknown as MessagesRequest, refuse)
}
