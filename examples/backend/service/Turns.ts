/**
 * Who has the thread: what somebody waits for goes first, and runs take turns, a step each.
 *
 * 1. A run waits for its turn before each step. Few have one at a time, and one alone while a message is being taken in, so
 *    that what a request waits for never queues behind the steps of all runs.
 * 2. A turn ends with its step, or after a moment: a step that waits for a provider keeps nobody from the thread.
 * 3. So many requests are taken in at a time and no more. Who comes beside them is told when to come again: each at a time when
 *    there may be room, so that those who were refused together don't come back together.
 */
import { Effect } from "effect"

/** How many runs have a turn at a time. */
const most = 4

/** How long a turn lasts, in milliseconds. */
const length = 20

/** How long it takes to take something in, in milliseconds, as long as nothing is known of that. */
const guess = 100

/** How many are told to come for each one that there will be room for: some come late. */
const ahead = 1.5

/** A turn: `end` ends it, and may be called again. */
export interface Turn {
  readonly end: () => void
}

/** Turns of one process. `limit` is how many requests are taken in at a time. */
export const make = (limit: number) => {
  const waiting = new Set<() => void>()
  let turns = 0
  let takenIn = 0
  /** How long taking in took of late, in milliseconds, and when there may be room for the next one who is refused. */
  let took = guess
  let free = 0

  const next = (): void => {
    for (const wake of waiting) {
      if (turns >= (takenIn > 0 ? 1 : most)) return
      waiting.delete(wake)
      wake()
    }
  }

  const begin = (): Turn => {
    let isOver = false
    const end = (): void => {
      if (isOver) return
      isOver = true
      clearTimeout(timer)
      turns--
      next()
    }
    const timer = setTimeout(end, length)
    turns++
    return { end }
  }

  return {
    /** Waits for a turn, and begins it. */
    take: Effect.callback<Turn>((resume) => {
      const wake = () => resume(Effect.succeed(begin()))
      waiting.add(wake)
      next()
      return Effect.sync(() => waiting.delete(wake))
    }),
    /** Begins to take something in, and gives what ends that; where there is no room, the seconds after which to come again. */
    enter: (): (() => void) | number => {
      const begun = performance.now()
      if (takenIn >= limit) {
        free = Math.max(begun, free) + took / limit / ahead
        return Math.ceil((free - begun) / 1000)
      }
      takenIn++
      return () => {
        takenIn--
        took += (performance.now() - begun - took) / 10
        next()
      }
    }
  }
}

export type Turns = ReturnType<typeof make>
