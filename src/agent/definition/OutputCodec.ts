/**
 * Answers that are values: how a model gives one, and how it is read from a state.
 *
 * An agent with an output schema offers its model the tool `final_answer`, whose parameters are the value; the call of
 * it ends the run. A model that answers in text instead is taken at its word where the text is JSON that fits.
 *
 * @since 0.1.0
 */
import * as Tool from "effect/ai/Tool"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as SchemaAST from "effect/SchemaAST"
import type { Codec } from "./Codec.ts"
import type { ToolPolicy } from "./ToolPolicy.ts"

/**
 * Name of the tool by which a model gives its final answer.
 *
 * @category constants
 * @since 0.1.0
 */
export const toolName = "final_answer"

/** How an agent's answer is read: from the parameters of its last call, or from its text. */
export interface OutputCodec {
  readonly tool: Tool.Any
  readonly fromParams: (params: unknown) => Result.Result<unknown, Schema.SchemaError>
  readonly fromText: (text: string) => Result.Result<unknown, Schema.SchemaError>
  readonly unwrap: (params: Schema.Json) => Schema.Json
  readonly wrap: (json: Schema.Json) => Schema.Json
  readonly decode: (json: unknown) => Result.Result<unknown, Schema.SchemaError>
  readonly encode: (value: unknown) => Result.Result<unknown, Schema.SchemaError>
}

/** The tool by which a model gives its final answer. */
export interface OutputTool {
  readonly _tag: "Output"
  readonly tool: Tool.Any
  readonly policy: ToolPolicy
  readonly decode: Codec
}

/** Parameters of a tool are an object: any other value goes in as its `value`. */
const asObject = (schema: Schema.Codec<unknown, unknown>): Schema.Codec<unknown, unknown> =>
  SchemaAST.isObjects(SchemaAST.toEncoded(schema.ast))
    ? schema
    : Schema.Struct({ value: schema }) as Schema.Codec<unknown, unknown>

/** Makes the way in which an agent's answers are given and read. */
export const makeCodec = (schema: Schema.Codec<unknown, unknown>): OutputCodec => {
  const parameters = asObject(schema)
  const decodeParams = Schema.decodeUnknownResult(parameters)
  const decodeText = Schema.decodeUnknownResult(Schema.fromJsonString(schema))
  const isWrapped = schema !== parameters
  const unwrap = (value: unknown): unknown => isWrapped ? (value as { readonly value: unknown }).value : value
  return {
    tool: Tool.make(toolName, {
      description: "Gives the final answer, and ends the work. Call it once, when everything else is done.",
      parameters
    }) as Tool.Any,
    fromParams: (params) => Result.map(decodeParams(params), unwrap),
    fromText: (text) => decodeText(text),
    unwrap: (params) => unwrap(params) as Schema.Json,
    wrap: (json) => isWrapped ? { value: json } : json,
    decode: Schema.decodeUnknownResult(schema),
    encode: Schema.encodeUnknownResult(schema)
  }
}

/** Makes the tool by which a model gives its final answer. */
export const outputTool = (codec: OutputCodec): OutputTool => ({
  _tag: "Output",
  tool: codec.tool,
  policy: {},
  decode: (params) => Effect.fromResult(codec.fromParams(params))
})
