/**
 * What a request for a message asks for.
 *
 * @since 0.1.0
 */
import type * as LanguageModel from "effect/ai/LanguageModel"
import type * as Prompt from "effect/ai/Prompt"
import type * as Tool from "effect/ai/Tool"
import * as Predicate from "effect/Predicate"
import * as Asked from "./Asked.ts"
import * as Format from "./Format.ts"
import {
  blocksOf,
  isResult,
  type MessagesBlock,
  type MessagesRequest,
  type MessagesResult,
  type MessagesSource,
  outputFormat
} from "./MessagesRequest.ts"

/** Texts of blocks, in order. */
const texts = (content: string | ReadonlyArray<{ readonly type: string }> | null | undefined): ReadonlyArray<string> =>
  typeof content === "string"
    ? [content]
    : (content ?? []).flatMap((block) =>
      block.type === "text" && "text" in block && typeof block.text === "string" ? [block.text] : []
    )

/** Blocks of a message that are of one role: results of tools are a tool's, though the user's message brings them. */
interface Run {
  readonly role: Asked.WireMessage["role"]
  readonly blocks: Array<MessagesBlock>
}

const runsOf = ({ messages }: MessagesRequest): ReadonlyArray<Run> =>
  messages.flatMap((message) => {
    const { role } = message
    const runs: Array<Run> = []
    for (const block of blocksOf(message)) {
      const spoken = isResult(block) ? "tool" : role
      const last = runs.at(-1)
      if (last?.role === spoken) last.blocks.push(block)
      else runs.push({ role: spoken, blocks: [block] })
    }
    return runs.length === 0 ? [{ role, blocks: [] }] : runs
  })

const sourcePart = (
  source: MessagesSource,
  mediaType: string,
  title?: string | null
): ReadonlyArray<Prompt.UserMessagePartEncoded> => {
  const named = typeof title === "string" ? { fileName: title } : undefined
  switch (source.type) {
    case "base64":
      return [{ type: "file", mediaType: source.media_type, data: source.data, ...named }]
    case "url":
      return [Asked.fileOf(source.url, mediaType, title)]
    case "text":
      return [{ type: "text", text: source.data }]
    case "content":
      return texts(source.content).map((text) => ({ type: "text", text }))
    case "file":
      return [Asked.fileById("anthropic", source.file_id, mediaType, title)]
  }
}

const userPart = (block: MessagesBlock): ReadonlyArray<Prompt.UserMessagePartEncoded> => {
  switch (block.type) {
    case "text":
      return [{ type: "text", text: block.text }]
    case "image":
      return sourcePart(block.source, "image/*")
    case "document":
      return sourcePart(block.source, "application/pdf", block.title)
    case "container_upload":
      return block.file_id === undefined ? [] : [Asked.fileById("anthropic", block.file_id, "application/octet-stream")]
    default:
      return []
  }
}

type Names = ReadonlyMap<string, string>

const assistantPart = (block: MessagesBlock, names: Names): ReadonlyArray<Prompt.AssistantMessagePartEncoded> => {
  switch (block.type) {
    case "text":
      return block.text === "" ? [] : [{ type: "text", text: block.text }]
    case "thinking": {
      const info = { type: "thinking", signature: block.signature }
      return [{ type: "reasoning", text: block.thinking, options: { anthropic: { info } } }]
    }
    case "redacted_thinking": {
      const info = { type: "redacted_thinking", redactedData: block.data }
      return [{ type: "reasoning", text: "", options: { anthropic: { info } } }]
    }
    case "tool_use":
    case "server_tool_use": {
      const { id, input, name, type } = block
      return [{ type: "tool-call", id, name, params: input, providerExecuted: type === "server_tool_use" }]
    }
    default: {
      if (!("tool_use_id" in block)) return []
      const { content: result = null, tool_use_id: id } = block
      const isFailure = Predicate.hasProperty(result, "type") && String(result.type).endsWith("_error")
      return [{ type: "tool-result", id, name: names.get(id) ?? "", isFailure, result, providerExecuted: true }]
    }
  }
}

const resultPart = (block: MessagesResult, names: Names): Prompt.ToolResultPartEncoded => ({
  type: "tool-result",
  id: block.tool_use_id,
  name: names.get(block.tool_use_id) ?? "",
  isFailure: block.is_error === true,
  result: Asked.resultOf(texts(block.content).join("\n"))
})

const promptOf = (system: ReadonlyArray<string>, runs: ReadonlyArray<Run>): ReadonlyArray<Prompt.MessageEncoded> => {
  const names = new Map(
    runs.flatMap(({ blocks }) =>
      blocks.flatMap((block) =>
        block.type === "tool_use" || block.type === "server_tool_use" ? [[block.id, block.name] as const] : []
      )
    )
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
        return { role, content: blocks.filter(isResult).map((block) => resultPart(block, names)) }
    }
  })
  return system.length === 0 ? messages : [{ role: "system", content: system.join("\n") }, ...messages]
}

const toolsOf = ({ tools }: MessagesRequest): ReadonlyArray<Tool.Any> =>
  (tools ?? []).map((tool) =>
    "input_schema" in tool
      ? Asked.tool(tool.name, tool.description, tool.input_schema)
      : Asked.ownTool("anthropic", tool.type, tool.name)
  )

const choiceOf = ({ tool_choice: choice }: MessagesRequest): LanguageModel.ToolChoice<string> => {
  if (choice === undefined || choice === null) return "auto"
  if (choice.type === "tool") return { tool: choice.name }
  return choice.type === "any" ? "required" : choice.type
}

const formatOf = (body: MessagesRequest): Format.Format => {
  const format = outputFormat(body)
  if (format === undefined) return Format.text
  const { title } = format.schema
  return Format.json(typeof title === "string" ? title : "output", format.schema)
}

/** Reads what a body asks for. */
export const fromRequest = (body: MessagesRequest): Asked.Messages => {
  const runs = runsOf(body)
  const system = texts(body.system)
  return Asked.make({
    protocol: "anthropic-messages",
    body,
    model: body.model,
    isStreaming: body.stream === true,
    instructions: system.join("\n"),
    messages: runs.map(({ blocks, role }) => ({
      role,
      texts: blocks.flatMap((block) => texts(isResult(block) ? block.content : [block]))
    })),
    toolChoice: choiceOf(body)
  }, {
    prompt: () => promptOf(system, runs),
    tools: () => toolsOf(body),
    responseFormat: () => formatOf(body)
  })
}
