/**
 * Tools whose parameters the provider is to keep to strictly, by `Tool.Strict`: their schema in the form that it takes, and
 * parameters in that form as the tool has them.
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

/** Gives the schema of a tool's parameters. Throws where one that is to be kept strictly has no such form. */
export const schemaOf = (tool: Tool.Any, transformer: LanguageModel.CodecTransformer): JsonSchema.JsonSchema =>
  isStrict(tool) ? Tool.getJsonSchema(tool, { transformer }) : Tool.getJsonSchema(tool)

/** Gives parameters as a tool has them. What doesn't fit stays as it is: the check behind says why. */
export const paramsOf = (
  tool: Tool.Any | undefined,
  transformer: LanguageModel.CodecTransformer,
  params: unknown
): unknown => {
  if (tool === undefined || !isStrict(tool)) return params
  const schema = tool.parametersSchema as Schema.Codec<unknown, unknown>
  const codec = transformer(schema).codec as Schema.Codec<unknown, unknown>
  const value = Schema.decodeUnknownExit(codec)(params)
  const encoded = Exit.isSuccess(value) ? Schema.encodeUnknownExit(schema)(value.value) : value
  return Exit.isSuccess(encoded) ? encoded.value : params
}
