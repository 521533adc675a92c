/**
 * Where conversations are kept, for whoever serves them: their logs, and the service's own list of them.
 *
 * A row of the list is written in the transaction that appends an entry to the log of its conversation, from what the entry says. So the
 * list can't disagree with what is kept, whichever instance writes, and nothing has to be put right after a death.
 */
import { Clock, Context, DateTime, Duration, Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { ConversationStore } from "troupe/cluster"
import { Approval, Change } from "../api/Conversations.ts"
import * as Entries from "./Entries.ts"
import * as Migrations from "./Migrations.ts"
import { Outage } from "./Outage.ts"
import { inTransaction } from "./Transaction.ts"

/** The store can't be reached, or can't do what it was asked for. */
export class StoreFailed extends Schema.TaggedError<StoreFailed>()("StoreFailed", {
  operation: Schema.String,
  cause: Schema.Defect()
}) {
  override get message(): string {
    return `The store failed to ${this.operation}`
  }
}

/** What the list holds of a conversation. */
export interface Row extends Entries.Row {
  readonly tenant: string
  readonly id: string
  readonly createdAt: DateTime.Utc
  readonly updatedAt: DateTime.Utc
  /** Whether a message is being answered. */
  readonly isRunning: boolean
  /** How many events there were when a message was taken or answered last. */
  readonly events: number
}

/** The count of a run that begins: it ends by itself, unless somebody renews it. */
export interface Count {
  readonly renew: Effect.Effect<void, StoreFailed>
  readonly end: Effect.Effect<void, StoreFailed>
}

/** How many other runs a tenant has, in all instances; and where that isn't too many, the count of one that begins. */
export interface Reserved {
  readonly others: number
  readonly count: Count | undefined
}

export class Store extends Context.Service<Store, {
  /** Adds a new conversation. */
  readonly create: (tenant: string, id: string) => Effect.Effect<Row, StoreFailed>
  /** A tenant's conversations, the last touched first, at most a hundred. */
  readonly list: (tenant: string) => Effect.Effect<ReadonlyArray<Row>, StoreFailed>
  /** A tenant's conversations with calls that await approval, the longest untouched first, at most a hundred. */
  readonly awaiting: (tenant: string) => Effect.Effect<ReadonlyArray<Row>, StoreFailed>
  /** A conversation; none where the tenant has no such one. */
  readonly read: (tenant: string, id: string) => Effect.Effect<Row | undefined, StoreFailed>
  /** Counts what begins in a conversation as a run of a tenant's, if there are fewer others than the limit. None where it is gone. */
  readonly reserve: (tenant: string, id: string, limit: number) => Effect.Effect<Reserved | undefined, StoreFailed>
  /** Conversations that aren't in the list, of which something is kept all the same; a hundred at most. */
  readonly orphans: Effect.Effect<ReadonlyArray<string>, StoreFailed>
  /** Fails where the store can't be reached, or can't be written to. It looks at most once in five seconds. */
  readonly check: Effect.Effect<void, StoreFailed>
  /** Whether the store is away, as far as it knows. It logs when it goes and when it is back, so nobody else has to. */
  readonly isAway: () => boolean
}>()("backend/Store") {}

type Integer = number | bigint

interface StoredRow {
  readonly id: string
  readonly tenant: string
  readonly title: string
  readonly is_fresh: Integer
  readonly created_at: Integer
  readonly updated_at: Integer
  readonly running: string | null
  readonly events: Integer
  readonly approvals: string
  readonly changes: string
}

/** How long something counts as a run that begins, if nobody ends or renews that, as when its instance has died. */
const beginning = Duration.toMillis(Duration.seconds(30))

const decodeChanges = Schema.decodeSync(Schema.fromJsonString(Schema.Array(Change)))
const decodeApprovals = Schema.decodeSync(Schema.fromJsonString(Schema.Array(Approval)))

const rowOf = (row: StoredRow): Row => ({
  tenant: row.tenant,
  id: row.id,
  title: row.title,
  isFresh: Number(row.is_fresh) === 1,
  createdAt: DateTime.makeUnsafe(Number(row.created_at)),
  updatedAt: DateTime.makeUnsafe(Number(row.updated_at)),
  running: row.running ?? undefined,
  isRunning: row.running !== null,
  events: Number(row.events),
  approvals: decodeApprovals(row.approvals),
  changes: decodeChanges(row.changes)
})

/** The name of the conversations' entities, which is kept with each conversation: it never changes. */
export const entity = "Desk"

/** The table of the cluster's conversations. */
const logged = "troupe_conversations"

/** The id of a conversation in the list, by that in the logs: its entity's name and a slash come before it. */
const idOf = (id: string): string => id.slice(entity.length + 1)

const make = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const outage = yield* Outage
  const table = sql(Migrations.conversations)

  const failedTo = (operation: string) => <A, E, R>(self: Effect.Effect<A, E, R>) =>
    Effect.mapError(Effect.tapError(self, outage.notice), (cause) => new StoreFailed({ operation, cause }))

  /** Locks the count of a tenant's runs until the transaction ends. Where there is one connection, a transaction always is alone. */
  const alone = (tenant: string) =>
    sql.onDialectOrElse({
      pg: () => Effect.asVoid(sql`SELECT pg_advisory_xact_lock(hashtextextended(${tenant}, 0))`),
      orElse: () => Effect.void
    })

  const rows = (operation: string, found: Effect.Effect<ReadonlyArray<StoredRow>, unknown>) =>
    failedTo(operation)(Effect.map(found, (rows) => rows.map(rowOf)))

  return Store.of({
    create: (tenant, id) =>
      Effect.gen(function*() {
        const now = yield* Clock.currentTimeMillis
        const [row] = yield* sql<StoredRow>`
          INSERT INTO ${table} ${sql.insert({ id, tenant, created_at: now, updated_at: now })} RETURNING *`
        return rowOf(row!)
      }).pipe(failedTo("keep a conversation")),
    list: (tenant) =>
      rows(
        "list conversations",
        sql<StoredRow>`SELECT * FROM ${table} WHERE tenant = ${tenant} ORDER BY updated_at DESC, id LIMIT 100`
      ),
    awaiting: (tenant) =>
      rows(
        "list what awaits approval",
        sql<StoredRow>`
          SELECT * FROM ${table} WHERE tenant = ${tenant} AND approvals <> '[]' ORDER BY updated_at, id LIMIT 100`
      ),
    read: (tenant, id) =>
      Effect.map(
        rows("read a conversation", sql<StoredRow>`SELECT * FROM ${table} WHERE tenant = ${tenant} AND id = ${id}`),
        ([row]) => row
      ),
    reserve: (tenant, id, limit) =>
      Effect.gen(function*() {
        yield* alone(tenant)
        const now = yield* Clock.currentTimeMillis
        const [row] = yield* sql<{ readonly count: Integer }>`
          SELECT count(*) AS count FROM ${table}
          WHERE tenant = ${tenant} AND id <> ${id} AND (running IS NOT NULL OR begins_until > ${now})`
        const others = Number(row!.count)
        if (others >= limit) return { others, count: undefined }
        let until = now + beginning
        const ours = yield* sql`
          UPDATE ${table} SET begins_until = ${until}
          WHERE id = ${id} AND (begins_until IS NULL OR begins_until <= ${now}) RETURNING id`
        if (ours.length === 0) {
          const there = yield* sql`SELECT id FROM ${table} WHERE tenant = ${tenant} AND id = ${id}`
          // Somebody else begins something in this conversation, which counts once.
          return there.length === 0 ? undefined : { others, count: { renew: Effect.void, end: Effect.void } }
        }
        // An interruption in the middle would leave the database with another time than the one that is known here.
        const change = (to: number | null) =>
          Effect.uninterruptible(
            Effect.suspend(() =>
              sql`UPDATE ${table} SET begins_until = ${to} WHERE id = ${id} AND begins_until = ${until} RETURNING id`
            ).pipe(
              Effect.map(({ length }) => {
                if (length > 0 && to !== null) until = to
              }),
              failedTo("count a run")
            )
          )
        const renew = Effect.flatMap(Clock.currentTimeMillis, (now) => change(now + beginning))
        return { others, count: { renew, end: change(null) } }
      }).pipe(inTransaction(sql), failedTo("count runs")),
    orphans: Effect.map(
      failedTo("list what nobody finds")(
        sql<{ readonly id: string }>`
          SELECT id FROM ${sql(logged)} WHERE NOT EXISTS (
            SELECT 1 FROM ${table} WHERE ${table}.id = substr(${sql(logged)}.id, ${
          sql.literal(String(entity.length + 2))
        })
          ) LIMIT 100`
      ),
      (rows) => rows.map(({ id }) => idOf(id))
    ),
    check: Effect.mapError(outage.check, (cause) => new StoreFailed({ operation: "be written to", cause })),
    isAway: outage.isOn
  })
})

/** The logs, which write the list with each entry that changes it. */
const logs = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const outage = yield* Outage
  const store = yield* ConversationStore.ConversationStore
  const table = sql(Migrations.conversations)

  const named = (operation: ConversationStore.ConversationStoreError["operation"]) => (error: unknown) =>
    error instanceof ConversationStore.ConversationStoreError
      ? error
      : new ConversationStore.ConversationStoreError({
        operation,
        issue: error instanceof Error ? error.message : String(error),
        error
      })

  const noticed = <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.tapError(self, outage.notice)

  const touch = Effect.fnUntraced(function*(entry: ConversationStore.Append, change: Entries.Change) {
    const id = idOf(entry.id)
    const [stored] = yield* sql<StoredRow>`SELECT * FROM ${table} WHERE id = ${id}`
    if (stored === undefined) return
    const { approvals, changes, isFresh, running, title } = change(rowOf(stored))
    const row = {
      title: title.replaceAll("\0", "\uFFFD"),
      is_fresh: Number(isFresh),
      running: running ?? null,
      events: entry.lastEvent,
      approvals: JSON.stringify(approvals),
      changes: JSON.stringify(changes),
      updated_at: yield* Clock.currentTimeMillis,
      // What is in the log has begun, and counts as a run by that.
      ...(entry.taken === undefined ? undefined : { begins_until: null })
    }
    yield* sql`UPDATE ${table} SET ${sql.update(row)} WHERE id = ${id}`
  })

  return ConversationStore.ConversationStore.of({
    claim: (id) => noticed(store.claim(id)),
    append: (entry) => {
      const change = Entries.changeOf(entry)
      const appending = change === undefined
        ? store.append(entry)
        : inTransaction(sql)(
          Effect.tap(store.append(entry), (isOurs) => isOurs ? touch(entry, change) : Effect.void)
        )
      return Effect.mapError(noticed(appending), named("append"))
    },
    saveSnapshot: (...args) => noticed(store.saveSnapshot(...args)),
    shorten: (...args) => noticed(store.shorten(...args)),
    find: (id, key) => noticed(store.find(id, key)),
    read: (...args) => noticed(store.read(...args)),
    create: (...args) => noticed(store.create(...args)),
    remove: (id) =>
      Effect.andThen(store.remove(id), sql`DELETE FROM ${table} WHERE id = ${idOf(id)}`).pipe(
        inTransaction(sql),
        Effect.asVoid,
        noticed,
        Effect.mapError(named("remove"))
      )
  })
})

/** The list and the logs over one database, which get their tables. */
export const layer = Layer.mergeAll(
  Layer.effect(Store, make),
  Layer.effect(ConversationStore.ConversationStore, logs).pipe(Layer.provide(ConversationStore.layerSql()))
).pipe(Layer.provide(Layer.effectDiscard(Migrations.run)))
