/**
 * What Anthropic refuses of a request for a message.
 *
 * @since 0.1.0
 */
import { hasWords } from "../../domain/conversation/Sending.ts"
import { refuse, refuseFlaw } from "./AnthropicRefusal.ts"
import * as Flaw from "./Flaw.ts"
import { notClosed } from "./Format.ts"
import {
  blocksOf,
  type MessagesBlock,
  type MessagesInner,
  type MessagesMessage,
  MessagesRequest,
  outputFormat
} from "./MessagesRequest.ts"
import { checkTurns } from "./MessagesTurns.ts"
import type { Refusal } from "./Protocol.ts"
import { first } from "./Refusals.ts"

type Content = string | ReadonlyArray<MessagesBlock | MessagesInner> | null | undefined

/** Refuses a text without words, also in a result. */
const checkTexts = (at: string, content: Content): Refusal | undefined =>
  typeof content !== "object" || content === null ? undefined : first(content, (block) => {
    if (block.type === "tool_result") return checkTexts(at, block.content)
    if (block.type !== "text" || hasWords(block.text)) return undefined
    return refuse(
      block.text === ""
        ? `${at}: text content blocks must be non-empty`
        : `${at}: text content blocks must contain non-whitespace text`
    )
  })

const checkMessages = (messages: ReadonlyArray<MessagesMessage>): Refusal | undefined => {
  if (messages.length === 0) return refuse("messages: at least one message is required")
  return first(messages, (message, position) => {
    const { content, role } = message
    const isBegun = position === messages.length - 1 && role === "assistant"
    if (content.length === 0 && !isBegun) {
      return refuse(
        `messages.${position}: all messages must have non-empty content except for the optional final assistant message`
      )
    }
    return checkTexts("messages", content === "" ? [] : blocksOf(message))
  })
}

/** A `thread` is a conversation that the provider keeps. The mock keeps none, so it tells clients to send the whole conversation. */
const checkThread = ({ thread = null }: MessagesRequest): Refusal | undefined =>
  thread === null ? undefined : {
    ...refuse("thread: Threads are not supported for this request. Send the full conversation without `thread`."),
    code: "thread_unsupported_request",
    isRecoverable: true
  }

const checkTools = ({ tools }: MessagesRequest): Refusal | undefined => {
  const names = (tools ?? []).map(({ name }) => name)
  return new Set(names).size < names.length ? refuse("tools: Tool names must be unique.") : undefined
}

const checkChoice = ({ tool_choice: choice, tools }: MessagesRequest): Refusal | undefined => {
  if (choice === undefined || choice === null) return undefined
  const offered = tools ?? []
  if (offered.length === 0) return refuse("tool_choice may only be specified while providing tools.")
  return choice.type !== "tool" || offered.some((tool) => tool.name === choice.name)
    ? undefined
    : refuse(`Tool '${choice.name}' not found in provided tools`)
}

const limits = "Please consult our documentation at " +
  "https://docs.claude.com/en/docs/build-with-claude/extended-thinking#max-tokens-and-context-window-size"

const checkThinking = ({ max_tokens: limit, thinking, tool_choice: choice }: MessagesRequest): Refusal | undefined => {
  if (thinking?.type !== "enabled") return undefined
  if (thinking.budget_tokens >= limit) {
    return refuse(`\`max_tokens\` must be greater than \`thinking.budget_tokens\`. ${limits}`)
  }
  return choice?.type === "any" || choice?.type === "tool"
    ? refuse("Thinking may not be enabled when tool_choice forces tool use.")
    : undefined
}

const checkFormat = (request: MessagesRequest): Refusal | undefined => {
  const format = outputFormat(request)
  const problem = format === undefined ? undefined : notClosed(format.schema)
  const at = request.output_config?.format ? "output_config.format" : "output_format"
  return problem === undefined ? undefined : refuse(`${at}.schema: ${problem}`)
}

/** Reads a body, or refuses it as Anthropic does. */
export const read = Flaw.reader(
  MessagesRequest,
  refuseFlaw,
  (request) =>
    checkThread(request) ??
      checkMessages(request.messages) ??
      checkTexts("system", request.system) ??
      checkTools(request) ??
      checkChoice(request) ??
      checkThinking(request) ??
      checkFormat(request) ??
      checkTurns(request)
)
