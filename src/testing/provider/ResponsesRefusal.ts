/**
 * What OpenAI refuses of a request for a response.
 *
 * @since 0.1.0
 */
import { type Fields, first, isObject, list, missing, mistyped, refuse, string, unsupported } from "./OpenAiRefusal.ts"
import type { Refusal } from "./Protocol.ts"
import { checkItems } from "./ResponsesOrder.ts"
import type { ResponsesRequest } from "./ResponsesRequest.ts"

const roles = ["assistant", "system", "developer", "user"]

const spoken = ["output_text", "refusal"]

const given = ["input_text", "input_image", "input_file"]

const prefixes: Readonly<Record<string, string>> = { message: "msg", function_call: "fc", reasoning: "rs" }

const checkId = ({ id }: Fields, type: string, at: string): Refusal | undefined => {
  const prefix = prefixes[type]
  if (id === undefined || id === null || prefix === undefined) return undefined
  if (typeof id !== "string") return mistyped(`${at}.id`, "a string", id)
  return id.startsWith(prefix)
    ? undefined
    : refuse(
      `Invalid '${at}.id': '${id}'. Expected an ID that begins with '${prefix}'.`,
      `${at}.id`,
      "invalid_value"
    )
}

const checkPart = (supported: ReadonlyArray<string>) => (part: Fields, at: string): Refusal | undefined => {
  if (part.type === undefined) return missing(`${at}.type`)
  if (!supported.includes(part.type as string)) return unsupported(at, part.type, supported)
  return (part.type as string).endsWith("_text") ? string(part, "text", at) : undefined
}

const checkContent = (content: unknown, supported: ReadonlyArray<string>, at: string): Refusal | undefined => {
  if (content === undefined) return missing(at)
  if (typeof content === "string") return undefined
  if (!Array.isArray(content)) return mistyped(at, "one of a string or array of objects", content)
  return first(content as ReadonlyArray<unknown>, (part, index) =>
    isObject(part)
      ? checkPart(supported)(part, `${at}[${index}]`)
      : mistyped(`${at}[${index}]`, "an object", part))
}

const checkMessage = (item: Fields, at: string): Refusal | undefined => {
  if (item.role === undefined) return missing(`${at}.role`)
  if (!roles.includes(item.role as string)) return unsupported(`${at}.role`, item.role, roles)
  const isSpoken = item.role === "assistant"
  // Ids of messages of the user may be of any form.
  return checkContent(item.content, isSpoken ? spoken : given, `${at}.content`) ??
    (isSpoken ? checkId(item, "message", at) : undefined)
}

const filled = (item: Fields, name: string, at: string): Refusal | undefined =>
  string(item, name, at) ?? (item[name] === ""
    ? refuse(
      `Invalid '${at}.${name}': empty string. Expected a string with minimum length 1, but got an empty string instead.`,
      `${at}.${name}`,
      "empty_string"
    )
    : undefined)

const types = [
  "apply_patch_call",
  "apply_patch_call_output",
  "code_interpreter_call",
  "compaction",
  "computer_call",
  "computer_call_output",
  "custom_tool_call",
  "custom_tool_call_output",
  "file_search_call",
  "function_call",
  "function_call_output",
  "image_generation_call",
  "item_reference",
  "local_shell_call",
  "local_shell_call_output",
  "mcp_approval_request",
  "mcp_approval_response",
  "mcp_call",
  "mcp_list_tools",
  "message",
  "reasoning",
  "shell_call",
  "shell_call_output",
  "tool_search_call",
  "tool_search_output",
  "web_search_call"
]

const checkItem = (item: Fields, at: string): Refusal | undefined => {
  const type = (item.type ?? "message") as string
  if (!types.includes(type)) return unsupported(at, type, types)
  switch (type) {
    case "message":
      return checkMessage(item, at)
    case "function_call":
      return checkId(item, type, at) ?? filled(item, "call_id", at) ?? filled(item, "name", at) ??
        string(item, "arguments", at)
    case "function_call_output":
      return filled(item, "call_id", at) ?? checkContent(item.output, given, `${at}.output`)
    case "reasoning":
      return string(item, "id", at) ?? checkId(item, type, at) ??
        (Array.isArray(item.summary) ? undefined : missing(`${at}.summary`))
    case "item_reference":
      return string(item, "id", at)
    default:
      return undefined
  }
}

const checkInput = ({ input }: Fields): Refusal | undefined => {
  if (input === undefined) return missing("input")
  if (typeof input === "string") return undefined
  return Array.isArray(input)
    ? list(input, "input", checkItem)
    : mistyped("input", "one of a string or array of input items", input)
}

const checkTool = (tool: Fields, at: string): Refusal | undefined => {
  const refusal = string(tool, "type", at) ?? (tool.type === "function" ? filled(tool, "name", at) : undefined)
  if (refusal !== undefined || tool.type !== "function") return refusal
  return /^[a-zA-Z0-9_-]+$/.test(tool.name as string) ? undefined : refuse(
    `Invalid '${at}.name': string does not match pattern. Expected a string that matches the pattern ` +
      "'^[a-zA-Z0-9_-]+$'.",
    `${at}.name`,
    "invalid_value"
  )
}

const checkTools = ({ tools }: Fields): Refusal | undefined => {
  if (tools === undefined || tools === null) return undefined
  if (!Array.isArray(tools)) return mistyped("tools", "an array of objects", tools)
  return first(
    tools as ReadonlyArray<unknown>,
    (tool, index) =>
      isObject(tool) ? checkTool(tool, `tools[${index}]`) : mistyped(`tools[${index}]`, "an object", tool)
  )
}

const choices = ["none", "auto", "required"]

const checkChoice = ({ tool_choice: choice, tools }: Fields): Refusal | undefined => {
  if (choice === undefined || choice === null) return undefined
  if (!isObject(choice)) {
    return choices.includes(choice as string) ? undefined : unsupported("tool_choice", choice, choices)
  }
  if (choice.type === "allowed_tools") {
    return string(choice, "mode", "tool_choice") ??
      list(choice.tools, "tool_choice.tools", (tool, at) => string(tool, "type", at))
  }
  const refusal = string(choice, "type", "tool_choice")
  if (refusal !== undefined || choice.type !== "function") return refusal
  const offered = (tools ?? []) as ReadonlyArray<Fields>
  return string(choice, "name", "tool_choice") ?? (offered.some(({ name }) => name === choice.name)
    ? undefined
    : refuse("Tool choice 'function' not found in 'tools' parameter.", "tool_choice"))
}

const checkStream = ({ stream, stream_options: options }: Fields): Refusal | undefined => {
  if (stream !== undefined && stream !== null && typeof stream !== "boolean") {
    return mistyped("stream", "a boolean", stream)
  }
  return options !== undefined && options !== null && stream !== true
    ? refuse("The 'stream_options' parameter is only allowed when 'stream' is enabled.", "stream_options")
    : undefined
}

const checkPrevious = ({ previous_response_id: id }: Fields): Refusal | undefined =>
  id === undefined || id === null
    ? undefined
    : refuse(
      `Previous response with id '${String(id)}' not found.`,
      "previous_response_id",
      "previous_response_not_found"
    )

const unreadable = "We could not parse the JSON body of your request. (HINT: This likely means you aren't using your " +
  "HTTP library correctly. The OpenAI API expects a JSON payload, but what was sent was not valid JSON.)"

/** Why OpenAI refuses a body, if it does. Else it is a `ResponsesRequest`. */
export const check = (body: unknown): Refusal | undefined =>
  isObject(body)
    ? string(body, "model", "") ??
      checkInput(body) ??
      checkPrevious(body) ??
      checkItems(body as unknown as ResponsesRequest) ??
      checkTools(body) ??
      checkChoice(body) ??
      checkStream(body)
    : refuse(unreadable)
