/**
 * Summaries of turns that are still in the conversation: a context window sends a summary instead of its turns.
 *
 * Each covers more turns than the one before it, and is made from it.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { Count } from "./Count.ts"

/**
 * Schema for a summary of the first `upTo` turns of a conversation, apart from those at the places in `except`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Summarized = Schema.Struct({ text: Schema.String, upTo: Count, except: Schema.Array(Count) })

/** A summary of the first `upTo` turns of a conversation, apart from those at the places in `except`. */
export interface Summarized extends Schema.Schema.Type<typeof Summarized> {}

/** Checks whether a summary covers the turn at a place. */
export const covers = ({ except, upTo }: Omit<Summarized, "text">, place: number): boolean =>
  place < upTo && !except.includes(place)

/** Counts the turns that a summary covers. */
export const weightOf = ({ except, upTo }: Summarized): number => upTo - except.length

/** Checks whether a summary fits a conversation with so many turns and follows the summary before it. */
export const fits = (self: Summarized, before: Summarized | undefined, turns: number): boolean =>
  self.text.trim() !== "" && self.upTo <= turns &&
  self.except.every((place, at) => place < self.upTo && place > (self.except[at - 1] ?? -1)) &&
  weightOf(self) > (before === undefined ? 0 : weightOf(before)) && self.upTo >= (before?.upTo ?? 0)

type Summaries = ReadonlyArray<Summarized> | undefined

const only = (summaries: Summaries, keeps: (summary: Summarized) => boolean): Summaries => {
  const kept = summaries?.filter(keeps) ?? []
  return kept.length === 0 ? undefined : kept
}

/** Returns the summaries that cover only turns among the first `count`. */
export const within = (summaries: Summaries, count: number): Summaries => only(summaries, ({ upTo }) => upTo <= count)

/** Returns the summaries that don't cover the turn at a place. */
export const notOf = (summaries: Summaries, place: number): Summaries =>
  only(summaries, ({ except, upTo }) => upTo <= place || except.includes(place))
