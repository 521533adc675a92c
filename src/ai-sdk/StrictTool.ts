/**
 * Tools with `Tool.Strict`, whose schema the provider must follow strictly: the schema in the provider's form, and parameters converted
 * back to the tool's own form.
 *
 * @since 0.1.0
 */
import type * as LanguageModel from "effect/ai/LanguageModel"
import * as Tool from "effect/ai/Tool"
import * as Exit from "effect/Exit"
import type * as JsonSchema from "effect/JsonSchema"
import * as Schema from "effect/Schema"

const isStrict = (tool: Tool.Any): boolean =>
  Tool.getStrictMode(tool) === true && !(Tool.isDynamic(tool) && tool.jsonSchema !== undefined)

/** Returns the schema of a tool's parameters. Throws if a strict tool's schema has no form for the provider. */
export const schemaOf = (tool: Tool.Any, transformer: LanguageModel.CodecTransformer): JsonSchema.JsonSchema =>
  isStrict(tool) ? Tool.getJsonSchema(tool, { transformer }) : Tool.getJsonSchema(tool)

/** Returns parameters in the tool's own form. Parameters that don't fit stay as they are, and the later check says why. */
export const paramsOf = (
  tool: Tool.Any | undefined,
  transformer: LanguageModel.CodecTransformer,
  params: unknown
): unknown => {
  if (tool === undefined || !isStrict(tool)) return params
  // Schemas of parameters are codecs that need no services here.
  const schema = tool.parametersSchema as Schema.Codec<unknown, unknown>
  const codec = transformer(schema).codec as Schema.Codec<unknown, unknown>
  const value = Schema.decodeUnknownExit(codec)(params)
  const encoded = Exit.isSuccess(value) ? Schema.encodeUnknownExit(schema)(value.value) : value
  return Exit.isSuccess(encoded) ? encoded.value : params
}
