/** The schemas of OpenTelemetry's conventions for what was said, as far as they ask for something. */
import { Schema } from "effect"

const part = <const Type extends string, const Fields extends Schema.Struct.Fields>(type: Type, fields: Fields) =>
  Schema.Struct({ type: Schema.Literal(type), ...fields })

const data = { modality: Schema.String, mime_type: Schema.optionalKey(Schema.String) }
const id = Schema.optionalKey(Schema.String)

const Part = Schema.Union([
  part("text", { content: Schema.String }),
  part("reasoning", { content: Schema.String }),
  part("tool_call", { id, name: Schema.String, arguments: Schema.optionalKey(Schema.Unknown) }),
  part("tool_call_response", { id, response: Schema.Json }),
  part("server_tool_call", { id, name: Schema.String, server_tool_call: Schema.Struct({ type: Schema.String }) }),
  part("server_tool_call_response", { id, server_tool_call_response: Schema.Struct({ type: Schema.String }) }),
  part("blob", { ...data, content: Schema.String }),
  part("uri", { ...data, uri: Schema.String })
])

const message = {
  role: Schema.Literals(["system", "user", "assistant", "tool"]),
  parts: Schema.Array(Part),
  name: Schema.optionalKey(Schema.String)
}

export const InputMessages = Schema.Array(Schema.Struct(message))
export const OutputMessages = Schema.Array(Schema.Struct({
  ...message,
  finish_reason: Schema.Literals(["stop", "length", "content_filter", "tool_call", "error"])
}))
export const SystemInstructions = Schema.Array(Part)
export const ToolDefinitions = Schema.Array(Schema.Struct({
  type: Schema.String,
  name: Schema.String,
  description: Schema.optionalKey(Schema.String),
  parameters: Schema.optionalKey(Schema.Record(Schema.String, Schema.Json))
}))
