/**
 * The tables of conversations, as a list of migration steps. A released step is never changed; a change is a new step.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Migrator from "effect/sql/Migrator"
import * as SqlClient from "effect/sql/SqlClient"

/** The names of the tables. */
export const tables = (prefix: string) => ({
  conversations: `${prefix}_conversations`,
  log: `${prefix}_conversation_log`,
  migrations: `${prefix}_migrations`
})

const loader = (prefix: string): Migrator.Loader =>
  Migrator.fromRecord({
    "0001_create_tables": Effect.gen(function*() {
      const sql = (yield* SqlClient.SqlClient).withoutTransforms()
      const { conversations, log } = tables(prefix)
      yield* sql`
        CREATE TABLE ${sql(conversations)} (
          id TEXT PRIMARY KEY,
          epoch BIGINT NOT NULL,
          origin TEXT,
          snapshot_revision BIGINT NOT NULL,
          snapshot TEXT
        )`
      yield* sql`
        CREATE TABLE ${sql(log)} (
          conversation TEXT NOT NULL,
          revision BIGINT NOT NULL,
          last_event BIGINT NOT NULL,
          taken TEXT,
          answered TEXT,
          answer TEXT,
          text TEXT NOT NULL,
          PRIMARY KEY (conversation, revision)
        )`
      yield* sql`CREATE INDEX ${sql(`${log}_events`)} ON ${sql(log)} (conversation, last_event)`
      // The unique index ensures that a message's input is in a conversation once.
      yield* sql`
        CREATE UNIQUE INDEX ${sql(`${log}_taken`)} ON ${sql(log)} (conversation, taken) WHERE taken IS NOT NULL`
      yield* sql`
        CREATE UNIQUE INDEX ${sql(`${log}_answered`)} ON ${
        sql(log)
      } (conversation, answered) WHERE answered IS NOT NULL`
    })
  })

/** Runs the steps that haven't run yet. */
export const run = (prefix: string) => Migrator.make({})({ loader: loader(prefix), table: tables(prefix).migrations })
