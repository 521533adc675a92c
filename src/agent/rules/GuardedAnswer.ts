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

/** The value of an answer, a text unless the agent's answers have a schema. `raw` returns the JSON that it was read from. */
export interface Said {
  readonly value: unknown
  readonly raw?: () => Schema.Json
}

/** An answer, and the call that gave it, if one did. */
export interface GivenAnswer extends Said {
  readonly call: Call | undefined
}

/** Checks whether a part is a call of `final_answer`. Settled calls count too, because the state also keeps calls that were cut off. */
export const isAnswerCall = (part: AssistantPart): part is Call => part._tag === "Call" && part.name === toolName

/** Checks whether a part is the call by which an answer is given. */
export const isUnsettledAnswerCall = (part: AssistantPart): part is Call =>
  isAnswerCall(part) && part.state._tag !== "Settled"

/** Reads an answer that is a text of JSON, if it fits. */
export const readText = (codec: OutputCodec, text: string): GivenAnswer | undefined => {
  const decoded = codec.fromText(text)
  if (Result.isFailure(decoded)) return undefined
  // A text that decodes is JSON.
  return { value: decoded.success, raw: () => JSON.parse(text) as Schema.Json, call: undefined }
}

/**
 * Finds the answer in a model's output: of several calls the first that decodes, as a run accepts it. Parameters that don't decode aren't
 * an answer: they go back to the model.
 */
export const find = (codec: OutputCodec | undefined, parts: Parts, isOver: boolean): GivenAnswer | undefined => {
  const calls = codec === undefined ? [] : parts.filter(isUnsettledAnswerCall)
  if (calls.length === 0 && !isOver) return undefined
  if (codec === undefined) return { value: textIn(parts), call: undefined }
  if (calls.length === 0) return readText(codec, textIn(parts))
  for (const call of calls) {
    const decoded = codec.fromParams(call.params)
    if (Result.isSuccess(decoded)) return { value: decoded.success, raw: () => codec.unwrap(call.params), call }
  }
  return undefined
}

/** Returns the value of an answer as JSON. If the schema can't encode the value, this returns the JSON that the value was read from. */
export const encode = (codec: OutputCodec | undefined, { raw, value }: Said): Schema.Json => {
  if (codec === undefined) return String(value)
  const encoded = codec.encode(value)
  // The codec encodes to JSON.
  return Result.isFailure(encoded) && raw !== undefined ? raw() : Result.getOrThrow(encoded) as Schema.Json
}

/** Returns the text of an answer that the model gave as a text. */
export const toText = (codec: OutputCodec | undefined, said: Said): string =>
  codec === undefined ? String(said.value) : JSON.stringify(encode(codec, said))

/**
 * Returns the parameters of an answer that the model gave by a call, as a copy, because an encoder may return parts of the value itself.
 */
export const toParams = (codec: OutputCodec | undefined, said: Said): Schema.Json =>
  codec === undefined ? null : JsonValue.fromUnknown(codec.wrap(encode(codec, said)))

/** Matches the strings of a JSON text, which are kept, and the white space outside of them. */
const between = /("(?:[^"\\]|\\.)*")|\s+/g

/**
 * Checks whether a model gave a value and nothing else. Guardrails judge the value, so what else its JSON holds wasn't judged: keys that
 * the schema doesn't have, or a key twice.
 */
export const isAllOf = (codec: OutputCodec | undefined, parts: Parts, found: GivenAnswer): boolean =>
  codec === undefined || (found.call === undefined
    ? textIn(parts).replace(between, "$1") === toText(codec, found)
    : Equal.equals(found.call.params, toParams(codec, found)))

/** Returns the parts of an answer with another value. */
export const withValue = (codec: OutputCodec | undefined, parts: Parts, found: GivenAnswer): Parts =>
  found.call === undefined
    ? withText(parts, toText(codec, found))
    : parts.map((part) =>
      part._tag === "Call" && part.id === found.call?.id ? { ...part, params: toParams(codec, found) } : part
    )

/** The placeholder for an answer that a guardrail rejected, whose words mustn't be kept. */
const notAccepted = "(This answer wasn't accepted and isn't shown.)"

/** Returns parts in which calls of `final_answer` have failed and have no parameters any more, apart from the call `but`. */
export const withoutCalls = (parts: Parts, but?: Call): Parts =>
  parts.map((part) =>
    !isAnswerCall(part) || part === but
      ? part
      : part.state._tag === "Settled"
      ? { ...part, params: {} }
      : {
        ...part,
        params: {},
        state: { _tag: "Settled", outcome: "Failed", result: "This answer wasn't accepted." }
      }
  )

/** Returns the parts of an answer that a guardrail rejected, without its words. */
export const sentBack = (parts: Parts, { call }: GivenAnswer): Parts =>
  call !== undefined ? withoutCalls(parts) : textIn(parts) === "" ? parts : withText(parts, notAccepted)
