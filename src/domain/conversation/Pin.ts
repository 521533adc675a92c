/**
 * Turns that a context window never leaves out, because somebody pinned them.
 *
 * @since 0.1.0
 */
import { dual } from "effect/Function"
import type { Conversation } from "../StateSchema.ts"
import * as Wanted from "../Wanted.ts"
import { withTurns } from "./Summaries.ts"

/**
 * Pins a turn, counted from 0: a context window never leaves it out, and sends it as it is. If there is no such turn, nothing is pinned.
 *
 * @category combinators
 * @since 0.1.0
 */
export const pin: {
  (index: number): (self: Conversation) => Conversation
  (self: Conversation, index: number): Conversation
} = dual(2, (self: Conversation, index: number): Conversation => {
  const turn = self.turns[Wanted.placeGiven(index)]
  return turn === undefined || turn.pinned === true
    ? self
    : withTurns(self.summaries, self.turns.with(index, { ...turn, pinned: true }))
})

/**
 * Takes the pin off a turn, counted from 0. If there is no such turn, nothing changes.
 *
 * @category combinators
 * @since 0.1.0
 */
export const unpin: {
  (index: number): (self: Conversation) => Conversation
  (self: Conversation, index: number): Conversation
} = dual(2, (self: Conversation, index: number): Conversation => {
  const turn = self.turns[Wanted.placeGiven(index)]
  if (turn?.pinned !== true) return self
  const { pinned: _, ...rest } = turn
  return withTurns(self.summaries, self.turns.with(index, rest))
})
