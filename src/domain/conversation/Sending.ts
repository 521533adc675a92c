/**
 * Which parts of a turn are sent, and in which role.
 *
 * @since 0.1.0
 */
import type * as Part from "../Part.ts"
import type { AssistantPart, Turn } from "../StateSchema.ts"

const isVisible = (code: number): boolean => code > 32 && code < 127

/** Checks whether a text has words. Providers refuse a text that has none. Nearly every text begins with one: that spares the search. */
export const hasWords = (text: string): boolean => isVisible(text.charCodeAt(0)) || /\S/.test(text)

const isMarked = ({ metadata = {} }: Part.Text | Part.Reasoning): boolean => Object.keys(metadata).length > 0

/** Checks whether a part of a user's turn is sent: a text without words isn't. */
export const isSaid = (part: Part.UserPart): boolean => part._tag === "File" || hasWords(part.text)

/** Checks whether a part of an answer is sent. A source isn't, nor a text that has neither words nor metadata. */
export const isAnswered = (part: AssistantPart): boolean =>
  part._tag === "Text" || part._tag === "Reasoning"
    ? hasWords(part.text) || isMarked(part)
    : part._tag !== "Source"

/** Checks whether no part of a turn is sent. */
export const isSilent = (turn: Turn): boolean => {
  switch (turn._tag) {
    case "User":
      return !turn.parts.some(isSaid)
    case "Assistant":
      return !turn.parts.some(isAnswered)
    case "Summary":
    case "Feedback":
      return !hasWords(turn.text)
  }
}

/** Checks whether a turn is sent as words of a user. */
export const isQuestion = (turn: Turn): boolean => turn._tag !== "Assistant" && !isSilent(turn)
