/**
 * Conversations in tables of Postgres or SQLite.
 *
 * An append is one statement, which checks the epoch. Postgres locks the row of the conversation for it, so that a claim waits for the
 * append and reads it. SQLite has one writer.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as SqlClient from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import * as Migrations from "./Migrations.ts"
import { ConversationStoreError, type Service, type StoredEntry } from "./Stored.ts"

type Number_ = number | bigint | string

interface EntryRow {
  readonly revision: Number_
  readonly text: string
}

const entryOf = ({ revision, text }: EntryRow): StoredEntry => ({ revision: Number(revision), text })

type Operation = ConversationStoreError["operation"]

const failed = (operation: Operation) => (error: { readonly message: string }): ConversationStoreError =>
  new ConversationStoreError({ operation, issue: error.message, error })

const naming = (operation: Operation) => <A>(self: Effect.Effect<A, SqlError>) =>
  Effect.mapError(self, failed(operation))

/** Creates missing tables, and returns the store that reads and writes them. */
export const make = Effect.fnUntraced(function*(prefix: string) {
  const sql = (yield* SqlClient.SqlClient).withoutTransforms()
  yield* Effect.mapError(Migrations.run(prefix), failed("claim"))
  const conversations = sql(Migrations.tables(prefix).conversations)
  const log = sql(Migrations.tables(prefix).log)
  const locked = sql.onDialectOrElse({ pg: () => sql.literal(" FOR SHARE"), orElse: () => sql.literal("") })

  const claim: Service["claim"] = (id) =>
    Effect.gen(function*() {
      // A conversation that is removed and begun again continues with later epochs.
      const now = yield* Clock.currentTimeMillis
      const [row] = yield* sql<{
        readonly epoch: Number_
        readonly snapshot: string | null
        readonly snapshot_revision: Number_
      }>`
        INSERT INTO ${conversations} (id, epoch, snapshot_revision) VALUES (${id}, ${now}, 0)
        ON CONFLICT (id) DO UPDATE SET epoch = ${conversations}.epoch + 1
        RETURNING epoch, snapshot, snapshot_revision`
      const { epoch, snapshot, snapshot_revision } = row!
      const revision = Number(snapshot_revision)
      const entries = yield* sql<EntryRow>`
        SELECT revision, text FROM ${log} WHERE conversation = ${id} AND revision > ${revision} AND text <> '' ORDER BY revision`
      return {
        epoch: Number(epoch),
        snapshot: snapshot === null ? undefined : { revision, text: snapshot },
        entries: entries.map(entryOf)
      }
    }).pipe(naming("claim"))

  const append: Service["append"] = ({ answer, answered, epoch, id, lastEvent, revision, taken, text }) =>
    sql`
      INSERT INTO ${log} (conversation, revision, last_event, taken, answered, answer, text)
      SELECT id, ${revision}, ${lastEvent}, ${taken ?? null}, ${answered ?? null}, ${answer ?? null}, ${text}
      FROM ${conversations} WHERE id = ${id} AND epoch = ${epoch}${locked}
      RETURNING revision`.pipe(Effect.map(({ length }) => length === 1), naming("append"))

  const saveSnapshot: Service["saveSnapshot"] = (id, epoch, { revision, text }) =>
    sql`
      UPDATE ${conversations} SET snapshot = ${text}, snapshot_revision = ${revision}
      WHERE id = ${id} AND epoch = ${epoch}`.pipe(Effect.asVoid, naming("append"))

  const shorten: Service["shorten"] = (id, epoch, { event, revision }) => {
    const gone = sql`conversation = ${id} AND revision <= ${revision} AND last_event <= ${event} AND EXISTS (
      SELECT 1 FROM ${conversations} WHERE id = ${id} AND epoch = ${epoch} AND snapshot_revision >= ${revision})`
    return Effect.andThen(
      sql`DELETE FROM ${log} WHERE taken IS NULL AND answered IS NULL AND ${gone}`,
      // What is known of messages stays.
      sql`UPDATE ${log} SET text = '' WHERE text <> '' AND ${gone}`
    ).pipe(Effect.asVoid, naming("append"))
  }

  const find: Service["find"] = (id, key) =>
    sql<{
      readonly taken: string | null
      readonly last_event: Number_
      readonly text: string
      readonly answered: string | null
      readonly answer: string | null
    }>`
      SELECT taken, last_event, text, answered, answer FROM ${log} WHERE conversation = ${id} AND taken = ${key}
      UNION ALL
      SELECT NULL, last_event, '', answered, answer FROM ${log} WHERE conversation = ${id} AND answered = ${key}`.pipe(
      Effect.map((rows) => {
        const entry = rows.find(({ taken }) => taken === key)
        return {
          taken: entry === undefined ? undefined : { lastEvent: Number(entry.last_event), text: entry.text },
          answer: rows.find(({ answered }) => answered === key)?.answer ?? undefined
        }
      }),
      naming("read")
    )

  const read: Service["read"] = (id, after, limit) =>
    sql<EntryRow & { readonly last_event: Number_ }>`
      SELECT revision, text, last_event FROM ${log}
      WHERE conversation = ${id} AND last_event > ${after} AND text <> '' ORDER BY revision LIMIT ${limit}`.pipe(
      Effect.map((rows) => rows.map((row) => ({ ...entryOf(row), lastEvent: Number(row.last_event) }))),
      naming("read")
    )

  const create: Service["create"] = (id, origin, text) =>
    Effect.gen(function*() {
      const now = yield* Clock.currentTimeMillis
      // An empty conversation may have been claimed by a writer that hasn't written yet. The new epoch refuses that writer.
      yield* sql`
        INSERT INTO ${conversations} (id, epoch, snapshot_revision, origin) VALUES (${id}, ${now}, 0, ${origin})
        ON CONFLICT (id) DO UPDATE SET epoch = ${conversations}.epoch + 1, origin = ${origin}
        WHERE ${conversations}.origin IS NULL
        AND NOT EXISTS (SELECT 1 FROM ${log} WHERE conversation = ${id})`
      const [row] = yield* sql<{ readonly origin: string | null }>`SELECT origin FROM ${conversations} WHERE id = ${id}`
      if (row?.origin !== origin) return false
      yield* sql`
        INSERT INTO ${log} (conversation, revision, last_event, text) VALUES (${id}, 1, 0, ${text})
        ON CONFLICT DO NOTHING`
      return true
    }).pipe(sql.withTransaction, naming("create"))

  const remove: Service["remove"] = (id) =>
    Effect.andThen(
      sql`DELETE FROM ${conversations} WHERE id = ${id}`,
      sql`DELETE FROM ${log} WHERE conversation = ${id}`
    ).pipe(sql.withTransaction, Effect.asVoid, naming("remove"))

  return { claim, append, saveSnapshot, shorten, find, read, create, remove } satisfies Service
})
