/**
 * What was sent and isn't told yet, and where it stands in the log.
 */
import type { Item } from "./items.ts"

/** Words that were sent, and aren't told yet. */
export interface Sent {
  readonly kind: "sent"
  readonly key: string
  readonly text: string
  readonly isFailed: boolean
  /** How many items stood above when it was sent. */
  readonly after: number
}

export type Entry = Item | Sent

/** A remark isn't there any more when the conversation is read again, so that it doesn't count. */
const counts = ({ kind }: Item): boolean => kind !== "remark"

/** How many items stand above what is sent now. */
export const countOf = (items: ReadonlyArray<Item>): number => items.filter(counts).length

/** Puts messages that failed where they were said, above all that came later, and puts messages that are being sent at the end. */
export const place = (items: ReadonlyArray<Item>, sent: ReadonlyArray<Sent>): ReadonlyArray<Entry> => {
  const entries: Array<Entry> = []
  let left = sent
  let count = 0
  for (const item of items) {
    if (counts(item)) {
      const isHere = ({ after, isFailed }: Sent) => isFailed && after <= count
      entries.push(...left.filter(isHere))
      left = left.filter((each) => !isHere(each))
      count++
    }
    entries.push(item)
  }
  return [...entries, ...left]
}
