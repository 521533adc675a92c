/**
 * What parts of any kind hold, as copies that share nothing with the original.
 *
 * @since 0.1.0
 */
import type * as Prompt from "effect/ai/Prompt"
import type * as Schema from "effect/Schema"
import * as Fits from "./Fits.ts"
import * as JsonValue from "./JsonValue.ts"

type Metadata = { readonly [provider: string]: Schema.Json }

/** Copies a provider's metadata. */
export const metadataOf = (attached: object | undefined): Metadata =>
  Object.fromEntries(
    Object.entries(attached ?? {}).map(([provider, value]) => [provider, JsonValue.fromUnknown(value)])
  )

/** Copies the metadata of a part, if it has any. */
export const withMetadata = (attached: object | undefined): { readonly metadata?: Metadata } | undefined => {
  for (const _ in attached) return { metadata: metadataOf(attached) }
  return undefined
}

/** Copies the data of a file. A value of a wrong type stays, for a check to find. */
export const dataOf = (data: Prompt.FilePart["data"]): Prompt.FilePart["data"] =>
  JsonValue.detached(data) as Prompt.FilePart["data"]

/** Copies a part with JSON as its metadata, without fields that are `undefined`. Fields of wrong types stay, for a check to find. */
export const withJson = <P extends object>(part: P): P =>
  Fits.withoutUndefined(
    "metadata" in part && Fits.hasFields(part.metadata) ? { ...part, metadata: metadataOf(part.metadata) } : part
  )
