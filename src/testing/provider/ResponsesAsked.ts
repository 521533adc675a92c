/**
 * What a request for a response asks for.
 *
 * @since 0.1.0
 */
import type * as LanguageModel from "effect/ai/LanguageModel"
import * as Prompt from "effect/ai/Prompt"
import * as Tool from "effect/ai/Tool"
import type * as Schema from "effect/Schema"
import type { Asked, WireMessage } from "./Protocol.ts"
import {
  isOutput,
  itemsOf,
  type ResponsesContent,
  type ResponsesItem,
  type ResponsesPart,
  type ResponsesRequest,
  typeOf
} from "./ResponsesRequest.ts"

const texts = (content: ResponsesContent | null | undefined): ReadonlyArray<string> =>
  typeof content === "string"
    ? [content]
    : (content ?? []).flatMap(({ text }) => text === undefined ? [] : [text])

const roleOf = (item: ResponsesItem): WireMessage["role"] => {
  if (isOutput(item)) return "tool"
  if (typeOf(item) !== "message") return "assistant"
  return item.role === "developer" ? "system" : item.role ?? "user"
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

const fileOf = (url: string, mediaType: string, fileName?: string): Prompt.FilePartEncoded => {
  const data = dataUrl.exec(url)
  const named = fileName === undefined ? undefined : { fileName }
  return data === null
    ? { type: "file", mediaType, data: URL.canParse(url) ? new URL(url) : url, ...named }
    : { type: "file", mediaType: data[1]!, data: data[2]!, ...named }
}

const userPart = (part: ResponsesPart): ReadonlyArray<Prompt.UserMessagePartEncoded> => {
  if (part.text !== undefined) return [{ type: "text", text: part.text }]
  if (typeof part.image_url === "string") return [fileOf(part.image_url, "image/*")]
  const file = part.file_data ?? part.file_url
  return file === undefined ? [] : [fileOf(file, "application/pdf", part.filename)]
}

const assistantParts = (item: ResponsesItem): ReadonlyArray<Prompt.AssistantMessagePartEncoded> => {
  switch (typeOf(item)) {
    case "message":
      return texts(item.content).filter((text) => text !== "").map((text) => ({ type: "text", text }))
    case "reasoning": {
      const own = { itemId: item.id ?? null, encryptedContent: item.encrypted_content ?? null }
      const text = (item.summary ?? []).map(({ text }) => text).join("\n\n")
      return [{ type: "reasoning", text, options: { openai: own } }]
    }
    case "function_call":
      return [{
        type: "tool-call",
        id: item.call_id ?? "",
        name: item.name ?? "",
        params: parse(item.arguments ?? "{}"),
        providerExecuted: false
      }]
    default:
      return []
  }
}

const promptOf = ({ instructions }: ResponsesRequest, items: ReadonlyArray<ResponsesItem>): Prompt.Prompt => {
  const names = new Map(items.flatMap(({ call_id: id, name }) => id && name ? [[id, name] as const] : []))
  const encoded: Array<Prompt.MessageEncoded> = instructions ? [{ role: "system", content: instructions }] : []
  let said: Array<Prompt.AssistantMessagePartEncoded> | undefined
  let results: Array<Prompt.ToolMessagePartEncoded> | undefined
  for (const item of items) {
    const role = roleOf(item)
    if (role !== "assistant") said = undefined
    if (role !== "tool") results = undefined
    if (role === "system") encoded.push({ role, content: texts(item.content).join("\n") })
    if (role === "user") {
      const { content } = item
      encoded.push({
        role,
        content: typeof content === "string" ? [{ type: "text", text: content }] : (content ?? []).flatMap(userPart)
      })
    }
    if (role === "assistant") {
      if (said === undefined) encoded.push({ role, content: said = [] })
      said.push(...assistantParts(item))
    }
    if (role === "tool") {
      if (results === undefined) encoded.push({ role, content: results = [] })
      const id = item.call_id ?? ""
      const result = parse(texts(item.output).join("\n"))
      results.push({ type: "tool-result", id, name: names.get(id) ?? "", isFailure: false, result })
    }
  }
  return Prompt.make(encoded)
}

const anyParameters = { type: "object", properties: {} } as const

const toolsOf = ({ tools }: ResponsesRequest): ReadonlyArray<Tool.Any> =>
  (tools ?? []).flatMap(({ description, name, parameters, type }) =>
    type === "function" && name !== undefined
      ? [Tool.dynamic(name, {
        parameters: parameters ?? anyParameters,
        ...(typeof description === "string" ? { description } : undefined)
      })]
      : []
  )

const choiceOf = ({ tool_choice: choice }: ResponsesRequest): LanguageModel.ToolChoice<string> => {
  if (choice === undefined || choice === null) return "auto"
  if (typeof choice === "string") return choice
  if ("mode" in choice) return { mode: choice.mode, oneOf: choice.tools.map(({ name }) => name) }
  return choice.type === "function" ? { tool: choice.name } : "auto"
}

/** Reads what a valid body asks for. The prompt and the tools are made where they are looked at. */
export const fromRequest = (request: ResponsesRequest): Asked => {
  const items = itemsOf(request)
  const messages = items.map((item): WireMessage => ({
    role: roleOf(item),
    texts: isOutput(item) ? texts(item.output) : typeOf(item) === "message" ? texts(item.content) : []
  }))
  let prompt: Prompt.Prompt | undefined
  let tools: ReadonlyArray<Tool.Any> | undefined
  return {
    protocol: "openai-responses",
    body: request as unknown as Schema.Json,
    model: request.model,
    isStreaming: request.stream === true,
    includesUsage: true,
    system: [
      ...(request.instructions ? [request.instructions] : []),
      ...messages.flatMap(({ role, texts }) => role === "system" ? [texts.join("\n")] : [])
    ].join("\n\n"),
    messages,
    get prompt() {
      return prompt ??= promptOf(request, items)
    },
    get tools() {
      return tools ??= toolsOf(request)
    },
    toolChoice: choiceOf(request)
  }
}
