/**
 * Keeping the texts that stand for the first turns of a conversation with it.
 *
 * @since 0.1.0
 */
import type { Conversation, Turn } from "../StateSchema.ts"
import { covers, fits, type Summarized, weightOf } from "../Summarized.ts"

/** Gives a conversation other turns, of which those that are summarized are the same. */
export const withTurns = (
  summaries: Conversation["summaries"] | undefined,
  turns: ReadonlyArray<Turn>
): Conversation => summaries === undefined ? { turns } : { turns, summaries }

/** Adds a text that stands for the first turns. One that stands for no more than the last isn't taken. */
export const addSummary = (self: Conversation, { except, text, upTo }: Summarized): Conversation => {
  const summaries = self.summaries ?? []
  const summary: Summarized = { text, upTo, except }
  return fits(summary, summaries[summaries.length - 1], self.turns.length)
    ? { turns: self.turns, summaries: [...summaries, summary] }
    : self
}

/** Gives the conversation that a text is made of: the text before it, if there is one, and the turns that only the new one stands for. */
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
