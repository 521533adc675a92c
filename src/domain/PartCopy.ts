/**
 * Copies of parts that can be stored and share nothing with the original.
 *
 * @since 0.1.0
 */
import * as Prompt from "effect/ai/Prompt"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import { kindOf } from "./Described.ts"
import * as Fits from "./Fits.ts"
import * as Part from "./Part.ts"
import { dataOf, metadataOf, withJson } from "./PartFields.ts"
import * as Wanted from "./Wanted.ts"

const check = Fits.check(() => Schema.Union([Part.Text, Part.Reasoning, Part.File, Part.Source]))

/** Copies a part. Throws a `TypeError` that names a field of a wrong type; `what` names the part. */
export const from = <P extends Part.Text | Part.Reasoning | Part.File | Part.Source>(what: string, part: P): P =>
  // A part that fits is of the kind that it was.
  check(what, withJson(part._tag === "File" ? { ...part, data: dataOf(part.data) } : part)) as P

const isUserPart = (u: unknown): u is Part.UserPart => Predicate.isTagged(u, "Text") || Predicate.isTagged(u, "File")

/** Untyped callers may pass anything, most often the parts of another library. Such a part would be sent as nothing. */
const userPart = (part: unknown, at: number): Part.UserPart => {
  if (isUserPart(part)) return from(`Part ${at} of an input`, part)
  const made = "`Conversation.text` and `Conversation.file` make those"
  throw new TypeError(`Part ${at} of an input is neither a text nor a file, but ${kindOf(part)}: ${made}`)
}

/** Returns a user's input, a text or parts, as parts. */
export const fromInput = (input: string | ReadonlyArray<Part.UserPart>): ReadonlyArray<Part.UserPart> => {
  if (typeof input === "string") return [Part.text(input)]
  if (!Array.isArray(input)) throw new TypeError(`An input is a text or parts, and not ${kindOf(input)}`)
  return input.map(userPart)
}

const checkOutput = Fits.check(() => Prompt.ToolModelOutputPart)

/** Copies a part, and leaves what has a wrong type for a check to find. */
const outputPart = (part: Prompt.ToolModelOutputPart): Prompt.ToolModelOutputPart => {
  if (!Fits.hasFields(part)) return part
  const { options = {} } = part
  const given = {
    ...part,
    options: Fits.hasFields(options) ? metadataOf(options) : options,
    ...(part.type === "file" ? { data: dataOf(part.data) } : undefined)
  }
  return Prompt.makePart(part.type, given)
}

/** Copies what the model reads of a result. Throws a `TypeError` that names a wrong field; `whose` says who gave it. */
export const fromOutput = (
  whose: string,
  parts: ReadonlyArray<Prompt.ToolModelOutputPart>
): ReadonlyArray<Prompt.ToolModelOutputPart> =>
  Wanted.parts(whose, parts).map((part, at) => checkOutput(`Part ${at} of ${whose}`, outputPart(part)))
