/**
 * Whose words a turn is sent as.
 *
 * @since 0.1.0
 */
import type { Turn } from "../StateSchema.ts"

/** Checks whether a turn is sent as words of a user. A user's turn without parts isn't sent. */
export const isQuestion = (turn: Turn): boolean =>
  turn._tag === "User" ? turn.parts.length > 0 : turn._tag !== "Assistant"
