/**
 * What the bodies of OpenAI's two protocols have in common.
 *
 * The messages of checks are OpenAI's, without `Invalid '<parameter>': `, which precedes them. Their titles are OpenAI's codes.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"

/** A field that may be left out, or null, which says the same. */
export const optional = <S extends Schema.Constraint>(schema: S) => Schema.optionalKey(Schema.NullOr(schema))

/** A text that isn't empty. */
export const Filled = Schema.String.check(
  Schema.makeFilter(
    (text) =>
      text === ""
        ? "empty string. Expected a string with minimum length 1, but got an empty string instead."
        : undefined,
    { title: "empty_string" }
  )
)

const pattern = /^[a-zA-Z0-9_-]+$/

/** What a tool or a format may be called. */
const Named = Filled.check(Schema.makeFilter((name) =>
  pattern.test(name)
    ? undefined
    : `string does not match pattern. Expected a string that matches the pattern '${pattern.source}'.`
))

/** A number of things, from 1 up to a maximum. */
export const count = (maximum: number) =>
  Schema.Number.annotate({ expected: "integer" }).check(
    Schema.makeFilter(Number.isInteger, { expected: "integer" }),
    Schema.makeFilter(
      (value) =>
        value < 1 ? `integer below minimum value. Expected a value >= 1, but got ${value} instead.` : undefined,
      { title: "integer_below_min_value" }
    ),
    Schema.makeFilter(
      (value) =>
        value > maximum
          ? `integer above maximum value. Expected a value <= ${maximum}, but got ${value} instead.`
          : undefined,
      { title: "integer_above_max_value" }
    )
  )

/** A text, or parts. */
export const content = <S extends Schema.Constraint>(parts: S) =>
  Schema.Union([Schema.String, parts]).annotate({ expected: "one of a string or array of objects" })

/** A tool that the client runs, as far as both protocols have it. */
export const tool = {
  name: Named,
  description: optional(Schema.String),
  parameters: optional(Schema.JsonObject),
  strict: optional(Schema.Boolean)
}

/** A JSON schema that a request has for its answer. */
export const jsonSchema = {
  name: Named,
  description: optional(Schema.String),
  schema: optional(Schema.JsonObject),
  strict: optional(Schema.Boolean)
}
