/**
 * What a request for a response asks for.
 *
 * @since 0.1.0
 */
import type * as LanguageModel from "effect/ai/LanguageModel"
import type * as Prompt from "effect/ai/Prompt"
import type * as Tool from "effect/ai/Tool"
import * as Asked from "./Asked.ts"
import * as Format from "./Format.ts"
import {
  isMessage,
  isNamed,
  isOutput,
  itemsOf,
  type ResponsesContent,
  type ResponsesItem,
  type ResponsesRequest
} from "./ResponsesRequest.ts"

const texts = (content: ResponsesContent): ReadonlyArray<string> =>
  typeof content === "string" ? [content] : content.flatMap((part) => "text" in part ? [part.text] : [])

const roleOf = (item: ResponsesItem): Asked.WireMessage["role"] => {
  if (isMessage(item)) return item.role === "developer" ? "system" : item.role
  return isOutput(item) ? "tool" : "assistant"
}

const textsOf = (item: ResponsesItem): ReadonlyArray<string> =>
  isMessage(item) ? texts(item.content) : item.type === "function_call_output" ? texts(item.output) : []

const fileOf = (
  url: string | null | undefined,
  id: string | null | undefined,
  mediaType: string,
  fileName?: string | null
): ReadonlyArray<Prompt.FilePartEncoded> => {
  if (typeof url === "string") return [Asked.fileOf(url, mediaType, fileName)]
  return typeof id === "string" ? [Asked.fileById("openai", id, mediaType, fileName)] : []
}

const userParts = (content: ResponsesContent): ReadonlyArray<Prompt.UserMessagePartEncoded> =>
  typeof content === "string"
    ? [{ type: "text", text: content }]
    : content.flatMap((part): ReadonlyArray<Prompt.UserMessagePartEncoded> => {
      switch (part.type) {
        case "input_text":
          return [{ type: "text", text: part.text }]
        case "input_image":
          return fileOf(part.image_url, part.file_id, "image/*")
        case "input_file":
          return fileOf(part.file_data ?? part.file_url, part.file_id, "application/pdf", part.filename)
        default:
          return []
      }
    })

const assistantParts = (item: ResponsesItem): ReadonlyArray<Prompt.AssistantMessagePartEncoded> => {
  if (isMessage(item)) {
    return texts(item.content).filter((text) => text !== "").map((text) => ({ type: "text", text }))
  }
  switch (item.type) {
    case "reasoning": {
      const own = { itemId: item.id, encryptedContent: item.encrypted_content ?? null }
      const text = item.summary.map(({ text }) => text).join("\n\n")
      return [{ type: "reasoning", text, options: { openai: own } }]
    }
    case "function_call": {
      const params = Asked.resultOf(item.arguments)
      return [{ type: "tool-call", id: item.call_id, name: item.name, params, providerExecuted: false }]
    }
    default:
      return []
  }
}

const approvalOf = (
  { approval_request_id: approvalId, approve: approved, reason }: Extract<
    ResponsesItem,
    { readonly type: "mcp_approval_response" }
  >
): Prompt.ToolApprovalResponsePartEncoded => ({
  type: "tool-approval-response",
  approvalId,
  approved,
  ...(typeof reason === "string" ? { reason } : undefined)
})

const resultOf = (item: ResponsesItem, names: ReadonlyMap<string, string>): Prompt.ToolResultPartEncoded => {
  const id = item.type === "function_call_output" ? item.call_id : ""
  const result = Asked.resultOf(textsOf(item).join("\n"))
  return { type: "tool-result", id, name: names.get(id) ?? "", isFailure: false, result }
}

const promptOf = (
  { instructions }: ResponsesRequest,
  items: ReadonlyArray<ResponsesItem>
): ReadonlyArray<Prompt.MessageEncoded> => {
  const names = new Map<string, string>()
  const encoded: Array<Prompt.MessageEncoded> = instructions ? [{ role: "system", content: instructions }] : []
  let said: Array<Prompt.AssistantMessagePartEncoded> | undefined
  let results: Array<Prompt.ToolMessagePartEncoded> | undefined
  for (const item of items) {
    const role = roleOf(item)
    if (role !== "assistant") said = undefined
    if (role !== "tool") results = undefined
    if (role === "system") encoded.push({ role, content: textsOf(item).join("\n") })
    if (role === "user" && isMessage(item)) encoded.push({ role, content: userParts(item.content) })
    if (role === "assistant") {
      if (item.type === "function_call") names.set(item.call_id, item.name)
      if (said === undefined) encoded.push({ role, content: said = [] })
      said.push(...assistantParts(item))
    }
    if (role === "tool") {
      if (results === undefined) encoded.push({ role, content: results = [] })
      results.push(item.type === "mcp_approval_response" ? approvalOf(item) : resultOf(item, names))
    }
  }
  return encoded
}

const toolsOf = ({ tools }: ResponsesRequest): ReadonlyArray<Tool.Any> =>
  (tools ?? []).map((tool) =>
    isNamed(tool)
      ? Asked.tool(tool.name, tool.description, "parameters" in tool ? tool.parameters : undefined)
      : Asked.ownTool("openai", tool.type, tool.type)
  )

const choiceOf = ({ tool_choice: choice }: ResponsesRequest): LanguageModel.ToolChoice<string> => {
  if (choice === undefined || choice === null) return "auto"
  if (typeof choice === "string") return choice
  if ("mode" in choice) return { mode: choice.mode, oneOf: choice.tools.flatMap(({ name }) => name ?? []) }
  return isNamed(choice) ? { tool: choice.name } : "auto"
}

const formatOf = ({ text }: ResponsesRequest): Format.Format => {
  const format = text?.format
  if (format?.type === "json_object") return Format.json(format.type, undefined)
  return format?.type === "json_schema" ? Format.json(format.name, format.schema) : Format.text
}

/** Reads what a body asks for. */
export const fromRequest = (body: ResponsesRequest): Asked.Responses => {
  const items = itemsOf(body)
  return Asked.make({
    protocol: "openai-responses",
    body,
    model: body.model,
    isStreaming: body.stream === true,
    instructions: body.instructions ?? "",
    messages: items.map((item) => ({ role: roleOf(item), texts: textsOf(item) })),
    toolChoice: choiceOf(body)
  }, {
    prompt: () => promptOf(body, items),
    tools: () => toolsOf(body),
    responseFormat: () => formatOf(body)
  })
}
