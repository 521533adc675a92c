/**
 * The JSON that a request asks for in place of a text: as a handler sees it, and what providers refuse of its schema.
 *
 * @since 0.1.0
 */
import type * as LanguageModel from "effect/ai/LanguageModel"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import { fromJsonSchema } from "../ToolParams.ts"

/** What a request asks for, as `effect/ai` has it. */
export type Format = LanguageModel.ProviderOptions["responseFormat"]

/** A text. */
export const text: Format = { type: "text" }

/** JSON by a schema, or any object of JSON. A schema that can't be read allows any object, too. */
export const json = (objectName: string, schema: Schema.JsonObject | null | undefined): Format => {
  const any: Format = { type: "json", objectName, schema: Schema.JsonObject }
  if (schema === undefined || schema === null) return any
  try {
    return { ...any, schema: fromJsonSchema(schema) }
  } catch {
    return any
  }
}

/** A schema inside another, with the way to it. */
interface Inner {
  readonly context: ReadonlyArray<string>
  readonly schema: Readonly<Record<string, unknown>>
}

/** The schemas of objects in a schema, from the outermost on. It looks into `properties`, `items`, `anyOf` and `$defs`. */
const objectsIn = (schema: unknown, context: ReadonlyArray<string> = []): ReadonlyArray<Inner> => {
  if (!Predicate.isObject(schema)) return []
  const within = (key: string): ReadonlyArray<Inner> =>
    Predicate.isObjectOrArray(schema[key])
      ? Object.entries(schema[key]).flatMap(([name, inner]) => objectsIn(inner, [...context, key, name]))
      : []
  return [
    ...(schema.type === "object" || Predicate.isObject(schema.properties) ? [{ context, schema }] : []),
    ...within("properties"),
    ...objectsIn(schema.items, [...context, "items"]),
    ...within("anyOf"),
    ...within("$defs")
  ]
}

/** A way into a schema as OpenAI writes it, which is how Python does. */
const tuple = (context: ReadonlyArray<string>): string =>
  `(${context.map((step) => `'${step}'`).join(", ")}${context.length === 1 ? "," : ""})`

/** What OpenAI refuses of a schema that is to be kept strictly: anything that leaves a key open. */
export const notStrict = (schema: Schema.JsonObject): string | undefined => {
  if (schema.type !== "object") {
    const type = typeof schema.type === "string" ? schema.type : "None"
    return `schema must be a JSON Schema of 'type: "object"', got 'type: "${type}"'.`
  }
  for (const { context, schema: { additionalProperties, properties, required } } of objectsIn(schema)) {
    const where = `In context=${tuple(context)}, `
    if (additionalProperties !== false) {
      return `${where}'additionalProperties' is required to be supplied and to be false.`
    }
    const keys = Predicate.isObject(properties) ? Object.keys(properties) : []
    const missing = keys.find((key) => !Array.isArray(required) || !required.includes(key))
    if (missing !== undefined) {
      return `${where}'required' is required to be supplied and to be an array including every key in properties. ` +
        `Missing '${missing}'.`
    }
  }
  return undefined
}

/** What Anthropic refuses of a schema: objects that leave keys open. */
export const notClosed = (schema: Schema.JsonObject): string | undefined => {
  const open = objectsIn(schema).find(({ schema }) => schema.additionalProperties !== false)?.schema
  if (open === undefined) return undefined
  return open.additionalProperties === undefined
    ? "For 'object' type, 'additionalProperties' must be explicitly set to false"
    : `For 'object' type, 'additionalProperties: ${JSON.stringify(open.additionalProperties)}' is not supported. ` +
      "Please set 'additionalProperties' to false"
}
