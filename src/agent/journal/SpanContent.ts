/**
 * What was said, as spans hold it if they are asked to: messages, instructions and tools as JSON by OpenTelemetry's schemas.
 *
 * 1. Input is the conversation as the state has it up to the last answer, so what a guardrail masked or blocked isn't in it.
 * 2. Output is the last answer since a user spoke, with the calls in it.
 * 3. A turn of an assistant whose calls have results is followed by a message of the role `tool` with those.
 *
 * Source of the schemas: OpenTelemetry semantic conventions 1.41, `gen-ai-input-messages.json`, `gen-ai-output-messages.json`,
 * `gen-ai-system-instructions.json` and `gen-ai-tool-definitions.json`.
 *
 * @since 0.1.0
 */
import * as Tool from "effect/ai/Tool"
import * as Base64 from "effect/encoding/Base64"
import * as JsonSchema from "effect/JsonSchema"
import { callsOf } from "../../domain/Conversation.ts"
import type * as Part from "../../domain/Part.ts"
import type { Assistant, AssistantPart, Call, Conversation, Turn } from "../../domain/StateSchema.ts"
import type { ModelRequest } from "./ModelRequest.ts"

type Json = Readonly<Record<string, unknown>>

const text = (content: string): Json => ({ type: "text", content })

/** Splits the data of a URL from what stands before it. */
const ofDataUrl = (url: string): string => url.slice(url.indexOf(",") + 1)

const filePart = ({ data, fileName, mediaType }: Part.File): Json => {
  const modality = /^(image|video|audio)\//.exec(mediaType)?.[1] ?? "document"
  const about = { modality, mime_type: mediaType, ...(fileName === undefined ? undefined : { file_name: fileName }) }
  if (typeof data === "object" && !(data instanceof URL)) {
    return { type: "blob", ...about, content: Base64.encode(data) }
  }
  const given = String(data)
  if (given.startsWith("data:")) return { type: "blob", ...about, content: ofDataUrl(given) }
  return data instanceof URL ? { type: "uri", ...about, uri: given } : { type: "blob", ...about, content: given }
}

const callPart = ({ id, name, params, providerExecuted }: Call): Json =>
  providerExecuted === true
    ? { type: "server_tool_call", id, name, server_tool_call: { type: name, arguments: params } }
    : { type: "tool_call", id, name, arguments: params }

const resultOf = ({ state }: Call): unknown => state._tag === "Settled" ? state.result ?? null : undefined

const parts = (part: AssistantPart): ReadonlyArray<Json> => {
  switch (part._tag) {
    case "Text":
      return [text(part.text)]
    case "Reasoning":
      return part.text === "" ? [] : [{ type: "reasoning", content: part.text }]
    case "File":
      return [filePart(part)]
    case "Source":
      return []
    case "Call": {
      const result = part.providerExecuted === true ? resultOf(part) : undefined
      const { id, name } = part
      return result === undefined
        ? [callPart(part)]
        : [callPart(part), {
          type: "server_tool_call_response",
          id,
          server_tool_call_response: { type: name, response: result }
        }]
    }
  }
}

const answer = ({ agent, parts: all }: Assistant): Json => ({
  role: "assistant",
  parts: all.flatMap(parts),
  name: agent
})

/** The message with the results of calls that a turn has, if there are any. */
const results = (turn: Assistant): ReadonlyArray<Json> => {
  const responses = callsOf(turn).flatMap((call) => {
    const response = call.providerExecuted === true ? undefined : resultOf(call)
    return response === undefined ? [] : [{ type: "tool_call_response", id: call.id, response }]
  })
  return responses.length === 0 ? [] : [{ role: "tool", parts: responses }]
}

const messages = (turn: Turn): ReadonlyArray<Json> => {
  switch (turn._tag) {
    case "User":
      return [{
        role: "user",
        parts: turn.parts.map((part) => part._tag === "Text" ? text(part.text) : filePart(part))
      }]
    case "Assistant":
      return [answer(turn), ...results(turn)]
    case "Summary":
    case "Feedback":
      return [{ role: "user", parts: [text(turn.text)] }]
  }
}

const reasons: Readonly<Record<string, string>> = { "content-filter": "content_filter", "tool-calls": "tool_call" }

/** Gives what a model was sent of a conversation, and what it answered. */
export const messagesOf = (
  { turns }: Conversation
): { readonly input: string; readonly output: string | undefined } => {
  const at = turns.findLastIndex(({ _tag }) => _tag === "Assistant" || _tag === "User")
  const last = turns[at]
  return last?._tag === "Assistant"
    ? {
      input: JSON.stringify(turns.slice(0, at).flatMap(messages)),
      output: JSON.stringify([{ ...answer(last), finish_reason: reasons[last.finishReason] ?? last.finishReason }])
    }
    : { input: JSON.stringify(turns.flatMap(messages)), output: undefined }
}

/** Gives the instructions that a request had beside the conversation, and its tools. */
export const offeredIn = ({ sent }: ModelRequest): {
  readonly instructions: string | undefined
  readonly tools: string | undefined
} => {
  const system = sent?.prompt.content.filter(({ role }) => role === "system") ?? []
  const tools = Object.values(sent?.toolkit.tools ?? {})
  return {
    instructions: system.length === 0 ? undefined : JSON.stringify(system.map(({ content }) => text(String(content)))),
    tools: tools.length === 0 ? undefined : JSON.stringify(tools.map(definition))
  }
}

const definition = (tool: Tool.Any): Json =>
  Tool.isProviderDefined(tool)
    ? { type: tool.id, name: tool.name }
    : {
      type: "function",
      name: tool.name,
      ...(tool.description === undefined ? undefined : { description: tool.description }),
      parameters: parametersOf(tool)
    }

/** The conventions want the draft that OpenAPI and most viewers read. */
const parametersOf = (tool: Tool.Any): Json => {
  const { definitions, schema } = JsonSchema.toDocumentDraft07(
    JsonSchema.fromSchemaDraft2020_12(Tool.getJsonSchema(tool))
  )
  return Object.keys(definitions).length === 0 ? schema : { ...schema, definitions }
}
