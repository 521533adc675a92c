/**
 * What a request for a chat completion asks for.
 *
 * @since 0.1.0
 */
import type * as LanguageModel from "effect/ai/LanguageModel"
import * as Prompt from "effect/ai/Prompt"
import * as Tool from "effect/ai/Tool"
import type * as Schema from "effect/Schema"
import type { ChatContent, ChatMessage, ChatRequest, ChatToolCall } from "./ChatRequest.ts"
import type { Asked, WireMessage } from "./Protocol.ts"

const texts = (content: ChatContent | undefined): ReadonlyArray<string> =>
  typeof content === "string"
    ? [content]
    : (content ?? []).flatMap(({ text, type }) => type === "text" && text !== undefined ? [text] : [])

const wireRoles: Readonly<Record<ChatMessage["role"], WireMessage["role"]>> = {
  system: "system",
  developer: "system",
  user: "user",
  assistant: "assistant",
  tool: "tool",
  function: "tool"
}

/** What is JSON is read as that, as clients send the results of tools. */
const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

const dataUrl = /^data:([^;,]+)[^,]*,(.*)$/s

const fileOf = (url: string, mediaType: string): Prompt.FilePartEncoded => {
  const data = dataUrl.exec(url)
  return data === null
    ? { type: "file", mediaType, data: URL.canParse(url) ? new URL(url) : url }
    : { type: "file", mediaType: data[1]!, data: data[2]! }
}

const userParts = (content: ChatContent | undefined): ReadonlyArray<Prompt.UserMessagePartEncoded> =>
  typeof content === "string"
    ? [{ type: "text", text: content }]
    : (content ?? []).flatMap((part): ReadonlyArray<Prompt.UserMessagePartEncoded> => {
      if (part.text !== undefined) return [{ type: "text", text: part.text }]
      if (part.image_url !== undefined) return [fileOf(part.image_url.url, "image/*")]
      if (part.input_audio !== undefined) {
        return [{ type: "file", mediaType: `audio/${part.input_audio.format}`, data: part.input_audio.data }]
      }
      if (part.file?.file_data !== undefined) return [fileOf(part.file.file_data, "application/octet-stream")]
      return []
    })

const callPart = ({ function: called, id }: ChatToolCall): Prompt.ToolCallPartEncoded => ({
  type: "tool-call",
  id,
  name: called.name,
  params: parse(called.arguments),
  providerExecuted: false
})

const assistantParts = (message: ChatMessage): ReadonlyArray<Prompt.AssistantMessagePartEncoded> => [
  ...(message.reasoning_content ? [{ type: "reasoning" as const, text: message.reasoning_content }] : []),
  ...texts(message.content).filter((text) => text !== "").map((text) => ({ type: "text" as const, text })),
  ...(message.tool_calls ?? []).map(callPart)
]

const promptOf = (messages: ReadonlyArray<ChatMessage>): Prompt.Prompt => {
  const names = new Map(
    messages.flatMap((message) => (message.tool_calls ?? []).map(({ function: { name }, id }) => [id, name] as const))
  )
  const encoded: Array<Prompt.MessageEncoded> = []
  let results: Array<Prompt.ToolMessagePartEncoded> | undefined
  for (const message of messages) {
    const role = wireRoles[message.role]
    if (role !== "tool") results = undefined
    if (role === "system") encoded.push({ role, content: texts(message.content).join("\n") })
    if (role === "user") encoded.push({ role, content: userParts(message.content) })
    if (role === "assistant") encoded.push({ role, content: assistantParts(message) })
    if (role === "tool") {
      if (results === undefined) encoded.push({ role, content: results = [] })
      const id = message.tool_call_id ?? ""
      const name = names.get(id) ?? message.name ?? ""
      results.push({
        type: "tool-result",
        id,
        name,
        isFailure: false,
        result: parse(texts(message.content).join("\n"))
      })
    }
  }
  return Prompt.make(encoded)
}

const anyParameters = { type: "object", properties: {} } as const

const toolsOf = ({ tools }: ChatRequest): ReadonlyArray<Tool.Any> =>
  (tools ?? []).flatMap(({ function: { description, name, parameters } = {} as never, type }) =>
    type === "function"
      ? [Tool.dynamic(name, {
        parameters: parameters ?? anyParameters,
        ...(description === undefined ? undefined : { description })
      })]
      : []
  )

const choiceOf = ({ tool_choice: choice }: ChatRequest): LanguageModel.ToolChoice<string> => {
  if (choice === undefined || choice === null) return "auto"
  if (typeof choice === "string") return choice
  if (choice.type === "function") return { tool: choice.function.name }
  const { mode, tools } = choice.allowed_tools
  return { mode, oneOf: tools.map(({ function: { name } }) => name) }
}

/** Reads what a valid body asks for. The prompt and the tools are made where they are looked at. */
export const fromRequest = (request: ChatRequest): Asked => {
  const messages = request.messages.map(({ content, role }): WireMessage => ({
    role: wireRoles[role],
    texts: texts(content)
  }))
  let prompt: Prompt.Prompt | undefined
  let tools: ReadonlyArray<Tool.Any> | undefined
  return {
    protocol: "openai-chat",
    body: request as unknown as Schema.Json,
    model: request.model,
    isStreaming: request.stream === true,
    includesUsage: request.stream_options?.include_usage === true,
    system: messages.flatMap(({ role, texts }) => role === "system" ? [texts.join("\n")] : []).join("\n\n"),
    messages,
    get prompt() {
      return prompt ??= promptOf(request.messages)
    },
    get tools() {
      return tools ??= toolsOf(request)
    },
    toolChoice: choiceOf(request)
  }
}
