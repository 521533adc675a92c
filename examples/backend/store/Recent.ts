/**
 * The last events of a conversation whose lease is held here: those that aren't kept yet, and some that are.
 *
 * Events become kept in their order, and only kept ones are let go. So every event that isn't here any more is in the
 * database, and `from` says after which number all are here. Those from the first that awaits a save are shown to nobody.
 */
import type { Event } from "../api/Conversations.ts"
import type { Numbered } from "./Store.ts"

export class Recent {
  /** Every event after this number is here. */
  from: number
  /** The number of the last event. */
  last: number
  readonly #capacity: number
  #next: number
  #events: Array<Numbered> = []
  /** How many of the events, from the first, are kept. */
  #kept = 0
  /** The events that await a save, in their order: their numbers, and those of the events before them. */
  #held: Array<{ readonly number: number; readonly before: number }> = []

  /** `last` is the number of the last event that is kept, `base` the one that new events are numbered above. */
  constructor(last: number, base: number, capacity: number) {
    this.from = last
    this.last = last
    this.#next = base + 1
    this.#capacity = capacity
  }

  push(event: Event, when?: "afterSave" | undefined): Numbered {
    const numbered: Numbered = { number: this.#next++, event }
    if (when === "afterSave") this.#held.push({ number: numbered.number, before: this.last })
    this.#events.push(numbered)
    this.last = numbered.number
    return numbered
  }

  /** The number of the last event that may be shown. */
  get shown(): number {
    return this.#held[0]?.before ?? this.last
  }

  /** The events that aren't kept yet, with a save or without one. */
  waiting(withSave: boolean): ReadonlyArray<Numbered> {
    return this.#events.slice(this.#kept, withSave ? undefined : this.#end)
  }

  get waitingCount(): number {
    return this.#events.length - this.#kept
  }

  /** All that are here and may be shown. */
  get all(): ReadonlyArray<Numbered> {
    return this.#events.slice(0, this.#end)
  }

  /** How many of the events that are here may be shown. */
  get #end(): number {
    return this.#events.findLastIndex(({ number }) => number <= this.shown) + 1
  }

  /** Says that the next `count` events are kept now, and lets go of the oldest where there are many. */
  keep(count: number): void {
    this.#kept += count
    const last = this.#events[this.#kept - 1]?.number ?? this.from
    this.#held = this.#held.filter(({ number }) => number > last)
    // Now and then, since it costs as much as there is.
    if (this.#kept <= 2 * this.#capacity) return
    const excess = this.#kept - this.#capacity
    this.from = this.#events[excess - 1]!.number
    this.#events = this.#events.slice(excess)
    this.#kept = this.#capacity
  }

  /** Events after a number, or nothing where some of them may no longer be here. */
  after(number: number, limit: number): ReadonlyArray<Numbered> | undefined {
    if (number < this.from) return undefined
    const start = this.#events.findLastIndex((event) => event.number <= number) + 1
    return this.#events.slice(start, Math.min(start + limit, this.#end))
  }
}
