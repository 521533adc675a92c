/**
 * Answers that are values: how a model writes one, and how it is read.
 *
 * An agent with an output schema offers its model the tool `final_answer`, whose parameters are the value; an accepted call of it ends the
 * run. A text counts as the answer too, if it is JSON that fits (`docs/decisions/0003`).
 *
 * @since 0.1.0
 */
import * as Tool from "effect/ai/Tool"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as SchemaAST from "effect/SchemaAST"
import { toolName } from "../../domain/FinalAnswer.ts"
import { isWithinLevels, maxLevels } from "../../domain/ForeignValue.ts"
import { lazy } from "../../domain/Lazy.ts"
import * as Wanted from "../../domain/Wanted.ts"
import { type Codec, entered } from "./Codec.ts"
import type { ToolPolicy } from "./ToolPolicy.ts"

/** Reads and writes an agent's answers: as parameters of `final_answer`, as text, and as JSON. */
export interface OutputCodec {
  readonly tool: OutputTool
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

/** JSON read from a text. It refuses JSON that is nested more deeply than parameters of calls may be. */
const shallow = lazy(() =>
  Schema.Unknown.check(
    Schema.makeFilter((json) => isWithinLevels(json), {
      expected: `JSON that is nested at most ${maxLevels} levels deep`
    })
  )
)

/** Makes the codec of an agent's answers, which are JSON for any schema. */
export const makeCodec = (agent: string, schema: Schema.Codec<unknown, unknown>): OutputCodec => {
  const named = <A>(convert: (u: unknown) => A) => Wanted.atOnce(`The schema \`output\` of agent "${agent}"`, convert)
  const json = Schema.toCodecJson(schema)
  const encoded = SchemaAST.toEncoded(json.ast)
  // Parameters of a tool are an object. A schema of anything else is wrapped in one, under the key `value`.
  const asked = lazy(() =>
    SchemaAST.isObjects(entered(encoded))
      ? schema
      // The codec is used by `unwrap` below, so the wrapper's own type doesn't matter.
      : Schema.Struct({ value: schema }) as Schema.Codec<unknown, unknown>
  )
  const isWrapped = (): boolean => asked() !== schema
  // A suspended schema may not exist yet.
  const parameters = SchemaAST.isSuspend(encoded) ? Schema.suspend(asked) : asked()
  const decodeParams = named(Schema.decodeUnknownResult(Schema.toCodecJson(parameters)))
  const unwrap = (value: unknown): unknown => isWrapped() ? (value as { readonly value: unknown }).value : value
  const fromParams = (params: unknown) => Result.map(decodeParams(params), unwrap)
  const tool = Tool.make(toolName, {
    description: "Gives the final answer, and ends the work. Call it once, when everything else is done.",
    parameters
  }) as Tool.Any
  return {
    tool: { _tag: "Output", tool, policy: {}, decode: (params) => Effect.fromResult(fromParams(params)) },
    fromParams,
    fromText: named(Schema.decodeUnknownResult(Schema.fromJsonString(shallow().pipe(Schema.decodeTo(json))))),
    unwrap: (params) => unwrap(params) as Schema.Json,
    wrap: (json) => isWrapped() ? { value: json } : json,
    decode: named(Schema.decodeUnknownResult(json)),
    encode: named(Schema.encodeUnknownResult(json))
  }
}
