/** Scenarios: which processes die, where and how, and which message is cancelled. Each has a number, and is the same everywhere. */
import { messages } from "../desk.ts"

/**
 * How a process ends at one of its writes:
 *
 * - it dies `before` or `after` it
 * - it is `frozen`, and comes back when others have answered everything
 * - its conversation is taken from it: what runs is `interrupted`
 * - it is told to leave: `leaving`
 */
export interface Death {
  readonly at: number
  readonly how: typeof hows[number]
}

/** What is taken away to see that it is needed. */
export type Mutation = "marks" | "keys" | "epoch" | "closing"

export interface Scenario {
  readonly deaths: ReadonlyArray<Death>
  /** The message that is cancelled, and after how many writes of the first process. */
  readonly cancel?: { readonly key: string; readonly at: number } | undefined
  readonly mutation?: Mutation | undefined
}

const hows = ["before", "after", "frozen", "interrupted", "leaving"] as const

/** How many scenarios of one death there are. They come first. */
export const single = (writes: number): number => writes * hows.length

/** Gives a generator of whole numbers below a bound: of one seed it is the same everywhere. */
export const randomOf = (n: number) => {
  let seed = (n + 1) * 2654435761 >>> 0
  return (below: number) => {
    seed ^= seed << 13
    seed ^= seed >>> 17
    seed ^= seed << 5
    return (seed >>> 0) % below
  }
}

/** The scenarios of one death, and then those of up to three, some with a message that is cancelled. */
export const scenarioOf = (n: number, writes: number): Scenario => {
  if (n < single(writes)) return { deaths: [{ at: Math.floor(n / hows.length), how: hows[n % hows.length]! }] }
  const next = randomOf(n)
  const deaths = Array.from({ length: 1 + next(3) }, () => ({ at: next(writes), how: hows[next(hows.length)]! }))
  const { key } = messages[next(messages.length)]!
  return { deaths, cancel: next(3) === 0 ? { key, at: next(writes) } : undefined }
}
