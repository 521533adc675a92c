/**
 * Ids of calls that are gone and that a state no longer names. However many there are, they take the room of a few hundred names.
 *
 * 1. An id that was forgotten is always found, so that no call gets it again. `ids` is a Bloom filter, base64 of 65,536 bits: adding an
 *    id sets 5 of them.
 * 2. An id that was never there may be found too: 1 in 300 after 5,000 forgotten ids, 1 in 20 after 10,000. Then its call gets
 *    a number that it doesn't need, which does no harm.
 * 3. Numbers in ids only grow: `last` is the highest in any forgotten id. So an id with a higher number than all known ids was never
 *    given, however full the filter is.
 *
 * The bits are stored, so what sets them is fixed for good.
 *
 * @since 0.1.0
 */
import * as Base64 from "effect/encoding/Base64"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { Count } from "./Count.ts"

const bytes = 8192
const bitsOfId = 5

const isFilter = (text: string): boolean => Result.getOrUndefined(Base64.decode(text))?.length === bytes

/**
 * Schema for ids that were forgotten.
 *
 * @category schemas
 * @since 0.1.0
 */
export const ForgottenIds = Schema.Struct({
  ids: Schema.String.check(Schema.makeFilter(isFilter, { expected: `base64 of ${bytes} bytes` })),
  last: Count
})

/**
 * Ids that were forgotten.
 *
 * @category models
 * @since 0.1.0
 */
export interface ForgottenIds extends Schema.Schema.Type<typeof ForgottenIds> {}

/** The bits of ids that were forgotten. */
export type Bits = Uint8Array

/** FNV-1a, and the last steps of MurmurHash3 so that every bit counts. */
const hash = (text: string, seed: number): number => {
  let at = seed
  for (let index = 0; index < text.length; index++) at = Math.imul(at ^ text.charCodeAt(index), 16777619)
  at = Math.imul(at ^ (at >>> 16), 0x85ebca6b)
  at = Math.imul(at ^ (at >>> 13), 0xc2b2ae35)
  return (at ^ (at >>> 16)) >>> 0
}

/** Returns the places of an id's bits. */
const placesOf = (id: string): ReadonlyArray<number> => {
  const first = hash(id, 0x811c9dc5)
  const step = hash(id, 0x9747b28c) | 1
  return Array.from({ length: bitsOfId }, (_, n) => (first + Math.imul(n, step)) >>> 0 & (bytes * 8 - 1))
}

/** Checks whether an id may have been forgotten. The answer is yes for every id that was, and for few others. */
export const mayHave = (self: Bits, id: string): boolean =>
  placesOf(id).every((place) => (self[place >>> 3]! & (1 << (place & 7))) !== 0)

/** Reads the bits of forgotten ids, and adds those in `beside`. */
export const read = ({ ids }: ForgottenIds, beside?: Bits): Bits => {
  const bits = Result.getOrThrow(Base64.decode(ids))
  return beside === undefined ? bits : bits.map((byte, at) => byte | beside[at]!)
}

/** Adds ids to those that were forgotten `before`. `last` is the highest number in any of them. */
export const forget = (before: Bits | undefined, gone: ReadonlyArray<string>, last: number): ForgottenIds => {
  const bits = before?.slice() ?? new Uint8Array(bytes)
  for (const id of gone) for (const place of placesOf(id)) bits[place >>> 3]! |= 1 << (place & 7)
  return { ids: Base64.encode(bits), last }
}
