/**
 * Readers that wait for events of conversations. What waits for nobody isn't remembered.
 */
import { Deferred, Effect } from "effect"

/** A reader that waits for events after a number. */
interface Waiter {
  readonly after: number
  readonly woken: Deferred.Deferred<void>
}

export class Waiters {
  readonly #all = new Map<string, Set<Waiter>>()

  /** The conversations that somebody waits for. */
  get ids(): Iterable<string> {
    return this.#all.keys()
  }

  /** Wakes readers that wait for an event of that number, or one before it. */
  wake(id: string, number: number): void {
    for (const { after, woken } of this.#all.get(id) ?? []) {
      if (number > after) Deferred.doneUnsafe(woken, Effect.void)
    }
  }

  /** Wakes everybody who waits for a conversation. */
  wakeAll(id: string): void {
    this.wake(id, Number.POSITIVE_INFINITY)
  }

  /** Waits to be woken, unless there is something already: that is looked for when nothing can be missed any more. */
  wait(id: string, after: number, look: Effect.Effect<boolean>): Effect.Effect<void> {
    return Effect.acquireUseRelease(
      Effect.sync(() => {
        const waiter: Waiter = { after, woken: Deferred.makeUnsafe() }
        this.#all.set(id, (this.#all.get(id) ?? new Set()).add(waiter))
        return waiter
      }),
      ({ woken }) => Effect.flatMap(look, (isThere) => isThere ? Effect.void : Deferred.await(woken)),
      (waiter) =>
        Effect.sync(() => {
          const waiters = this.#all.get(id)
          if (waiters?.delete(waiter) === true && waiters.size === 0) this.#all.delete(id)
        })
    )
  }
}
