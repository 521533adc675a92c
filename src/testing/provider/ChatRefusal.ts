/**
 * What OpenAI refuses of a request for a chat completion.
 *
 * @since 0.1.0
 */
import type { ChatMessage, ChatTool, NamedChoice } from "./ChatRequest.ts"
import { type Fields, first, isObject, list, missing, mistyped, refuse, string, unsupported } from "./OpenAiRefusal.ts"
import type { Refusal } from "./Protocol.ts"

const roles = ["system", "assistant", "user", "function", "tool", "developer"]

const partTypes = ["text", "image_url", "input_audio", "refusal", "audio", "file"]

const checkPart = (part: Fields, at: string): Refusal | undefined => {
  if (part.type === undefined) return missing(`${at}.type`)
  if (!partTypes.includes(part.type as string)) return unsupported(`${at}.type`, part.type, partTypes)
  return part.type === "text" ? string(part, "text", at) : undefined
}

const checkContent = (content: unknown, at: string, position: number): Refusal | undefined => {
  if (typeof content === "string") return undefined
  if (content === undefined) return missing(`${at}.content`)
  if (content === null) {
    return refuse("Invalid value for 'content': expected a string, got null.", `messages.[${position}].content`)
  }
  return Array.isArray(content)
    ? list(content, `${at}.content`, checkPart)
    : mistyped(`${at}.content`, "one of a string or array of objects", content)
}

const checkFunction = (fields: Fields, at: string, names: ReadonlyArray<string>): Refusal | undefined => {
  const called = fields.function
  if (called === undefined) return missing(`${at}.function`)
  if (!isObject(called)) return mistyped(`${at}.function`, "an object", called)
  return first(names, (name) => string(called, name, `${at}.function`))
}

const checkCall = (call: Fields, at: string): Refusal | undefined =>
  string(call, "id", at) ?? string(call, "type", at) ?? checkFunction(call, at, ["name", "arguments"])

const checkMessage = (message: Fields, at: string, position: number): Refusal | undefined => {
  if (message.role === undefined) return missing(`${at}.role`)
  if (!roles.includes(message.role as string)) return unsupported(`${at}.role`, message.role, roles)
  if (message.role !== "assistant") {
    return checkContent(message.content, at, position) ??
      (message.role === "tool" ? string(message, "tool_call_id", at) : undefined)
  }
  if (message.tool_calls === undefined || message.tool_calls === null) {
    return typeof message.refusal === "string" ? undefined : checkContent(message.content ?? null, at, position)
  }
  return (message.content === undefined || message.content === null
    ? undefined
    : checkContent(message.content, at, position)) ?? list(message.tool_calls, `${at}.tool_calls`, checkCall)
}

const unanswered = (ids: Iterable<string>, position: number): Refusal =>
  refuse(
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. " +
      `The following tool_call_ids did not have response messages: ${[...ids].join(", ")}`,
    `messages.[${position}].role`
  )

/** A tool message answers a call of the assistant's message before it, and each call is answered. */
const checkAnswers = (messages: ReadonlyArray<ChatMessage>): Refusal | undefined => {
  let called: ReadonlySet<string> | undefined
  const open = new Set<string>()
  const refusal = first(messages, (message, position) => {
    if (message.role === "tool") {
      const id = message.tool_call_id!
      if (called === undefined) {
        return refuse(
          "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
          `messages.[${position}].role`
        )
      }
      if (!called.has(id)) {
        return refuse(
          `Invalid parameter: 'tool_call_id' of '${id}' not found in 'tool_calls' of previous message.`,
          `messages.[${position}].tool_call_id`
        )
      }
      open.delete(id)
      return undefined
    }
    if (open.size > 0) return unanswered(open, position)
    called = message.tool_calls == null ? undefined : new Set(message.tool_calls.map(({ id }) => id))
    for (const id of called ?? []) open.add(id)
    return undefined
  })
  return refusal ?? (open.size > 0 ? unanswered(open, messages.length - 1) : undefined)
}

const toolName = /^[a-zA-Z0-9_-]+$/

const checkTool = (tool: Fields, at: string): Refusal | undefined => {
  const refusal = string(tool, "type", at) ?? (tool.type === "function" ? checkFunction(tool, at, ["name"]) : undefined)
  if (refusal !== undefined || tool.type !== "function") return refusal
  return toolName.test((tool as unknown as ChatTool).function.name) ? undefined : refuse(
    `Invalid '${at}.function.name': string does not match pattern. Expected a string that matches the pattern ` +
      "'^[a-zA-Z0-9_-]+$'.",
    `${at}.function.name`,
    "invalid_value"
  )
}

const choiceTypes = ["none", "auto", "required"]

const checkChoice = ({ tool_choice: choice, tools }: Fields): Refusal | undefined => {
  if (choice === undefined || choice === null) return undefined
  if (!isObject(choice)) {
    return choiceTypes.includes(choice as string) ? undefined : unsupported("tool_choice", choice, choiceTypes)
  }
  const offered = (tools ?? []) as ReadonlyArray<ChatTool>
  if (offered.length === 0) {
    return refuse(
      "Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are specified.",
      "tool_choice"
    )
  }
  if (choice.type === "allowed_tools") {
    const allowed = choice.allowed_tools
    return isObject(allowed)
      ? list(allowed.tools, "tool_choice.allowed_tools.tools", (tool, at) => checkFunction(tool, at, ["name"]))
      : missing("tool_choice.allowed_tools")
  }
  const refusal = string(choice, "type", "tool_choice") ?? checkFunction(choice, "tool_choice", ["name"])
  if (refusal !== undefined) return refusal
  const { function: { name } } = choice as unknown as NamedChoice
  return offered.some((tool) => tool.function?.name === name)
    ? undefined
    : refuse(`Invalid value for 'tool_choice': function '${name}' not found in 'tools'.`, "tool_choice")
}

const checkStream = ({ stream, stream_options: options }: Fields): Refusal | undefined => {
  if (stream !== undefined && stream !== null && typeof stream !== "boolean") {
    return mistyped("stream", "a boolean", stream)
  }
  return options !== undefined && options !== null && stream !== true
    ? refuse("The 'stream_options' parameter is only allowed when 'stream' is enabled.", "stream_options")
    : undefined
}

const unreadable = "We could not parse the JSON body of your request. (HINT: This likely means you aren't using your " +
  "HTTP library correctly. The OpenAI API expects a JSON payload, but what was sent was not valid JSON.)"

/** Why OpenAI refuses a body, if it does. Else it is a `ChatRequest`. */
export const check = (body: unknown): Refusal | undefined => {
  if (!isObject(body)) return refuse(unreadable)
  if (body.model === undefined) return refuse("you must provide a model parameter")
  if (body.messages === undefined) return missing("messages")
  let position = 0
  return string(body, "model", "") ??
    list(body.messages, "messages", (message, at) => checkMessage(message, at, position++)) ??
    checkAnswers((body as unknown as { readonly messages: ReadonlyArray<ChatMessage> }).messages) ??
    (body.tools === undefined || body.tools === null ? undefined : list(body.tools, "tools", checkTool)) ??
    checkChoice(body) ??
    checkStream(body)
}
