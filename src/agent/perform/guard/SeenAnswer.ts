/**
 * Judged answers: what the state keeps of one, and what readers of a stream are shown of it.
 *
 * @since 0.1.0
 */
import type * as Schema from "effect/Schema"
import type { Happening } from "../../../domain/Happening.ts"
import type { Incoming } from "../../../domain/ModelAnswer.ts"
import type { AssistantPart, Call } from "../../../domain/StateSchema.ts"
import type { OutputCodec } from "../../definition/OutputCodec.ts"
import * as GuardedAnswer from "../../rules/GuardedAnswer.ts"

/**
 * A judged answer: its parts, which pieces of it may be shown, what is shown instead of the others, and what the model is told if it must
 * try again.
 */
export interface Seen {
  readonly parts: ReadonlyArray<AssistantPart>
  readonly shows: (piece: Incoming) => boolean
  readonly instead: ReadonlyArray<Happening>
  readonly feedback?: string
}

/** Shows each piece of an answer. */
export const showsAll = (): boolean => true

/** Shows each piece but text. */
export const showsAllButText = (piece: Incoming): boolean => piece.type !== "text-delta"

/** Shows reasoning alone. */
export const showsThoughts = (piece: Incoming): boolean => piece.type === "reasoning-delta"

/** Shows reasoning and text. */
export const showsThoughtsAndText = (piece: Incoming): boolean => showsThoughts(piece) || piece.type === "text-delta"

/** Returns the event that shows a text instead of the one that arrived, if the text isn't empty. */
export const textInstead = (text: string): ReadonlyArray<Happening> =>
  text === "" ? [] : [{ _tag: "TextDelta", delta: text }]

/** The parameters that are shown instead of the pieces of a call. */
export const paramsInstead = ({ id: callId, name }: Call, params: Schema.Json): Happening => ({
  _tag: "ToolParamsDelta",
  callId,
  name,
  delta: JSON.stringify(params)
})

/** Returns an answer with another value. If a call gave the answer, its parameters are shown after the text beside the call. */
export const withValue = (
  codec: OutputCodec | undefined,
  { instead, parts, shows }: Seen,
  found: GuardedAnswer.GivenAnswer
): Seen => {
  const { call } = found
  const given = { parts: GuardedAnswer.withValue(codec, parts, found) }
  if (call === undefined) {
    return { ...given, shows: showsThoughts, instead: textInstead(GuardedAnswer.toText(codec, found)) }
  }
  return { ...given, shows, instead: [...instead, paramsInstead(call, GuardedAnswer.toParams(codec, found))] }
}
