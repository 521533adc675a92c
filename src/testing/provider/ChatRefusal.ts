/**
 * What OpenAI refuses of a request for a chat completion.
 *
 * @since 0.1.0
 */
import { type ChatMessage, ChatRequest, type ChatToolCall, nameOf } from "./ChatRequest.ts"
import * as Flaw from "./Flaw.ts"
import { checkFunction, checkStream, checkStrict, refuse, refuseFlaw } from "./OpenAiRefusal.ts"
import type { Refusal } from "./Protocol.ts"
import { first } from "./Refusals.ts"

const refuseNothing = (position: number): Refusal =>
  refuse("Invalid value for 'content': expected a string, got null.", `messages.[${position}].content`)

/** OpenAI has words of its own for a model that is missing, for a message that says nothing, and for arguments that it doesn't know. */
const refuseShape = (flaw: Flaw.Flaw): Refusal => {
  const [list, position] = flaw.at
  if (flaw._tag === "Missing" && list === "model") return refuse("you must provide a model parameter")
  if (flaw._tag === "Unknown" && flaw.at.length === 1) {
    return refuse(`Unrecognized request argument${flaw.names.length > 1 ? "s" : ""} supplied: ${flaw.names.join(", ")}`)
  }
  const isNothing = flaw._tag === "Mistyped" && flaw.value === null && flaw.at.at(-1) === "content"
  return isNothing && list === "messages" && typeof position === "number" ? refuseNothing(position) : refuseFlaw(flaw)
}

const idsOf = (calls: ReadonlyArray<ChatToolCall>): ReadonlyArray<string> => calls.map(({ id }) => id)

const unanswered = (ids: Iterable<string>, position: number): Refusal =>
  refuse(
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. " +
      `The following tool_call_ids did not have response messages: ${[...ids].join(", ")}`,
    `messages.[${position}].role`
  )

/** An assistant speaks or calls. A tool's message answers a call of the assistant's before it, and each is answered. */
const checkMessages = (messages: ReadonlyArray<ChatMessage>): Refusal | undefined => {
  let called: ReadonlySet<string> | undefined
  const open = new Set<string>()
  const refusal = first(messages, (message, position) => {
    if (message.role === "tool") {
      const id = message.tool_call_id
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
    called = undefined
    if (message.role !== "assistant") return undefined
    const { content, refusal, tool_calls: calls } = message
    if ((content ?? refusal ?? calls ?? null) === null) return refuseNothing(position)
    if (calls === undefined || calls === null) return undefined
    called = new Set(idsOf(calls))
    for (const id of called) open.add(id)
    return undefined
  })
  return refusal ?? (open.size > 0 ? unanswered(open, messages.length - 1) : undefined)
}

const checkChoice = ({ tool_choice: choice, tools }: ChatRequest): Refusal | undefined => {
  if (choice === undefined || choice === null || typeof choice === "string") return undefined
  const offered = tools ?? []
  if (offered.length === 0) {
    return refuse(
      "Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are specified.",
      "tool_choice"
    )
  }
  if (choice.type === "allowed_tools") return undefined
  const name = nameOf(choice)
  return offered.some((tool) => nameOf(tool) === name)
    ? undefined
    : refuse(`Invalid value for 'tool_choice': function '${name}' not found in 'tools'.`, "tool_choice")
}

const checkTools = ({ tools }: ChatRequest): Refusal | undefined =>
  first(
    tools ?? [],
    (tool, index) => tool.type === "function" ? checkFunction(tool.function, `tools[${index}].function`) : undefined
  )

const saysJson = (message: ChatMessage): boolean => /json/i.test(JSON.stringify(message.content))

const checkFormat = ({ messages, response_format: format }: ChatRequest): Refusal | undefined => {
  if (format?.type === "json_schema") return checkStrict("response_format", format.json_schema, "response_format")
  return format?.type !== "json_object" || messages.some(saysJson) ? undefined : refuse(
    "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'.",
    "messages"
  )
}

/** Reads a body, or refuses it as OpenAI does. */
export const read = Flaw.reader(
  ChatRequest,
  refuseShape,
  (request) =>
    checkMessages(request.messages) ??
      checkTools(request) ??
      checkChoice(request) ??
      checkFormat(request) ??
      checkStream(request)
)
