/**
 * Copies of parts that can be stored and share nothing with the original.
 *
 * @since 0.1.0
 */
import type * as Prompt from "effect/ai/Prompt"
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

/** Returns a user's input, a text or parts, as parts. */
export const fromInput = (input: string | ReadonlyArray<Part.UserPart>): ReadonlyArray<Part.UserPart> =>
  typeof input === "string" ? [Part.text(input)] : input.map(from)

/** Copies the part of a result that the model reads. */
export const fromOutput = (
  parts: ReadonlyArray<Prompt.ToolModelOutputPart>
): ReadonlyArray<Prompt.ToolModelOutputPart> =>
  parts.map((part) => ({
    ...part,
    ...(part.type === "file" ? { data: dataOf(part.data) } : undefined),
    options: metadataOf(part.options)
  }))
