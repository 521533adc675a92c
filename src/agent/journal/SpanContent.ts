/**
 * The content of spans, if it is recorded: messages, instructions and tools as JSON by OpenTelemetry's schemas.
 *
 * 1. The input of a run is the state's conversation up to the last answer, so masked and blocked text isn't in it. The input of a request
 *    is what was sent.
 * 2. The output is the last answer since a user spoke, with its calls.
 * 3. After an assistant turn whose calls have results comes a message of the role `tool` with the results.
 *
 * Source of the schemas: OpenTelemetry semantic conventions 1.41, `gen-ai-input-messages.json`, `gen-ai-output-messages.json`,
 * `gen-ai-system-instructions.json` and `gen-ai-tool-definitions.json`.
 *
 * @since 0.1.0
 */
import type * as Prompt from "effect/ai/Prompt"
import * as Tool from "effect/ai/Tool"
import * as Base64 from "effect/encoding/Base64"
import * as JsonSchema from "effect/JsonSchema"
import { callsOf } from "../../domain/conversation/Turns.ts"
import type { Assistant, AssistantPart, Call, Conversation, Turn } from "../../domain/StateSchema.ts"
import type { SentContent } from "./ModelRequest.ts"

type Json = Readonly<Record<string, unknown>>

const text = (content: string): Json => ({ type: "text", content })

/** Returns the data of a data URL, without its header. */
const ofDataUrl = (url: string): string => url.slice(url.indexOf(",") + 1)

const filePart = ({ data, fileName, mediaType }: Pick<Prompt.FilePart, "data" | "fileName" | "mediaType">): Json => {
  const modality = /^(image|video|audio)\//.exec(mediaType)?.[1] ?? "document"
  const about = { modality, mime_type: mediaType, ...(fileName === undefined ? undefined : { file_name: fileName }) }
  if (typeof data === "object" && !(data instanceof URL)) {
    return { type: "blob", ...about, content: Base64.encode(data) }
  }
  const given = String(data)
  if (given.startsWith("data:")) return { type: "blob", ...about, content: ofDataUrl(given) }
  return data instanceof URL ? { type: "uri", ...about, uri: given } : { type: "blob", ...about, content: given }
}

const callPart = (
  { id, name, params, providerExecuted }: Pick<Prompt.ToolCallPart, "id" | "name" | "params"> & {
    readonly providerExecuted?: boolean
  }
): Json =>
  providerExecuted === true
    ? { type: "server_tool_call", id, name, server_tool_call: { type: name, arguments: params } }
    : { type: "tool_call", id, name, arguments: params }

const resultOf = ({ state }: Call): unknown => state._tag === "Settled" ? state.result ?? null : undefined

const theirResult = (id: string, name: string, response: unknown): Json => ({
  type: "server_tool_call_response",
  id,
  server_tool_call_response: { type: name, response }
})

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
        : [callPart(part), theirResult(id, name, result)]
    }
  }
}

const answer = ({ agent, parts: all }: Assistant): Json => ({
  role: "assistant",
  parts: all.flatMap(parts),
  name: agent
})

/** Returns the message with the results of a turn's calls, if there are any. */
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

/** The content, by the names of the attributes that hold it. */
export interface Content {
  readonly "gen_ai.input.messages"?: string
  readonly "gen_ai.output.messages"?: string | undefined
  readonly "gen_ai.system_instructions"?: string | undefined
  readonly "gen_ai.tool.definitions"?: string | undefined
}

/** Returns the answer in a turn, or `undefined` if the turn isn't an assistant's. */
export const outputOf = (turn: Turn | undefined): string | undefined =>
  turn?._tag === "Assistant"
    ? JSON.stringify([{ ...answer(turn), finish_reason: reasons[turn.finishReason] ?? turn.finishReason }])
    : undefined

/** Returns what a model was sent of a conversation, and its answer. */
export const messagesOf = ({ turns }: Conversation): Content => {
  const at = turns.findLastIndex(({ _tag }) => _tag === "Assistant" || _tag === "User")
  const output = outputOf(turns[at])
  return {
    "gen_ai.input.messages": JSON.stringify((output === undefined ? turns : turns.slice(0, at)).flatMap(messages)),
    "gen_ai.output.messages": output
  }
}

/** Returns the instructions and the tools of a request. */
export const offeredIn = ({ prompt, tools }: SentContent): Content => {
  const system = prompt.content.filter(({ role }) => role === "system")
  return {
    "gen_ai.system_instructions": system.length === 0
      ? undefined
      : JSON.stringify(system.map(({ content }) => text(String(content)))),
    "gen_ai.tool.definitions": tools.length === 0 ? undefined : JSON.stringify(tools.map(definition))
  }
}

const sentPart = (part: Prompt.UserMessagePart | Prompt.AssistantMessagePart): ReadonlyArray<Json> => {
  switch (part.type) {
    case "text":
      return [text(part.text)]
    case "reasoning":
      return part.text === "" ? [] : [{ type: "reasoning", content: part.text }]
    case "file":
      return [filePart(part)]
    case "tool-call":
      return [callPart(part)]
    case "tool-result":
      return [theirResult(part.id, part.name, part.result ?? null)]
    case "tool-approval-request":
      return []
  }
}

const sentMessage = (message: Prompt.Message): ReadonlyArray<Json> => {
  switch (message.role) {
    case "system":
      return []
    case "user":
    case "assistant":
      return [{ role: message.role, parts: message.content.flatMap(sentPart) }]
    case "tool": {
      const responses = message.content.flatMap((part) =>
        part.type === "tool-result" ? [{ type: "tool_call_response", id: part.id, response: part.result ?? null }] : []
      )
      return responses.length === 0 ? [] : [{ role: "tool", parts: responses }]
    }
  }
}

/** Returns everything that a request sent. */
export const sentIn = (sent: SentContent): Content => ({
  "gen_ai.input.messages": JSON.stringify(sent.prompt.content.flatMap(sentMessage)),
  ...offeredIn(sent)
})

const definition = (tool: Tool.Any): Json =>
  Tool.isProviderDefined(tool)
    ? { type: tool.id, name: tool.name }
    : {
      type: "function",
      name: tool.name,
      ...(tool.description === undefined ? undefined : { description: tool.description }),
      parameters: parametersOf(tool)
    }

/** The conventions require the draft of JSON Schema that OpenAPI and most viewers read. */
const parametersOf = (tool: Tool.Any): Json => {
  const { definitions, schema } = JsonSchema.toDocumentDraft07(
    JsonSchema.fromSchemaDraft2020_12(Tool.getJsonSchema(tool))
  )
  return Object.keys(definitions).length === 0 ? schema : { ...schema, definitions }
}
