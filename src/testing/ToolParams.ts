/**
 * Values made up from schemas, as a model writes them: in JSON.
 *
 * @since 0.1.0
 */
import * as Tool from "effect/ai/Tool"
import * as Arbitrary from "effect/Arbitrary"
import * as Cause from "effect/Cause"
import type * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as JsonSchema from "effect/JsonSchema"
import * as Schema from "effect/Schema"
import * as SchemaRepresentation from "effect/SchemaRepresentation"
import * as JsonValue from "../domain/JsonValue.ts"

/** Returns an encoded value. Throws if encoding failed, needs services or is asynchronous. */
const encodedOf = (encoded: Effect.Effect<unknown, Schema.SchemaError, unknown>): Schema.Json => {
  if (!Exit.isExit(encoded)) throw new Error("its schema is encoded by services")
  if (Exit.isFailure(encoded)) throw Cause.squash(encoded.cause)
  return JsonValue.fromUnknown(encoded.value)
}

/** Random values of a schema, as JSON. */
export const jsonOf = (schema: Schema.Constraint): Arbitrary.Arbitrary<Schema.Json> => {
  const encode = Schema.encodeUnknownEffect(Schema.toCodecJson(schema))
  return Arbitrary.map(Arbitrary.schema(schema), (value) => encodedOf(encode(value)))
}

/** The schema that a JSON schema describes. Throws if that can't be read. */
export const fromJsonSchema = (json: JsonSchema.JsonSchema) =>
  SchemaRepresentation.fromJsonSchemaDocument(JsonSchema.fromSchemaDraft2020_12(json), { patterns: "ignore" })

const schemaOf = (tool: Tool.Any): Schema.Constraint =>
  Tool.isDynamic(tool) && tool.jsonSchema !== undefined ? fromJsonSchema(tool.jsonSchema) : tool.parametersSchema

/** Random parameters of a tool, also of one that JSON schema alone describes. */
export const paramsOf = (tool: Tool.Any): Arbitrary.Arbitrary<Schema.Json> =>
  Arbitrary.map(jsonOf(schemaOf(tool)), (params) => params ?? {})
