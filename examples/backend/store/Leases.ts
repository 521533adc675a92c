/**
 * The leases that are held here. What is kept of one goes with it.
 *
 * What is logged is kept with each save; beside that ten times a second where other instances wait for it, and else once. An
 * instance of several asks the database four times a second about conversations that it runs, or whose readers wait for what
 * others run.
 */
import { Deferred, Effect } from "effect"
import { KeyValueStore } from "effect/persistence"
import { SqlClient } from "effect/sql"
import { Session } from "troupe"
import * as Held from "./Held.ts"
import * as Locks from "./Locks.ts"
import * as Outage from "./Outage.ts"
import { Recent } from "./Recent.ts"
import { failedTo, type Lease } from "./Store.ts"
import type { Waiters } from "./Waiters.ts"

/** How often events are kept that no save keeps: where other instances wait for them, and where a death alone loses them. */
const flushing = { shared: "100 millis", single: "1 second" } as const

/** How often a shared database is asked for what other instances did. */
const polling = "250 millis"

type Integer = number | bigint

/**
 * Gives what takes leases and knows of them, until the scope closes. `keep` is how many events of a conversation are kept,
 * about.
 */
export const make = Effect.fnUntraced(function*(waiters: Waiters, keep: number) {
  const sql = yield* SqlClient.SqlClient
  const states = yield* KeyValueStore.KeyValueStore
  const locks = yield* Locks.Locks
  const outage = yield* Outage.Outage
  const write = Held.writer(sql, states, keep)
  const all = new Map<string, Held.Held>()

  const lose = (held: Held.Held): void => {
    held.recent = undefined
    Deferred.doneUnsafe(held.lost, Effect.void)
    waiters.wakeAll(held.id)
  }

  /** Writes under a lease, and loses it where it isn't held any more. */
  const persist = (held: Held.Held, writing: Held.Writing) =>
    Effect.tapError(
      write(held, writing),
      (error) => error._tag === "LeaseLost" ? Effect.sync(() => lose(held)) : outage.notice(error)
    )

  const leaseOf = (held: Held.Held, last: number): Lease => ({
    lost: Deferred.await(held.lost),
    cancelled: Deferred.await(held.cancelled),
    log: (event, when) => {
      const { recent } = held
      // What a lost lease logs is shown to nobody.
      if (recent === undefined) return { number: last, event }
      const numbered = recent.push(event, when)
      last = numbered.number
      waiters.wake(held.id, recent.shown)
      if (recent.waitingCount > Held.maxWaiting) lose(held)
      return numbered
    },
    mark: ({ messageKey, ...marks }) => {
      held.marks = { ...held.marks, ...marks }
      if (messageKey !== undefined) held.messageKeys = [...held.messageKeys, messageKey]
    },
    flush: failedTo("keep events")(persist(held, { marks: true })),
    states: KeyValueStore.make({
      get: states.get,
      getUint8Array: states.getUint8Array,
      remove: states.remove,
      clear: states.clear,
      size: states.size,
      keys: states.keys,
      set: (key, value) =>
        Effect.suspend(() => {
          const isOwn = key === held.id || key.startsWith(`${held.id}#`)
          if (!isOwn || typeof value !== "string") return Effect.die(new Error(`${key} isn't of ${held.id}`))
          const shows = Session.showsState(held.id, key, value)
          const saved = { key, value, cursor: shows ? held.recent?.last ?? 0 : undefined }
          return Effect.mapBoth(persist(held, { marks: shows, saved }), {
            onSuccess: () => waiters.wake(held.id, held.recent?.shown ?? 0),
            onFailure: (cause) =>
              new KeyValueStore.KeyValueStoreError({ message: cause.message, method: "set", key, cause })
          })
        })
    })
  })

  const acquire = Effect.fnUntraced(function*(id: string) {
    if (all.has(id)) return undefined
    const held = Held.make(id)
    const holder: Locks.Holder = { id, lost: Effect.sync(() => lose(held)) }
    all.set(id, held)
    const giveBack = Effect.andThen(locks.release(holder), Effect.sync(() => all.delete(id)))
    const taking = Effect.gen(function*() {
      if (!(yield* locks.take(holder))) return undefined
      const [row] = yield* sql<{ readonly base: Integer; readonly last: Integer }>`
        UPDATE conversations
        SET base = CASE WHEN lease IS NULL THEN 0 WHEN last > base THEN last + ${Held.gap} ELSE base + ${Held.gap} END,
          lease = ${held.token}
        WHERE id = ${id}
        RETURNING base, last`
      if (row === undefined) return undefined
      // The lock may be lost already.
      if (!Deferred.isDoneUnsafe(held.lost)) {
        held.recent = new Recent(Number(row.last), Number(row.base), Math.min(Held.capacity, keep))
      }
      return { held, giveBack, lease: leaseOf(held, Number(row.last)) }
    })
    return yield* Effect.onExit(
      taking,
      (exit) => exit._tag === "Success" && exit.value !== undefined ? Effect.void : giveBack
    )
  })

  /** Keeps what waits. That a lease is lost is told by the run that had it. */
  const flush = (held: Held.Held) =>
    Effect.catchTag(persist(held, { marks: false }), "LeaseLost", () => Effect.void).pipe(
      Outage.ignore(outage, "Events can't be kept")
    )

  const flushAll = Effect.suspend(() =>
    Effect.forEach(
      [...all.values()].filter(({ recent }) => recent !== undefined && recent.waitingCount > 0),
      flush,
      { concurrency: 4, discard: true }
    )
  )
  yield* Effect.forkScoped(Effect.forever(Effect.delay(flushAll, locks.isShared ? flushing.shared : flushing.single)))

  /** Looks at what other instances did with conversations that are run or waited for here. */
  const poll = Effect.gen(function*() {
    const held = [...all.values()].filter(({ recent }) => recent !== undefined)
    const ids = [...new Set([...held.map(({ id }) => id), ...waiters.ids])]
    if (ids.length === 0) return
    const rows = yield* sql<{
      readonly id: string
      readonly last: Integer
      readonly lease: string | null
      readonly cancelled: string | null
    }>`SELECT id, last, lease, cancelled FROM conversations WHERE ${sql.in("id", ids)}`.unprepared
    const found = new Map(rows.map((row) => [row.id, row]))
    for (const one of held) {
      const row = found.get(one.id)
      if (row?.lease !== one.token) lose(one)
      else if (row.cancelled === one.token) Deferred.doneUnsafe(one.cancelled, Effect.void)
    }
    for (const id of ids) {
      const row = found.get(id)
      if (row === undefined) waiters.wakeAll(id)
      else waiters.wake(id, Number(row.last))
    }
  })
  if (locks.isShared) {
    const polled = Outage.ignore(outage, "Other instances can't be followed")(poll)
    yield* Effect.forkScoped(Effect.forever(Effect.delay(polled, polling)))
  }

  return {
    /** Takes the lease on a conversation, and gives it back when the scope closes. */
    take: (id: string) =>
      Effect.acquireRelease(acquire(id), (taken) =>
        taken === undefined ? Effect.void : Effect.andThen(
          taken.held.recent === undefined ? Effect.void : flush(taken.held),
          Effect.suspend(() => {
            taken.held.recent = undefined
            return taken.giveBack
          })
        )).pipe(Effect.map((taken) => taken?.lease)),
    /** The events of a conversation whose lease is held here. */
    recent: (id: string): Recent | undefined => all.get(id)?.recent,
    /** Loses the lease on a conversation, if it is held here. */
    lose: (id: string): void => {
      const held = all.get(id)
      if (held !== undefined) lose(held)
    },
    /** Asks who holds the lease, here or elsewhere, to cancel. */
    cancel: (id: string) =>
      Effect.suspend(() => {
        const held = all.get(id)
        if (held !== undefined) Deferred.doneUnsafe(held.cancelled, Effect.void)
        return Effect.asVoid(sql`UPDATE conversations SET cancelled = lease WHERE id = ${id}`)
      })
  }
})
