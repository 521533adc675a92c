/**
 * The service's own tables, and how they came to be: run at start, each migration once. The same set serves SQLite and Postgres. The
 * conversations themselves are in the tables of `troupe/cluster`, and what is under way in those of `effect/cluster`.
 *
 * Instances that start at once on one Postgres wait for each other: the migrator locks its table.
 */
import { Effect } from "effect"
import { Migrator, SqlClient } from "effect/sql"

/** The table of the conversations, by tenant. */
export const conversations = "backend_conversations"

/** The table of the requests of each tenant's customers and colleagues, as the rate limiter counts them. */
export const rates = "backend_rates"

/** The table that is written to, to see whether anything can be. */
export const writable = "backend_writable"

/**
 * - `running` is the key of the message that is being answered, and `events` how many events there were when it was taken or answered.
 * - `approvals` is what awaits approval, and `changes` what guardrails changed of what the user said, both as JSON.
 * - `full_at` is when a bucket is full again, and `asked` how long after the last request it would be full if that request was let through,
 *   both in milliseconds.
 * - `is_fresh` is 1 while the title is made of the words that were said last, which a guardrail may still change.
 */
const tables = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    CREATE TABLE ${sql(conversations)} (
      id TEXT PRIMARY KEY,
      tenant TEXT NOT NULL,
      title TEXT NOT NULL DEFAULT '',
      is_fresh INTEGER NOT NULL DEFAULT 0,
      created_at BIGINT NOT NULL,
      updated_at BIGINT NOT NULL,
      running TEXT,
      events BIGINT NOT NULL DEFAULT 0,
      approvals TEXT NOT NULL DEFAULT '[]',
      changes TEXT NOT NULL DEFAULT '[]'
    )`
  yield* sql`CREATE INDEX backend_touched ON ${sql(conversations)} (tenant, updated_at)`
  yield* sql`CREATE INDEX backend_running ON ${sql(conversations)} (tenant) WHERE running IS NOT NULL`
  yield* sql`CREATE INDEX backend_awaiting ON ${sql(conversations)} (tenant, updated_at) WHERE approvals <> '[]'`
  const bytes = sql.onDialectOrElse({ pg: () => sql.literal("BYTEA"), orElse: () => sql.literal("BLOB") })
  yield* sql`CREATE TABLE ${sql(writable)} (id INTEGER PRIMARY KEY, padding ${bytes})`
  yield* sql`
    CREATE TABLE ${sql(rates)} (
      id TEXT PRIMARY KEY,
      full_at DOUBLE PRECISION NOT NULL,
      asked DOUBLE PRECISION NOT NULL
    )`
})

/** Until when something that begins in a conversation counts as a run, in milliseconds, though it isn't in the log yet. */
const beginnings = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  yield* sql`ALTER TABLE ${sql(conversations)} ADD COLUMN begins_until BIGINT`
  yield* sql`CREATE INDEX backend_beginning ON ${sql(conversations)} (tenant) WHERE begins_until IS NOT NULL`
})

/** Brings the tables up to date. */
export const run = Migrator.make({})({
  loader: Migrator.fromRecord({ "0001_tables": tables, "0002_beginnings": beginnings }),
  table: "backend_migrations"
})
