/**
 * Copies of parts that can be stored and share nothing with the original.
 *
 * @since 0.1.0
 */
import type * as Prompt from "effect/ai/Prompt"
import * as Predicate from "effect/Predicate"
import { kindOf } from "./Described.ts"
import * as JsonValue from "./JsonValue.ts"
import * as Part from "./Part.ts"

/** Copies a provider's metadata. */
const metadataOf = (attached: object | undefined): Part.Metadata =>
  Object.fromEntries(
    Object.entries(attached ?? {}).map(([provider, value]) => [provider, JsonValue.fromUnknown(value)])
  )

/** Copies the metadata of a part, if it has any. */
export const withMetadata = (attached: object | undefined): { readonly metadata?: Part.Metadata } | undefined => {
  for (const _ in attached) return { metadata: metadataOf(attached) }
  return undefined
}

/** Copies the data of a file. */
export const dataOf = (data: Part.File["data"]): Part.File["data"] =>
  typeof data === "string" ? data : data instanceof URL ? new URL(data) : data.slice()

/** Copies a part. */
export const from = <P extends Part.Text | Part.Reasoning | Part.File | Part.Source>(part: P): P => ({
  ...part,
  ...(part._tag === "File" ? { data: dataOf(part.data) } : undefined),
  ...withMetadata(part.metadata)
})

/** Checks whether something is the data of a file: a text, an address or bytes. */
export const isData = (u: unknown): boolean => typeof u === "string" || u instanceof URL || ArrayBuffer.isView(u)

const isUserPart = (u: unknown): boolean =>
  Predicate.isTagged(u, "Text")
    ? "text" in u && typeof u.text === "string"
    : Predicate.isTagged(u, "File") && "mediaType" in u && typeof u.mediaType === "string" && "data" in u &&
      isData(u.data)

/** Untyped callers may pass anything, most often the parts of another library. Such a part would be sent as nothing. */
const checkPart = (part: unknown, at: number): void => {
  if (isUserPart(part)) return
  const made = "`Conversation.text` and `Conversation.file` make those"
  throw new TypeError(`Part ${at} of an input is no text and no file, but ${kindOf(part)}: ${made}`)
}

/** Returns a user's input, a text or parts, as parts. */
export const fromInput = (input: string | ReadonlyArray<Part.UserPart>): ReadonlyArray<Part.UserPart> => {
  if (typeof input === "string") return [Part.text(input)]
  if (!Array.isArray(input)) throw new TypeError(`An input is a text or parts, and not ${kindOf(input)}`)
  input.forEach(checkPart)
  return input.map(from)
}

/** Copies the part of a result that the model reads. */
export const fromOutput = (
  parts: ReadonlyArray<Prompt.ToolModelOutputPart>
): ReadonlyArray<Prompt.ToolModelOutputPart> =>
  parts.map((part) => ({
    ...part,
    ...(part.type === "file" ? { data: dataOf(part.data) } : undefined),
    options: metadataOf(part.options)
  }))
