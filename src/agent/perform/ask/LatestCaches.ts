/**
 * The large caches that were used last. They are weakly referenced from the next turn of the event loop on.
 *
 * A `WeakRef` keeps what it refers to alive until the job that made it ends (ECMAScript, `AddToKeptObjects`). Runs whose models take no time
 * are all in one job, so weak references that each run makes at once would keep the caches of all of them.
 *
 * @since 0.1.0
 */

/** How a cache is let go of: `weaken` replaces the reference to it by a weak one, and `drop` removes the reference. */
interface LettingGo {
  readonly weaken: () => void
  readonly drop: () => void
}

/** How many caches one turn of the event loop keeps alive at most. */
export const most = 32

/** How each of the caches is let go of, the one used longest ago first. */
const latest = new Map<object, LettingGo>()

const weakenAll = (): void => {
  const all = [...latest.values()]
  latest.clear()
  for (const { weaken } of all) weaken()
}

/** Keeps a cache alive until the next turn of the event loop, unless `most` others are used until then. */
export const use = (by: object, lettingGo: LettingGo): void => {
  if (latest.size === 0) setTimeout(weakenAll, 0)
  latest.delete(by)
  latest.set(by, lettingGo)
  if (latest.size <= most) return
  for (const [oldest, { drop }] of latest) {
    latest.delete(oldest)
    return drop()
  }
}
