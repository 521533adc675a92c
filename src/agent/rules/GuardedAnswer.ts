/**
 * The answer in a model's output that guardrails judge, and what the state holds of it afterwards.
 *
 * An answer is what a model says when it has nothing more to call, or what it gives by `final_answer`.
 *
 * @since 0.1.0
 */
import * as Equal from "effect/Equal"
import * as Result from "effect/Result"
import type * as Schema from "effect/Schema"
import { textIn } from "../../domain/conversation/Turns.ts"
import { toolName } from "../../domain/FinalAnswer.ts"
import * as JsonValue from "../../domain/JsonValue.ts"
import { withText } from "../../domain/Replacement.ts"
import type { AssistantPart, Call } from "../../domain/StateSchema.ts"
import type { OutputCodec } from "../definition/OutputCodec.ts"

type Parts = ReadonlyArray<AssistantPart>

/** An answer: its value, which is a text unless the agent's answers have a schema, and the call that gave it, if one did. */
export interface GivenAnswer {
  readonly value: unknown
  readonly call: Call | undefined
}

/** Checks whether a part is the call by which an answer is given. */
export const isFinalCall = (part: AssistantPart): part is Call =>
  part._tag === "Call" && part.name === toolName && part.state._tag !== "Settled"

const foundIn = (decoded: Result.Result<unknown, unknown>, call: Call | undefined): GivenAnswer | undefined =>
  Result.isFailure(decoded) ? undefined : { value: decoded.success, call }

/**
 * Finds the answer in a model's output: of several calls the first that decodes, as a run accepts it. Parameters that don't decode aren't
 * one: they go back to the model.
 */
export const find = (codec: OutputCodec | undefined, parts: Parts, isOver: boolean): GivenAnswer | undefined => {
  const calls = codec === undefined ? [] : parts.filter(isFinalCall)
  if (calls.length === 0 && !isOver) return undefined
  if (codec === undefined) return { value: textIn(parts), call: undefined }
  if (calls.length === 0) return foundIn(codec.fromText(textIn(parts)), undefined)
  for (const call of calls) {
    const found = foundIn(codec.fromParams(call.params), call)
    if (found !== undefined) return found
  }
  return undefined
}

/** Returns the value of an answer as JSON. */
export const encode = (codec: OutputCodec | undefined, value: unknown): Schema.Json =>
  // The codec encodes to JSON.
  (codec === undefined ? String(value) : Result.getOrThrow(codec.encode(value))) as Schema.Json

/** Returns the text of an answer that the model gave as a text. */
export const toText = (codec: OutputCodec | undefined, value: unknown): string =>
  codec === undefined ? String(value) : JSON.stringify(encode(codec, value))

/**
 * Returns the parameters of an answer that the model gave by a call, as a copy, because an encoder may return parts of the value itself.
 */
export const toParams = (codec: OutputCodec | undefined, value: unknown): Schema.Json =>
  codec === undefined ? null : JsonValue.fromUnknown(codec.wrap(encode(codec, value)))

/** The white space between the signs of a JSON text. */
const between = /("(?:[^"\\]|\\.)*")|\s+/g

/**
 * Checks whether a model gave a value and nothing else. Guardrails judge the value, so what else its JSON holds wasn't judged: keys that
 * the schema doesn't have, or a key twice.
 */
export const isAllOf = (codec: OutputCodec | undefined, parts: Parts, { call, value }: GivenAnswer): boolean =>
  codec === undefined || (call === undefined
    ? textIn(parts).replace(between, "$1") === toText(codec, value)
    : Equal.equals(call.params, toParams(codec, value)))

/** Returns the parts of an answer with another value. */
export const withValue = (codec: OutputCodec | undefined, parts: Parts, { call, value }: GivenAnswer): Parts =>
  call === undefined
    ? withText(parts, toText(codec, value))
    : parts.map((part) =>
      part._tag === "Call" && part.id === call.id ? { ...part, params: toParams(codec, value) } : part
    )

/** The placeholder for an answer that a guardrail rejected, whose words mustn't be kept. */
const notAccepted = "(This answer wasn't accepted and isn't shown.)"

/** Returns parts in which calls that give an answer are failed calls without parameters. */
export const withoutCalls = (parts: Parts, but?: Call): Parts =>
  parts.map((part) =>
    isFinalCall(part) && part !== but
      ? {
        ...part,
        params: {},
        state: { _tag: "Settled", outcome: "Failed", result: "This answer wasn't accepted." }
      }
      : part
  )

/** Returns the parts of an answer that a guardrail rejected, without its words. */
export const sentBack = (parts: Parts, { call }: GivenAnswer): Parts =>
  call !== undefined ? withoutCalls(parts) : textIn(parts) === "" ? parts : withText(parts, notAccepted)
