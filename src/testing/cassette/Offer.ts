/**
 * The tools that a request offers its model, and the form of the answer that it asks for, as a provider gets them.
 *
 * @since 0.1.0
 */
import type * as LanguageModel from "effect/ai/LanguageModel"
import * as Tool from "effect/ai/Tool"
import * as Schema from "effect/Schema"
import * as JsonValue from "../../domain/JsonValue.ts"
import * as Redact from "./Redact.ts"

/** A tool as a provider gets it: `args` are those of a tool of the provider's own. */
export const ToolOffer = Schema.Struct({
  name: Schema.String,
  description: Schema.optionalKey(Schema.String),
  parameters: Schema.optionalKey(Schema.Json),
  args: Schema.optionalKey(Schema.Json)
})

/** A tool as a provider gets it. */
export interface ToolOffer extends Schema.Schema.Type<typeof ToolOffer> {}

/** The requested form of an answer: text, or an object that fits a schema. */
export const Format = Schema.Union([
  Schema.Literal("text"),
  Schema.Struct({ object: Schema.String, schema: Schema.Json })
])

/** The requested form of an answer. */
export type Format = typeof Format.Type

const known = new WeakMap<object, Schema.Json>()

/** Returns the JSON schema of something, made once. */
const jsonSchemaOf = (self: object, make: () => unknown, change: Redact.Change): Schema.Json => {
  const json = known.get(self) ?? JsonValue.fromUnknown(make())
  known.set(self, json)
  return Redact.everyText(json, change)
}

/** Returns a tool as a provider sees it. */
export const ofTool = (tool: Tool.Any, change: Redact.Change): ToolOffer => {
  const { name } = tool
  if (Tool.isProviderDefined(tool)) {
    return { name, args: Redact.everyText(JsonValue.fromUnknown(tool.args), change) }
  }
  const description = Tool.getDescription(tool)
  return {
    name,
    ...(description === undefined ? undefined : { description: change(description) }),
    parameters: jsonSchemaOf(tool, () => Tool.getJsonSchema(tool), change)
  }
}

/** Returns the requested form of the answer as a provider sees it. */
export const ofFormat = (format: LanguageModel.ProviderOptions["responseFormat"], change: Redact.Change): Format => {
  if (format.type === "text") return "text"
  const { objectName, schema } = format
  return { object: objectName, schema: jsonSchemaOf(schema, () => Tool.getJsonSchemaFromSchema(schema), change) }
}
