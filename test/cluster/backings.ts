/** Stores of conversations that tests run on: memory and SQLite always, Postgres where there is one. */
import { PgClient } from "@effect/sql-pg"
import { beforeEach, describe } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { randomUUID } from "node:crypto"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { ConversationStore } from "troupe/cluster"
import * as Sqlite from "../../examples/backend/store/Sqlite.ts"

const server = process.env["TEST_DATABASE_URL"]
const isNeeded = process.env["CI"] !== undefined && process.env["CI"] !== ""
const missing = "There is no Postgres in TEST_DATABASE_URL: npm run postgres -- npm test"

/** An empty database in a folder. */
const sqlite: Layer.Layer<SqlClient.SqlClient, unknown> = Layer.unwrap(Effect.map(
  Effect.acquireRelease(
    Effect.sync(() => mkdtempSync(join(tmpdir(), "conversations-"))),
    (place) => Effect.sync(() => rmSync(place, { recursive: true }))
  ),
  (place) => Sqlite.layer(place)
))

/** The Postgres at a URL, with a schema of its own. */
export const postgresAt = (url: string, schema: string): Layer.Layer<SqlClient.SqlClient, unknown> =>
  PgClient.layer({ url: Redacted.make(`${url}${url.includes("?") ? "&" : "?"}options=-csearch_path%3D${schema}`) })

/** The name of an empty schema of the tests' Postgres, which is dropped when the scope closes. */
export const schema = Effect.gen(function*() {
  const name = `t${randomUUID().replaceAll("-", "")}`
  const sql = (statement: string) =>
    Effect.flatMap(SqlClient.SqlClient, (sql) => sql.unsafe(statement).unprepared).pipe(
      Effect.provide(PgClient.layer({ url: Redacted.make(server!), maxConnections: 1 }))
    )
  return yield* Effect.acquireRelease(
    Effect.as(sql(`CREATE SCHEMA ${name}`), { url: server!, name }),
    () => Effect.ignore(sql(`DROP SCHEMA ${name} CASCADE`))
  )
})

const postgres: Layer.Layer<SqlClient.SqlClient, unknown> = Layer.unwrap(
  Effect.map(schema, ({ name, url }) => postgresAt(url, name))
)

export interface Backing {
  readonly describe: (tests: () => void) => void
  readonly layer: Layer.Layer<ConversationStore.ConversationStore, unknown>
}

/** Describes tests that need Postgres: where it has to be there, one that finds none fails. */
export const describePostgres = (name: string, tests: () => void) =>
  describe(name, () => {
    if (server === undefined && !isNeeded) beforeEach(({ skip }) => skip(missing))
    tests()
  })

export const backings: ReadonlyArray<Backing> = [
  { describe: (tests) => describe("in memory", tests), layer: ConversationStore.layerMemory },
  { describe: (tests) => describe("in SQLite", tests), layer: Layer.provide(ConversationStore.layerSql(), sqlite) },
  {
    describe: (tests) => describePostgres("in Postgres", tests),
    layer: Layer.provide(ConversationStore.layerSql(), postgres)
  }
]
