/**
 * The store over an SQL database: SQLite for one process, or Postgres, which several instances share.
 */
import { PgClient } from "@effect/sql-pg"
import { Clock, DateTime, Effect, Layer, type Redacted, Schema } from "effect"
import { KeyValueStore } from "effect/persistence"
import { type Migrator, SqlClient, type SqlError } from "effect/sql"
import { Session } from "troupe"
import { Change } from "../api/Conversations.ts"
import { EventJson, keyOf } from "./Held.ts"
import * as Leases from "./Leases.ts"
import * as Locks from "./Locks.ts"
import * as Migrations from "./Migrations.ts"
import { layer as layerOutage, Outage } from "./Outage.ts"
import * as Sqlite from "./Sqlite.ts"
import { EventsGone, failedTo as failed, type Numbered, type Row, Store, StoreFailed } from "./Store.ts"
import { inTransaction } from "./Transaction.ts"
import { Waiters } from "./Waiters.ts"

export interface Options {
  /** How many events of a conversation are kept, about. By default 5000. */
  readonly keep?: number
}

type Integer = number | bigint

interface ConversationRow {
  readonly id: string
  readonly tenant: string
  readonly title: string
  readonly created_at: Integer
  readonly updated_at: Integer
  readonly in_flight: Integer
  readonly cursor: Integer
  readonly changes: string
}

const decodeChanges = Schema.decodeSync(Schema.fromJsonString(Schema.Array(Change)))

const rowOf = (row: ConversationRow): Row => ({
  tenant: row.tenant,
  id: row.id,
  title: row.title,
  createdAt: DateTime.makeUnsafe(Number(row.created_at)),
  updatedAt: DateTime.makeUnsafe(Number(row.updated_at)),
  isInFlight: Number(row.in_flight) === 1,
  changes: decodeChanges(row.changes)
})

const decode = Schema.decodeEffect(EventJson)

const make = Effect.fnUntraced(function*({ keep = 5000 }: Options) {
  const sql = yield* SqlClient.SqlClient
  const states = yield* KeyValueStore.KeyValueStore
  const outage = yield* Outage
  const waiters = new Waiters()
  const leases = yield* Leases.make(waiters, keep)
  const columns = sql`id, tenant, title, created_at, updated_at, in_flight, cursor, changes`
  const withStates = Effect.provideService(KeyValueStore.KeyValueStore, states)

  const failedTo = (operation: string) => <A, E, R>(self: Effect.Effect<A, E, R>) =>
    failed(operation)(Effect.tapError(self, outage.notice))

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
        return { row: rowOf({ ...row, in_flight: 0, cursor: 0, changes: "[]" }), state, cursor: 0 }
      }).pipe(Effect.scoped, inTransaction(sql), failedTo("keep a conversation")),

    list: (tenant) =>
      sql<ConversationRow>`
        SELECT ${columns} FROM conversations WHERE tenant = ${tenant} ORDER BY updated_at DESC, id LIMIT 100`.pipe(
        Effect.map((rows) => rows.map(rowOf)),
        failedTo("list conversations")
      ),

    awaiting: (tenant) =>
      sql<ConversationRow>`
        SELECT ${columns} FROM conversations WHERE tenant = ${tenant} AND awaits = 1
        ORDER BY updated_at, id LIMIT 100`.pipe(
        Effect.map((rows) => rows.map(rowOf)),
        failedTo("list what awaits approval")
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
        if (removed.length === 0) return false
        yield* sql`DELETE FROM events WHERE conversation = ${id}`
        yield* sql`DELETE FROM messages WHERE conversation = ${id}`
        yield* withStates(Session.remove(id))
        return true
      }).pipe(
        inTransaction(sql),
        failedTo("remove a conversation"),
        Effect.map((isRemoved) => {
          if (!isRemoved) return
          leases.lose(id)
          waiters.wakeAll(id)
        })
      ),

    hasMessage: (id, key) =>
      sql`SELECT 1 AS found FROM messages WHERE conversation = ${id} AND key = ${keyOf(key)}`.pipe(
        Effect.map((rows) => rows.length > 0),
        failedTo("look for a message")
      ),

    lease: (id) => failedTo("take a lease")(leases.take(id)),

    cancel: (id) => failedTo("ask for a cancellation")(leases.cancel(id)),

    inFlight: sql<{ readonly tenant: string; readonly id: string }>`
      SELECT tenant, id FROM conversations WHERE in_flight = 1`.pipe(failedTo("look for runs in flight")),

    events: (id, after, limit) =>
      Effect.gen(function*() {
        const recent = leases.recent(id)
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
        Effect.tapError(outage.notice),
        Effect.mapError((cause) =>
          cause instanceof EventsGone ? cause : new StoreFailed({ operation: "read events", cause })
        )
      ),

    awaitEvents: (id, after) =>
      waiters.wait(
        id,
        after,
        Effect.suspend(() => {
          const recent = leases.recent(id)
          if (recent !== undefined) return Effect.succeed(recent.shown > after)
          // Who can't be told here is told when it reads.
          return Effect.orElseSucceed(
            Effect.map(lastOf(id), (last) => last === undefined || last > after),
            () => true
          )
        })
      ),

    check: failed("be written to")(outage.check),
    isAway: outage.isOn
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
> => layerSql(options).pipe(Layer.provide([Locks.layerSingle, layerOutage]), Layer.provide(Sqlite.layer(folder)))

/** The largest row that can be read, in bytes: a state is one value. */
const maxMessageSize = 256 * 1024 * 1024

/** The store in Postgres, which several instances may share. */
export const layerPostgres = (
  url: Redacted.Redacted,
  options: Options = {}
): Layer.Layer<Store, Migrator.MigrationError | SqlError.SqlError> =>
  layerSql(options).pipe(
    Layer.provide(Locks.layerPostgres({ url })),
    Layer.provide(layerOutage),
    Layer.provide(PgClient.layer({ url, maxMessageSize }))
  )
