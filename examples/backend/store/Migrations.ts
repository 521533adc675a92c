/**
 * The tables, and how they came to be: run at start, each migration once. The same set serves SQLite and Postgres.
 *
 * Instances that start at once on one Postgres wait for each other: the migrator locks its table.
 */
import { Effect } from "effect"
import { Migrator, SqlClient } from "effect/sql"

/** The table of the states, as `KeyValueStore.layerSql` wants it. */
export const states = "states"

/** The table that is written to, to see whether anything can be. */
export const writable = "writable"

/**
 * - `last` is the highest number of an event that is kept, `base` the number that the last lease began above, `gone` the
 *   highest number of an event that is kept no longer, and `kept` about how many are.
 * - `cursor` is the number of the last event in the state.
 * - `lease` is the token of who holds the lease, or held it last; `cancelled` is the token that somebody asked to cancel.
 */
const conversations = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    CREATE TABLE conversations (
      id TEXT PRIMARY KEY,
      tenant TEXT NOT NULL,
      title TEXT NOT NULL,
      created_at BIGINT NOT NULL,
      updated_at BIGINT NOT NULL,
      in_flight INTEGER NOT NULL DEFAULT 0,
      cursor BIGINT NOT NULL DEFAULT 0,
      last BIGINT NOT NULL DEFAULT 0,
      base BIGINT NOT NULL DEFAULT 0,
      gone BIGINT NOT NULL DEFAULT 0,
      kept BIGINT NOT NULL DEFAULT 0,
      lease TEXT,
      cancelled TEXT
    )`
  yield* sql`CREATE INDEX conversations_touched ON conversations (tenant, updated_at)`
  yield* sql`CREATE INDEX conversations_in_flight ON conversations (id) WHERE in_flight = 1`
  // SQLite keeps a table with a key of two columns once instead of twice.
  const clustered = sql.onDialectOrElse({ pg: () => sql.literal(""), orElse: () => sql.literal("WITHOUT ROWID") })
  yield* sql`
    CREATE TABLE events (
      conversation TEXT NOT NULL,
      number BIGINT NOT NULL,
      event TEXT NOT NULL,
      PRIMARY KEY (conversation, number)
    ) ${clustered}`
  yield* sql`
    CREATE TABLE messages (
      conversation TEXT NOT NULL,
      key TEXT NOT NULL,
      PRIMARY KEY (conversation, key)
    ) ${clustered}`
  const bytes = sql.onDialectOrElse({ pg: () => sql.literal("BYTEA"), orElse: () => sql.literal("BLOB") })
  yield* sql`
    CREATE TABLE ${sql(states)} (id TEXT PRIMARY KEY, value ${bytes} NOT NULL, value_type INTEGER NOT NULL)`
})

/** `awaits` is 1 if calls awaited approval when the last run ended, or may have before it was kept. */
const approvals = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  yield* sql`ALTER TABLE conversations ADD COLUMN awaits INTEGER NOT NULL DEFAULT 0`
  yield* sql`CREATE INDEX conversations_awaiting ON conversations (tenant, updated_at) WHERE awaits = 1`
  yield* sql`
    UPDATE conversations SET awaits = 1
    WHERE id IN (SELECT conversation FROM events WHERE event LIKE '%"_tag":"ApprovalRequested"%')`
})

/** `changes` is what guardrails changed of what the user said, as JSON. */
const changes = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  yield* sql`ALTER TABLE conversations ADD COLUMN changes TEXT NOT NULL DEFAULT '[]'`
})

/** The rows that a store writes to see whether it can. */
const probe = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const bytes = sql.onDialectOrElse({ pg: () => sql.literal("BYTEA"), orElse: () => sql.literal("BLOB") })
  yield* sql`CREATE TABLE ${sql(writable)} (id INTEGER PRIMARY KEY, padding ${bytes})`
})

/** Brings the tables up to date. */
export const run = Migrator.make({})({
  loader: Migrator.fromRecord({
    "0001_conversations": conversations,
    "0002_approvals": approvals,
    "0003_changes": changes,
    "0004_writable": probe
  }),
  table: "migrations"
})
