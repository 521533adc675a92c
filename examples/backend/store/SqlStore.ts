/**
 * The store over an SQL database: SQLite for one process, or Postgres, which several instances share.
 *
 * Events are shown here as soon as they are logged. They are kept with each save; beside that ten times a second where other
 * instances wait for them, and else once. An instance of several asks the database four times a second about conversations
 * that it runs, or whose readers wait for what others run.
 */
import { PgClient } from "@effect/sql-pg"
import { Clock, DateTime, Deferred, Effect, Layer, type Redacted, Schema } from "effect"
import { KeyValueStore } from "effect/persistence"
import { type Migrator, SqlClient, type SqlError } from "effect/sql"
import { Session } from "troupe"
import * as Held from "./Held.ts"
import * as Locks from "./Locks.ts"
import * as Migrations from "./Migrations.ts"
import { Recent } from "./Recent.ts"
import * as Sqlite from "./Sqlite.ts"
import { EventsGone, type Lease, type Marks, type Numbered, type Row, Store, StoreFailed } from "./Store.ts"
import { inTransaction } from "./Transaction.ts"

export interface Options {
  /** How many events of a conversation are kept, about. By default 5000. */
  readonly keep?: number
}

/** How often events are kept that no save keeps: where other instances wait for them, and where a death alone loses them. */
const flushing = { shared: "100 millis", single: "1 second" } as const

/** How often a shared database is asked for what other instances did. */
const polling = "250 millis"

type Integer = number | bigint

interface ConversationRow {
  readonly id: string
  readonly tenant: string
  readonly title: string
  readonly created_at: Integer
  readonly updated_at: Integer
  readonly in_flight: Integer
  readonly cursor: Integer
}

const rowOf = (row: ConversationRow): Row => ({
  tenant: row.tenant,
  id: row.id,
  title: row.title,
  createdAt: DateTime.makeUnsafe(Number(row.created_at)),
  updatedAt: DateTime.makeUnsafe(Number(row.updated_at)),
  isInFlight: Number(row.in_flight) === 1
})

const decode = Schema.decodeEffect(Held.EventJson)

const failedTo = (operation: string) => Effect.mapError((cause: unknown) => new StoreFailed({ operation, cause }))

/** A reader that waits for events after a number. */
interface Waiter {
  readonly after: number
  readonly woken: Deferred.Deferred<void>
}

const make = Effect.fnUntraced(function*({ keep = 5000 }: Options) {
  const sql = yield* SqlClient.SqlClient
  const states = yield* KeyValueStore.KeyValueStore
  const locks = yield* Locks.Locks
  const write = Held.writer(sql, states, keep)
  const leases = new Map<string, Held.Held>()
  const waiting = new Map<string, Set<Waiter>>()
  const columns = sql`id, tenant, title, created_at, updated_at, in_flight, cursor`
  const withStates = Effect.provideService(KeyValueStore.KeyValueStore, states)

  const wake = (id: string, last: number): void => {
    for (const { after, woken } of waiting.get(id) ?? []) {
      if (last > after) Deferred.doneUnsafe(woken, Effect.void)
    }
  }

  const lose = (held: Held.Held): void => {
    held.recent = undefined
    Deferred.doneUnsafe(held.lost, Effect.void)
    wake(held.id, Number.POSITIVE_INFINITY)
  }

  /** Writes under a lease, and loses it where it isn't held any more. */
  const persist = (held: Held.Held, writing: Held.Writing) =>
    Effect.tapErrorTag(write(held, writing), "LeaseLost", () => Effect.sync(() => lose(held)))

  const leaseOf = (held: Held.Held, last: number): Lease => ({
    lost: Deferred.await(held.lost),
    cancelled: Deferred.await(held.cancelled),
    log: (event, when) => {
      const { recent } = held
      // What a lost lease logs is shown to nobody.
      if (recent === undefined) return { number: last, event }
      const numbered = recent.push(event, when)
      last = numbered.number
      wake(held.id, recent.shown)
      if (recent.waitingCount > Held.maxWaiting) lose(held)
      return numbered
    },
    mark: ({ messageKey, ...marks }: Marks) => {
      held.marks = { ...held.marks, ...marks }
      if (messageKey !== undefined) held.messageKeys = [...held.messageKeys, messageKey]
    },
    flush: Effect.asVoid(failedTo("keep events")(persist(held, { marks: true }))),
    states: KeyValueStore.make({
      get: states.get,
      getUint8Array: states.getUint8Array,
      remove: states.remove,
      clear: states.clear,
      size: states.size,
      keys: states.keys,
      set: (key, value) =>
        Effect.suspend(() => {
          if (key !== held.id || typeof value !== "string") return Effect.die(new Error(`${key} isn't ${held.id}`))
          const saved = { document: value, cursor: held.recent?.last ?? 0 }
          return Effect.mapBoth(persist(held, { marks: true, saved }), {
            onSuccess: () => wake(held.id, held.recent?.shown ?? 0),
            onFailure: (cause) =>
              new KeyValueStore.KeyValueStoreError({ message: cause.message, method: "set", key, cause })
          })
        })
    })
  })

  const acquire = Effect.fnUntraced(function*(id: string) {
    const held = Held.make(id)
    const holder: Locks.Holder = { id, lost: Effect.sync(() => lose(held)) }
    if (leases.has(id)) return undefined
    leases.set(id, held)
    const giveBack = Effect.andThen(locks.release(holder), Effect.sync(() => leases.delete(id)))
    const take = Effect.gen(function*() {
      if (!(yield* locks.take(holder))) return undefined
      const [row] = yield* sql<{ readonly base: Integer; readonly last: Integer }>`
        UPDATE conversations
        SET base = CASE WHEN lease IS NULL THEN 0 WHEN last > base THEN last + ${Held.gap} ELSE base + ${Held.gap} END,
          lease = ${held.token}
        WHERE id = ${id}
        RETURNING base, last`
      if (row === undefined) return undefined
      if (!Deferred.isDoneUnsafe(held.lost)) {
        held.recent = new Recent(Number(row.last), Number(row.base), Math.min(Held.capacity, keep))
      }
      return held
    })
    return yield* take.pipe(
      Effect.onExit((exit) => exit._tag === "Success" && exit.value !== undefined ? Effect.void : giveBack),
      Effect.map((held) => held === undefined ? undefined : { held, giveBack })
    )
  })

  /** Keeps what waits. What is given back meanwhile has seen to that itself. */
  const flush = (held: Held.Held) =>
    Effect.catchTag(
      persist(held, { marks: false }),
      "LeaseLost",
      (error) => leases.get(held.id) === held ? Effect.fail(error) : Effect.void
    ).pipe(Effect.ignoreCause({ log: "Warn", message: "Events can't be kept" }))

  const release = ({ giveBack, held }: { readonly giveBack: Effect.Effect<void>; readonly held: Held.Held }) =>
    (held.recent === undefined ? Effect.void : flush(held)).pipe(
      Effect.andThen(Effect.sync(() => {
        held.recent = undefined
      })),
      Effect.andThen(giveBack)
    )

  const flushAll = Effect.suspend(() =>
    Effect.forEach(
      [...leases.values()].filter(({ recent }) => recent !== undefined && recent.waitingCount > 0),
      flush,
      { concurrency: 4, discard: true }
    )
  )
  yield* Effect.forkScoped(Effect.forever(Effect.delay(flushAll, locks.isShared ? flushing.shared : flushing.single)))

  /** Looks at what other instances did with conversations that are run or waited for here. */
  const poll = Effect.gen(function*() {
    const held = [...leases.values()].filter(({ recent }) => recent !== undefined)
    const ids = [...new Set([...held.map(({ id }) => id), ...waiting.keys()])]
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
    for (const id of ids) wake(id, Number(found.get(id)?.last ?? Number.POSITIVE_INFINITY))
  })
  if (locks.isShared) {
    const polled = Effect.ignoreCause(poll, { log: "Warn", message: "Other instances can't be followed" })
    yield* Effect.forkScoped(Effect.forever(Effect.delay(polled, polling)))
  }

  /** The number of the last event that is kept; none of a conversation that isn't there. */
  const lastOf = (id: string) =>
    Effect.map(
      sql<{ readonly last: Integer }>`SELECT last FROM conversations WHERE id = ${id}`,
      ([row]) => row === undefined ? undefined : Number(row.last)
    )

  const beginRead = sql.onDialectOrElse({
    pg: () => "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
    orElse: () => "BEGIN"
  })

  return Store.of({
    create: (tenant, id, state) =>
      Effect.gen(function*() {
        const now = yield* Clock.currentTimeMillis
        const row = { id, tenant, title: "", created_at: now, updated_at: now }
        yield* sql`INSERT INTO conversations ${sql.insert(row)}`
        const { save } = yield* withStates(Session.store(id).open)
        yield* save(state)
        return { row: rowOf({ ...row, in_flight: 0, cursor: 0 }), state, cursor: 0 }
      }).pipe(Effect.scoped, inTransaction(sql), failedTo("keep a conversation")),

    list: (tenant) =>
      sql<ConversationRow>`
        SELECT ${columns} FROM conversations WHERE tenant = ${tenant} ORDER BY updated_at DESC, id LIMIT 100`.pipe(
        Effect.map((rows) => rows.map(rowOf)),
        failedTo("list conversations")
      ),

    read: (tenant, id) =>
      Effect.gen(function*() {
        const [row] = yield* sql<ConversationRow>`
          SELECT ${columns} FROM conversations WHERE tenant = ${tenant} AND id = ${id}`
        if (row === undefined) return undefined
        const state = yield* withStates(Session.load(id))
        return state === undefined ? undefined : { row: rowOf(row), state, cursor: Number(row.cursor) }
      }).pipe(
        inTransaction(sql),
        Effect.provideService(SqlClient.BeginTransaction, beginRead),
        failedTo("read a conversation")
      ),

    remove: (tenant, id) =>
      Effect.gen(function*() {
        const removed = yield* sql`DELETE FROM conversations WHERE tenant = ${tenant} AND id = ${id} RETURNING id`
        if (removed.length === 0) return
        yield* sql`DELETE FROM events WHERE conversation = ${id}`
        yield* sql`DELETE FROM messages WHERE conversation = ${id}`
        yield* withStates(Session.remove(id))
        return leases.get(id)
      }).pipe(
        inTransaction(sql),
        failedTo("remove a conversation"),
        Effect.map((held) => held === undefined ? wake(id, Number.POSITIVE_INFINITY) : lose(held))
      ),

    hasMessage: (id, key) =>
      sql`SELECT 1 AS found FROM messages WHERE conversation = ${id} AND key = ${Held.keyOf(key)}`.pipe(
        Effect.map((rows) => rows.length > 0),
        failedTo("look for a message")
      ),

    lease: (id) =>
      Effect.acquireRelease(
        failedTo("take a lease")(acquire(id)),
        (taken) => taken === undefined ? Effect.void : release(taken)
      ).pipe(
        Effect.map((taken) => taken === undefined ? undefined : leaseOf(taken.held, taken.held.recent?.last ?? 0))
      ),

    cancel: (id) =>
      Effect.suspend(() => {
        const held = leases.get(id)
        if (held !== undefined) Deferred.doneUnsafe(held.cancelled, Effect.void)
        return sql`UPDATE conversations SET cancelled = lease WHERE id = ${id}`
      }).pipe(Effect.asVoid, failedTo("ask for a cancellation")),

    inFlight: sql<{ readonly tenant: string; readonly id: string }>`
      SELECT tenant, id FROM conversations WHERE in_flight = 1`.pipe(failedTo("look for runs in flight")),

    events: (id, after, limit) =>
      Effect.gen(function*() {
        const recent = leases.get(id)?.recent
        const here = recent?.after(after, limit)
        if (here !== undefined) return here
        // What is let go of from here on is in the database already.
        const rest = recent?.all ?? []
        const rows = yield* sql<
          { readonly gone: Integer; readonly number: Integer | null; readonly event: string }
        >`
          SELECT c.gone, e.number, e.event
          FROM conversations c LEFT JOIN events e ON e.conversation = c.id AND e.number > ${after}
          WHERE c.id = ${id} ORDER BY e.number LIMIT ${limit}`
        const oldest = Number(rows[0]?.gone ?? after + 1)
        if (after < oldest) return yield* new EventsGone({ cursor: after, oldest })
        const kept: Array<Numbered> = []
        for (const { event, number } of rows) {
          if (number !== null) kept.push({ number: Number(number), event: yield* decode(event) })
        }
        const last = kept.at(-1)?.number ?? after
        return [...kept, ...rest.filter(({ number }) => number > last)].slice(0, limit)
      }).pipe(
        Effect.mapError((cause) =>
          cause instanceof EventsGone ? cause : new StoreFailed({ operation: "read events", cause })
        )
      ),

    awaitEvents: (id, after) =>
      Effect.acquireUseRelease(
        Effect.sync(() => {
          const waiter: Waiter = { after, woken: Deferred.makeUnsafe() }
          const waiters = waiting.get(id) ?? new Set()
          waiting.set(id, waiters.add(waiter))
          return waiter
        }),
        ({ woken }) => {
          const recent = leases.get(id)?.recent
          if (recent !== undefined) return recent.shown > after ? Effect.void : Deferred.await(woken)
          return Effect.flatMap(
            Effect.orElseSucceed(lastOf(id), () => undefined),
            (last) => last === undefined || last > after ? Effect.void : Deferred.await(woken)
          )
        },
        (waiter) =>
          Effect.sync(() => {
            const waiters = waiting.get(id)
            if (waiters?.delete(waiter) === true && waiters.size === 0) waiting.delete(id)
          })
      ),

    check: sql`SELECT 1`.pipe(Effect.asVoid, failedTo("be reached"))
  })
})

/** The store over a database that has its tables. */
const layerSql = (options: Options) =>
  Layer.effect(Store, make(options)).pipe(
    Layer.provide(KeyValueStore.layerSql({ table: Migrations.states })),
    Layer.provide(Layer.effectDiscard(Migrations.run))
  )

/**
 * The store in a folder, which is made where it isn't there.
 *
 * Fails with `FolderInUse` while another process has the folder open.
 */
export const layerFolder = (
  folder: string,
  options: Options = {}
): Layer.Layer<
  Store,
  Sqlite.FolderInUse | Sqlite.FolderUnusable | Migrator.MigrationError | SqlError.SqlError
> => layerSql(options).pipe(Layer.provide(Locks.layerSingle), Layer.provide(Sqlite.layer(folder)))

/** The largest row that can be read, in bytes: a state is one value. */
const maxMessageSize = 256 * 1024 * 1024

/** The store in Postgres, which several instances may share. */
export const layerPostgres = (
  url: Redacted.Redacted,
  options: Options = {}
): Layer.Layer<Store, Migrator.MigrationError | SqlError.SqlError> =>
  layerSql(options).pipe(
    Layer.provide(Locks.layerPostgres({ url })),
    Layer.provide(PgClient.layer({ url, maxMessageSize }))
  )
