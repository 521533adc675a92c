/**
 * What a request for a message asks for.
 *
 * @since 0.1.0
 */
import type * as LanguageModel from "effect/ai/LanguageModel"
import * as Prompt from "effect/ai/Prompt"
import * as Tool from "effect/ai/Tool"
import * as Predicate from "effect/Predicate"
import type * as Schema from "effect/Schema"
import {
  blocksOf,
  isResult,
  type MessagesBlock,
  type MessagesContent,
  type MessagesRequest
} from "./MessagesRequest.ts"
import type { Asked, WireMessage } from "./Protocol.ts"

const texts = (blocks: ReadonlyArray<MessagesBlock>): ReadonlyArray<string> =>
  blocks.flatMap(({ text, type }) => type === "text" && text !== undefined ? [text] : [])

const textsOf = (content: MessagesBlock["content"]): ReadonlyArray<string> =>
  typeof content === "string" || Array.isArray(content) ? texts(blocksOf(content as MessagesContent)) : []

/** Blocks of a message that are of one role: results of tools are a tool's, though the user's message brings them. */
interface Run {
  readonly role: WireMessage["role"]
  readonly blocks: Array<MessagesBlock>
}

const runsOf = ({ messages }: MessagesRequest): ReadonlyArray<Run> =>
  messages.flatMap(({ content, role }) => {
    const runs: Array<Run> = []
    for (const block of blocksOf(content)) {
      const spoken = isResult(block) ? "tool" : role
      if (runs.at(-1)?.role !== spoken) runs.push({ role: spoken, blocks: [] })
      runs.at(-1)!.blocks.push(block)
    }
    return runs.length === 0 ? [{ role, blocks: [] }] : runs
  })

/** What is JSON is read as that, as clients send the results of tools. */
const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

const mediaTypes: Readonly<Record<string, string>> = { image: "image/*", document: "application/pdf" }

const userPart = ({ source, text, title, type }: MessagesBlock): ReadonlyArray<Prompt.UserMessagePartEncoded> => {
  if (type === "text") return [{ type: "text", text: text ?? "" }]
  const fallback = mediaTypes[type]
  if (source === undefined || fallback === undefined) return []
  const mediaType = source.media_type ?? fallback
  const named = typeof title === "string" ? { fileName: title } : undefined
  if (source.url !== undefined) {
    const data = URL.canParse(source.url) ? new URL(source.url) : source.url
    return [{ type: "file", mediaType, data, ...named }]
  }
  if (source.type === "text") return [{ type: "text", text: source.data ?? "" }]
  return source.data === undefined
    ? textsOf(source.content).map((text) => ({ type: "text", text }))
    : [{ type: "file", mediaType, data: source.data, ...named }]
}

const assistantPart = (
  block: MessagesBlock,
  names: ReadonlyMap<string, string>
): ReadonlyArray<Prompt.AssistantMessagePartEncoded> => {
  const { id = "", input = {}, name = "", type } = block
  if (type === "text") return block.text ? [{ type: "text", text: block.text }] : []
  if (type === "thinking") {
    const info = { type: "thinking", signature: block.signature ?? "" }
    return [{ type: "reasoning", text: block.thinking ?? "", options: { anthropic: { info } } }]
  }
  if (type === "redacted_thinking") {
    const info = { type: "redacted_thinking", redactedData: block.data ?? "" }
    return [{ type: "reasoning", text: "", options: { anthropic: { info } } }]
  }
  if (type === "tool_use" || type === "server_tool_use") {
    return [{ type: "tool-call", id, name, params: input, providerExecuted: type === "server_tool_use" }]
  }
  if (block.tool_use_id === undefined) return []
  const result = block.content ?? null
  const isFailure = Predicate.hasProperty(result, "type") && String(result.type).endsWith("_error")
  const called = names.get(block.tool_use_id) ?? ""
  return [{ type: "tool-result", id: block.tool_use_id, name: called, isFailure, result, providerExecuted: true }]
}

const promptOf = (system: ReadonlyArray<string>, runs: ReadonlyArray<Run>): Prompt.Prompt => {
  const names = new Map(
    runs.flatMap(({ blocks }) => blocks.flatMap(({ id, name }) => id && name ? [[id, name] as const] : []))
  )
  const messages = runs.map(({ blocks, role }): Prompt.MessageEncoded => {
    switch (role) {
      case "system":
        return { role, content: texts(blocks).join("\n") }
      case "user":
        return { role, content: blocks.flatMap(userPart) }
      case "assistant":
        return { role, content: blocks.flatMap((block) => assistantPart(block, names)) }
      case "tool":
        return {
          role,
          content: blocks.map(({ content, is_error: isFailure = false, tool_use_id: id = "" }) => ({
            type: "tool-result",
            id,
            name: names.get(id) ?? "",
            isFailure,
            result: parse(textsOf(content).join("\n"))
          }))
        }
    }
  })
  return Prompt.make([
    ...(system.length === 0 ? [] : [{ role: "system" as const, content: system.join("\n") }]),
    ...messages
  ])
}

const anyInput = { type: "object", properties: {} } as const

const toolsOf = ({ tools }: MessagesRequest): ReadonlyArray<Tool.Any> =>
  (tools ?? []).flatMap(({ description, input_schema: parameters, name, type }) =>
    (type ?? "custom") === "custom"
      ? [Tool.dynamic(name, {
        parameters: parameters ?? anyInput,
        ...(description === undefined ? undefined : { description })
      })]
      : []
  )

const choiceOf = ({ tool_choice: choice }: MessagesRequest): LanguageModel.ToolChoice<string> => {
  if (choice === undefined || choice === null) return "auto"
  if (choice.type === "tool") return { tool: choice.name }
  return choice.type === "any" ? "required" : choice.type
}

/** Reads what a valid body asks for. The prompt and the tools are made where they are looked at. */
export const fromRequest = (request: MessagesRequest): Asked => {
  const runs = runsOf(request)
  const messages = runs.map(({ blocks, role }): WireMessage => ({
    role,
    texts: blocks.flatMap((block) => isResult(block) ? textsOf(block.content) : texts([block]))
  }))
  const system = textsOf(request.system)
  let prompt: Prompt.Prompt | undefined
  let tools: ReadonlyArray<Tool.Any> | undefined
  return {
    protocol: "anthropic-messages",
    body: request as unknown as Schema.Json,
    model: request.model,
    isStreaming: request.stream === true,
    includesUsage: true,
    system: [
      ...(system.length === 0 ? [] : [system.join("\n")]),
      ...messages.flatMap(({ role, texts }) => role === "system" ? [texts.join("\n")] : [])
    ].join("\n\n"),
    messages,
    get prompt() {
      return prompt ??= promptOf(system, runs)
    },
    get tools() {
      return tools ??= toolsOf(request)
    },
    toolChoice: choiceOf(request)
  }
}
