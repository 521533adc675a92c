/**
 * What a mock provider was asked and what it answered, in the order of arrival.
 *
 * @since 0.1.0
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type { Place } from "../chain/Choose.ts"
import type { Delivery } from "../Delivery.ts"
import type { Asked } from "./Asked.ts"

/**
 * How far the response to a request got.
 *
 * It is `"pending"` until the end of the response is sent, and then `"sent"`. The script may end it as `"cut"`, if the connection breaks,
 * or as `"hanging"`, if nothing follows. It is `"aborted"` if the client gave up, or if closing the provider broke off a response that hung
 * before it began.
 *
 * @category models
 * @since 0.1.0
 */
export type Outcome = "pending" | "sent" | "cut" | "hanging" | "aborted"

/**
 * One request to a mock provider, with what answered it, how, and when.
 *
 * **Details**
 *
 * - `number` counts the requests from 1. `protocol` is `undefined` if no model is served at the path.
 * - `by` says in words what answered, such as a handler, a step of a chain, a status of the option `status`, a refusal, the fallback
 *   (the last text of the user, if nothing else answers), or nobody. `step` is the place of the step.
 * - `miss` says why no script answered the request, or why its chain didn't and the handler answered instead.
 * - `warnings` say what is wrong in the instruction chain that it carries, and which parts of the response the protocol has no place for.
 * - `asked` is what the request asks for, if the provider accepts it, and `response` what the script answers. `status` is missing until
 *   there is a response.
 * - `arrivedAt`, `answeredAt` and `endedAt` are in milliseconds, by `Clock`.
 *
 * @category models
 * @since 0.1.0
 */
export interface Entry {
  readonly number: number
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly protocol: Asked["protocol"] | undefined
  readonly body: string
  readonly asked?: Asked
  readonly by: string
  readonly step?: Place
  readonly miss?: string
  readonly warnings?: ReadonlyArray<string>
  readonly status?: number
  readonly response?: Delivery
  readonly outcome: Outcome
  readonly arrivedAt: number
  readonly answeredAt?: number
  readonly endedAt?: number
}

/**
 * Why no script answered the request of this `number`, or why its chain didn't and the handler answered instead. With `isDefect` the
 * handler or the mock itself died, and the reason says how.
 *
 * @category models
 * @since 0.1.0
 */
export interface Miss {
  readonly number: number
  readonly reason: string
  readonly isDefect: boolean
}

interface Waiting {
  readonly count: number
  readonly arrived: Deferred.Deferred<void>
}

/** The last misses, up to a number of them, and how many there were before. */
class Misses {
  readonly #limit: number
  readonly #kept: Array<Miss> = []
  #earlier = 0

  constructor(limit: number) {
    this.#limit = limit
  }

  add(miss: Miss): void {
    this.#kept.push(miss)
    if (this.#kept.length <= this.#limit) return
    this.#kept.shift()
    this.#earlier++
  }

  get kept(): ReadonlyArray<Miss> {
    return this.#kept.slice()
  }

  get earlier(): number {
    return this.#earlier
  }
}

/** The last requests and misses, up to a number of them, and how many there were. */
export class Journal {
  readonly misses: Misses
  /** The misses with `isDefect`. They are kept apart, so that later misses don't push them out. */
  readonly defects: Misses
  readonly #limit: number
  readonly #entries = new Map<number, Entry>()
  #waiting: ReadonlyArray<Waiting> = []
  #count = 0

  constructor(limit: number) {
    this.#limit = limit
    this.misses = new Misses(limit)
    this.defects = new Misses(limit)
  }

  /** Adds a request, and returns its number. */
  open(request: Omit<Entry, "number" | "by" | "outcome">): number {
    const number = ++this.#count
    this.#entries.set(number, { number, by: "nobody yet", outcome: "pending", ...request })
    if (this.#entries.size > this.#limit) this.#entries.delete(number - this.#limit)
    const due = this.#waiting.filter(({ count }) => count <= number)
    this.#waiting = this.#waiting.filter(({ count }) => count > number)
    for (const { arrived } of due) Deferred.doneUnsafe(arrived, Effect.void)
    return number
  }

  write(number: number, change: Partial<Entry>): void {
    const entry = this.#entries.get(number)
    if (entry !== undefined) this.#entries.set(number, { ...entry, ...change })
  }

  /** Notes a miss, also in the entry of its request. */
  miss(miss: Miss): void {
    this.misses.add(miss)
    if (miss.isDefect) this.defects.add(miss)
    this.write(miss.number, { miss: miss.reason })
  }

  get entries(): ReadonlyArray<Entry> {
    return [...this.#entries.values()]
  }

  /** Waits until so many requests have arrived. */
  wait(count: number): Effect.Effect<void> {
    return Effect.suspend(() => {
      if (this.#count >= count) return Effect.void
      const arrived = Deferred.makeUnsafe<void>()
      this.#waiting = [...this.#waiting, { count, arrived }]
      return Deferred.await(arrived)
    })
  }
}
