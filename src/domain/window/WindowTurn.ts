/**
 * Turns as a context window chooses among them: what each costs, and whether it may be left out at all.
 *
 * What stays, whatever a window does:
 *
 * 1. The open end: the model's last answer if the model has to continue it after calls or a pause, and the turns behind it. The model is
 *    asked about these.
 * 2. The run's questions: the user's last turn, and those before it that the run answers too.
 * 3. Pinned turns.
 *
 * @since 0.1.0
 */
import { statusOf } from "../ImpliedStatus.ts"
import type { Turn } from "../StateSchema.ts"

/**
 * Why a turn is never left out. `Open` marks the model's last answer if the model has to continue it after calls or a pause, and the turns
 * behind it. `Asked` marks the user's turns that the run answers, and `Summary` the summary of turns that are left out.
 */
export type Stays = "Open" | "Asked" | "Pinned" | "Summary"

/**
 * A turn that a context window may send: its place in the conversation, from 0 (-1 for a summary or a turn that a strategy made), its
 * tokens, and why it stays, if it must.
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
 * How much room a context window has for turns; `Infinity` means no limit. `count` counts the tokens of a turn. If something must be left out,
 * at least `atOnce` is, so that what is sent changes rarely; 0 leaves out no more than needed.
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

/** Adds up the tokens of turns. */
export const tokensIn = (turns: ReadonlyArray<WindowTurn>): number => {
  let sum = 0
  for (const { tokens } of turns) sum += tokens
  return sum
}

/** Checks whether so many turns with so many tokens have room. */
export const hasRoom = ({ length }: ReadonlyArray<WindowTurn>, tokens: number, room: Room): boolean =>
  length <= room.turns && (room.tokens === Infinity || tokens <= room.tokens)

/** Returns the place where the open end begins. */
export const openFrom = (turns: ReadonlyArray<Turn>): number => {
  let at = turns.length - 1
  while (at >= 0 && turns[at]!._tag !== "Assistant") at--
  const last = turns[at]
  return last === undefined || statusOf({ turns: [last] })._tag !== "Complete" ? Math.max(0, at) : at + 1
}

/**
 * Checks whether a turn of the open end must stay. A summary of earlier turns must stay only if it is last, so that there is something to
 * answer.
 */
export const isOpen = (turn: Turn, index: number, length: number): boolean =>
  turn._tag !== "Summary" || index === length - 1
