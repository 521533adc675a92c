/**
 * The summaries of a conversation's first turns, kept with it.
 *
 * @since 0.1.0
 */
import type { Conversation, Turn } from "../StateSchema.ts"
import { covers, fits, type Summarized, weightOf } from "../Summarized.ts"

/** Replaces the turns of a conversation. Turns that its summaries cover must stay the same. */
export const withTurns = (
  summaries: Conversation["summaries"] | undefined,
  turns: ReadonlyArray<Turn>
): Conversation => summaries === undefined ? { turns } : { turns, summaries }

/** Adds a summary of the first turns if it fits the conversation and covers more turns than the summary before it. */
export const addSummary = (self: Conversation, { except, text, upTo }: Summarized): Conversation => {
  const summaries = self.summaries ?? []
  const summary: Summarized = { text, upTo, except }
  return fits(summary, summaries.at(-1), self.turns.length)
    ? { turns: self.turns, summaries: [...summaries, summary] }
    : self
}

/**
 * Returns the conversation that a summary is made from: the summary before it, if there is one, and the turns that only the new one covers.
 */
export const madeOf = (
  turns: ReadonlyArray<Turn>,
  self: Omit<Summarized, "text">,
  before: Summarized | undefined
): Conversation => {
  const gone = turns.filter((_, place) => covers(self, place) && !(before !== undefined && covers(before, place)))
  return {
    turns: before === undefined ? gone : [{ _tag: "Summary", text: before.text, of: weightOf(before) }, ...gone]
  }
}
