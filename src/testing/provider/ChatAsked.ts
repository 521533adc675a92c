/**
 * What a request for a chat completion asks for.
 *
 * @since 0.1.0
 */
import type * as LanguageModel from "effect/ai/LanguageModel"
import type * as Prompt from "effect/ai/Prompt"
import type * as Tool from "effect/ai/Tool"
import * as Asked from "./Asked.ts"
import { type ChatContent, type ChatMessage, type ChatRequest, type ChatToolCall, nameOf } from "./ChatRequest.ts"
import * as Format from "./Format.ts"

const texts = (content: ChatContent | null | undefined): ReadonlyArray<string> =>
  typeof content === "string"
    ? [content]
    : (content ?? []).flatMap((part) => part.type === "text" ? [part.text] : [])

const wireRoles: Readonly<Record<ChatMessage["role"], Asked.WireMessage["role"]>> = {
  system: "system",
  developer: "system",
  user: "user",
  assistant: "assistant",
  tool: "tool",
  function: "tool"
}

const userParts = (content: ChatContent): ReadonlyArray<Prompt.UserMessagePartEncoded> =>
  typeof content === "string"
    ? [{ type: "text", text: content }]
    : content.flatMap((part): ReadonlyArray<Prompt.UserMessagePartEncoded> => {
      switch (part.type) {
        case "text":
          return [{ type: "text", text: part.text }]
        case "image_url":
          return [Asked.fileOf(part.image_url.url, "image/*")]
        case "input_audio":
          return [{ type: "file", mediaType: `audio/${part.input_audio.format}`, data: part.input_audio.data }]
        case "file": {
          const { file_data: data, file_id: id, filename } = part.file
          if (data !== undefined) return [Asked.fileOf(data, "application/octet-stream", filename)]
          return id === undefined ? [] : [Asked.fileById("openai", id, "application/octet-stream", filename)]
        }
        default:
          return []
      }
    })

const callPart = (call: ChatToolCall): Prompt.ToolCallPartEncoded => ({
  type: "tool-call",
  id: call.id,
  name: nameOf(call),
  params: call.type === "function" ? Asked.resultOf(call.function.arguments) : call.custom.input,
  providerExecuted: false
})

type AssistantMessage = Extract<ChatMessage, { readonly role: "assistant" }>

const assistantParts = (message: AssistantMessage): ReadonlyArray<Prompt.AssistantMessagePartEncoded> => [
  ...(message.reasoning_content ? [{ type: "reasoning" as const, text: message.reasoning_content }] : []),
  ...texts(message.content).filter((text) => text !== "").map((text) => ({ type: "text" as const, text })),
  ...(message.tool_calls ?? []).map(callPart)
]

const resultPart = (id: string, name: string, content: ChatContent): Prompt.ToolResultPartEncoded => ({
  type: "tool-result",
  id,
  name,
  isFailure: false,
  result: Asked.resultOf(texts(content).join("\n"))
})

const promptOf = ({ messages }: ChatRequest): ReadonlyArray<Prompt.MessageEncoded> => {
  const names = new Map<string, string>()
  const encoded: Array<Prompt.MessageEncoded> = []
  let results: Array<Prompt.ToolMessagePartEncoded> | undefined
  const give = (result: Prompt.ToolResultPartEncoded): void => {
    if (results === undefined) encoded.push({ role: "tool", content: results = [] })
    results.push(result)
  }
  for (const message of messages) {
    if (message.role === "tool") {
      const id = message.tool_call_id
      give(resultPart(id, names.get(id) ?? "", message.content))
    } else if (message.role === "function") give(resultPart("", message.name ?? "", message.content))
    else {
      results = undefined
      if (message.role === "user") encoded.push({ role: "user", content: userParts(message.content) })
      else if (message.role === "assistant") {
        for (const call of message.tool_calls ?? []) names.set(call.id, nameOf(call))
        encoded.push({ role: "assistant", content: assistantParts(message) })
      } else encoded.push({ role: "system", content: texts(message.content).join("\n") })
    }
  }
  return encoded
}

const toolsOf = ({ tools }: ChatRequest): ReadonlyArray<Tool.Any> =>
  (tools ?? []).map((tool) =>
    tool.type === "function"
      ? Asked.tool(tool.function.name, tool.function.description, tool.function.parameters)
      : Asked.tool(tool.custom.name, tool.custom.description, undefined)
  )

const choiceOf = ({ tool_choice: choice }: ChatRequest): LanguageModel.ToolChoice<string> => {
  if (choice === undefined || choice === null) return "auto"
  if (typeof choice === "string") return choice
  if (choice.type !== "allowed_tools") return { tool: nameOf(choice) }
  const { mode, tools } = choice.allowed_tools
  return { mode, oneOf: tools.map(nameOf) }
}

const formatOf = ({ response_format: format }: ChatRequest): Format.Format => {
  if (format?.type === "json_object") return Format.json(format.type, undefined)
  return format?.type === "json_schema" ? Format.json(format.json_schema.name, format.json_schema.schema) : Format.text
}

/** Reads what a body asks for. */
export const fromRequest = (body: ChatRequest): Asked.Chat =>
  Asked.make({
    protocol: "openai-chat",
    body,
    model: body.model,
    isStreaming: body.stream === true,
    messages: body.messages.map(({ content, role }) => ({ role: wireRoles[role], texts: texts(content) })),
    toolChoice: choiceOf(body)
  }, {
    prompt: () => promptOf(body),
    tools: () => toolsOf(body),
    responseFormat: () => formatOf(body)
  })
