/**
 * Turns as a context window chooses among them: what each costs, and whether it may be left out at all.
 *
 * What stays, whatever a window does:
 *
 * 1. The open end: the model's last answer where its calls or its pause wait for the model to go on, and what was said behind it.
 *    The model is asked about this.
 * 2. What the run is asked: the user's last turn, and those before it that the run answers too.
 * 3. Pinned turns.
 *
 * @since 0.1.0
 */
import { statusOf } from "../ImpliedStatus.ts"
import type { Turn } from "../StateSchema.ts"

/** Why a turn is never left out. The summary of turns that are left out is none of them itself. */
export type Stays = "Open" | "Asked" | "Pinned" | "Summary"

/**
 * A turn that a context window may send: its place in the conversation, from 0 (a summary's, and that of a turn which a strategy
 * made, is -1), what it counts for, and why it stays, where it does.
 *
 * @category models
 * @since 0.1.0
 */
export interface WindowTurn {
  readonly turn: Turn
  readonly index: number
  readonly tokens: number
  readonly stays: Stays | undefined
}

/**
 * How much room a context window has for turns; `Infinity` where it sets no limit. `count` says what a turn counts for. `atOnce` is
 * how much goes at least when something must, so that what is sent changes rarely; 0 is no more than needed.
 *
 * @category models
 * @since 0.1.0
 */
export interface Room {
  readonly tokens: number
  readonly turns: number
  readonly count: (turn: Turn) => number
  readonly atOnce: { readonly tokens: number; readonly turns: number }
}

/** Adds up what turns count for. */
export const tokensIn = (turns: ReadonlyArray<WindowTurn>): number => {
  let sum = 0
  for (const { tokens } of turns) sum += tokens
  return sum
}

/** Checks whether so many turns, which count for so much, have room. */
export const hasRoom = ({ length }: ReadonlyArray<WindowTurn>, tokens: number, room: Room): boolean =>
  length <= room.turns && (room.tokens === Infinity || tokens <= room.tokens)

/** Gives the place from which the turns are those that the model is asked about. */
export const openFrom = (turns: ReadonlyArray<Turn>): number => {
  let at = turns.length - 1
  while (at >= 0 && turns[at]!._tag !== "Assistant") at--
  const last = turns[at]
  return last === undefined || statusOf({ turns: [last] })._tag !== "Complete" ? Math.max(0, at) : at + 1
}

/** Says why a turn of the open end stays there: a summary of what was before goes first, unless it is all there is to answer. */
export const isOpen = (turn: Turn, index: number, length: number): boolean =>
  turn._tag !== "Summary" || index === length - 1
