/**
 * Parameters and results of a tool as JSON, as they are in an agent's events.
 *
 * @since 0.1.0
 */
import * as AiError from "effect/ai/AiError"
import * as Tool from "effect/ai/Tool"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as SchemaAST from "effect/SchemaAST"
import type { Codec } from "../../agent/definition/Codec.ts"
import { isDeferred } from "../../agent/definition/DeferResult.ts"
import { handledTool } from "../../agent/definition/ToolEntries.ts"
import { messageOf } from "../../domain/Described.ts"
import * as JsonValue from "../../domain/JsonValue.ts"
import type { Outcome } from "./Entry.ts"

/** Converts parameters and results of a tool to JSON and back. */
export interface ToolCodec {
  readonly name: string
  readonly toParams: (params: unknown) => Effect.Effect<Schema.Json>
  readonly normalize: (params: Schema.Json) => Schema.Json
  readonly toResult: (result: unknown) => Effect.Effect<Schema.Json | undefined>
  readonly fromResult: (result: Schema.Json) => Effect.Effect<unknown>
  readonly toOutcome: (exit: Exit.Exit<unknown, unknown>) => Effect.Effect<Outcome>
  readonly fromFailure: (outcome: Extract<Outcome, { readonly _tag: "Settled" }>) => Effect.Effect<never, unknown>
}

const takesAnything = ({ ast }: Schema.Constraint): boolean => SchemaAST.isUnknown(ast) || SchemaAST.isAny(ast)

const decoderOf = (schema: Schema.Constraint): Codec =>
  takesAnything(schema) ? Effect.succeed : Schema.decodeUnknownEffect(Schema.toCodecJson(schema))

/** A codec may need services, which are those of the tool's caller. */
const exitOf = (effect: ReturnType<Codec>) =>
  Effect.exit(effect) as Effect.Effect<Exit.Exit<unknown, Schema.SchemaError>>

const jsonOf = (effect: ReturnType<Codec>): Effect.Effect<Schema.Json | undefined> =>
  Effect.map(exitOf(effect), (exit) => Exit.isSuccess(exit) ? JsonValue.fromUnknown(exit.value) : undefined)

/** Fits no schema. */
const misfit = Symbol("A result that doesn't fit its schema")

/** Makes the codec of a tool. */
export const make = (tool: Tool.Any): ToolCodec => {
  const { name } = tool
  const { decode, encodeFailure, encodeSuccess } = handledTool(tool, false, undefined)
  const isRaw = Tool.isDynamic(tool) && tool.jsonSchema !== undefined
  const encode: Codec = isRaw
    ? Effect.succeed
    : Schema.encodeUnknownEffect(Schema.toCodecJson(tool.parametersSchema))
  const decodeSuccess = decoderOf(tool.successSchema)
  const decodeFailure = Schema.decodeUnknownEffect(Schema.toCodecJson(tool.failureSchema))
  const misfits = `The result of tool "${name}" doesn't fit its schema.`
  const prefix = `The tool "${name}" failed: `
  const failed = (result: Schema.Json): Outcome => ({ _tag: "Settled", isFailure: true, result })
  return {
    name,
    toParams: (params) => Effect.map(jsonOf(encode(params)), (json) => json ?? JsonValue.fromUnknown(params)),
    normalize: (params) => {
      const decoded = decode(params)
      if (!Exit.isExit(decoded) || !Exit.isSuccess(decoded)) return params
      const encoded = encode(decoded.value)
      return Exit.isExit(encoded) && Exit.isSuccess(encoded) ? JsonValue.fromUnknown(encoded.value) : params
    },
    toResult: (result) => jsonOf(encodeSuccess(result)),
    fromResult: (result) => Effect.orDie(decodeSuccess(result)) as Effect.Effect<unknown>,
    toOutcome: (exit) => {
      if (Exit.isSuccess(exit)) {
        return Effect.map(
          jsonOf(encodeSuccess(exit.value)),
          (result): Outcome => result === undefined ? failed(misfits) : { _tag: "Settled", isFailure: false, result }
        )
      }
      const error = Cause.findError(exit.cause)
      if (Result.isFailure(error)) {
        return Effect.succeed(
          isDeferred(exit.cause)
            ? { _tag: "Deferred" }
            : Cause.hasDies(exit.cause)
            ? { _tag: "Died", defect: Cause.squash(exit.cause) }
            : { _tag: "Hangs" }
        )
      }
      const why = error.success
      if (AiError.isAiError(why)) {
        return Effect.succeed({ _tag: "Settled", isFailure: true, result: `${prefix}${why.message}`, error: why })
      }
      return AiError.isAiErrorReason(why)
        ? Effect.succeed(failed(`${prefix}${why.message}`))
        : Effect.map(jsonOf(encodeFailure(why)), (result) => failed(result ?? `${prefix}${messageOf(why)}`))
    },
    fromFailure: ({ error, result }) => {
      if (error !== undefined) return Effect.fail(error)
      if (result === misfits) return Effect.succeed(misfit) as Effect.Effect<never>
      return Effect.flatMap(exitOf(decodeFailure(result)), (exit) =>
        Effect.fail(
          Exit.isSuccess(exit)
            ? exit.value
            : new Error(
              typeof result !== "string" ? Cause.pretty(exit.cause) : result.startsWith(prefix)
                ? result.slice(prefix.length)
                : result
            )
        ))
    }
  }
}
