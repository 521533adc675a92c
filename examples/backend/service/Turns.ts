/**
 * Who has the thread: what somebody waits for goes first, and runs take turns, a step each.
 *
 * 1. A run waits for its turn before each step. Few have one at a time, and one alone while a message is being taken in, so
 *    that what a request waits for never queues behind the steps of all runs.
 * 2. A request waits for a place before it is taken in, behind those of its tenant; tenants take turns. Who would wait for too
 *    long is told when to come again.
 * 3. Turns and places end with what they were for, or after a moment: who waits for a model keeps nobody from the thread.
 */
import { Effect } from "effect"

/** How many runs have a turn at a time, and how many requests a place. */
const most = { turns: 4, places: 6 } as const

/** How long a turn lasts, and a place, in milliseconds. */
const length = { turn: 20, place: 1_000 } as const

/** How long it takes until the next one gets a place, in milliseconds, as long as nothing is known of that. */
const guess = 20

/** A turn or a place: `end` ends it, and may be called again. */
export interface Turn {
  readonly end: () => void
}

/** A request that would wait for too long: the seconds after which there may be room. */
export interface NoRoom {
  readonly retryAfter: number
}

/** Turns of one process. `patience` is how long a request may have to wait for its place, in milliseconds. */
export const make = (patience: number) => {
  const runs = new Set<() => void>()
  /** The requests that wait, by tenant; the tenant whose turn is next comes first. */
  const requests = new Map<string, Set<() => void>>()
  const had = { turn: 0, place: 0 }
  /** How long it took of late until the next one got a place, in milliseconds, and when somebody did. */
  let pace = guess
  let given = 0
  /** When a run had its last turn. */
  let begun = 0

  const begin = (kind: keyof typeof had): Turn => {
    let isOver = false
    const end = (): void => {
      if (isOver) return
      isOver = true
      clearTimeout(timer)
      had[kind]--
      next()
    }
    const timer = setTimeout(end, length[kind])
    if (kind === "turn") begun = performance.now()
    had[kind]++
    return { end }
  }

  const next = (): void => {
    for (const [tenant, waiting] of requests) {
      if (had.place >= most.places) break
      requests.delete(tenant)
      const [wake] = waiting
      if (wake === undefined) continue
      waiting.delete(wake)
      // The tenant's next one comes behind those of the others.
      if (waiting.size > 0) requests.set(tenant, waiting)
      const now = performance.now()
      pace += (now - given - pace) / 10
      given = now
      wake()
    }
    const isCrowded = requests.size > 0 && performance.now() - begun < length.place
    const room = isCrowded ? 0 : had.place > 0 ? 1 : most.turns
    for (const wake of runs) {
      if (had.turn >= room) return
      runs.delete(wake)
      wake()
    }
  }

  return {
    /** Waits for a turn, and begins it. */
    take: Effect.callback<Turn>((resume) => {
      const wake = () => resume(Effect.succeed(begin("turn")))
      runs.add(wake)
      next()
      return Effect.sync(() => runs.delete(wake))
    }),
    /** Waits for a place for a tenant's request, and begins to take it in. */
    enter: (tenant: string): Effect.Effect<Turn, NoRoom> =>
      Effect.callback((resume) => {
        let timer: ReturnType<typeof setTimeout> | undefined
        const wake = () => {
          clearTimeout(timer)
          resume(Effect.succeed(begin("place")))
        }
        if (had.place < most.places) return wake()
        const waiting = requests.get(tenant) ?? new Set()
        const expected = (waiting.size + 1) * (requests.size + (requests.has(tenant) ? 0 : 1)) * pace
        if (expected > patience) return resume(Effect.fail({ retryAfter: Math.ceil(expected / 1000) }))
        if (requests.size === 0) given = performance.now()
        requests.set(tenant, waiting.add(wake))
        // Places may be given more slowly than of late.
        timer = setTimeout(() => {
          if (waiting.delete(wake)) resume(Effect.fail({ retryAfter: Math.ceil(expected / 1000) }))
        }, patience)
        return Effect.sync(() => {
          clearTimeout(timer)
          waiting.delete(wake)
        })
      })
  }
}

export type Turns = ReturnType<typeof make>
