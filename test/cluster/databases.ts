/** Databases of conversations for tests and measurements: SQLite in a folder of its own, Postgres in a schema of its own. */
import { PgClient } from "@effect/sql-pg"
import { Effect, Layer, Redacted, type Scope } from "effect"
import { SqlClient } from "effect/sql"
import { randomUUID } from "node:crypto"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as Sqlite from "../../examples/backend/store/Sqlite.ts"

/** An empty database in a folder. */
export const sqlite: Layer.Layer<SqlClient.SqlClient, unknown> = Layer.unwrap(Effect.map(
  Effect.acquireRelease(
    Effect.sync(() => mkdtempSync(join(tmpdir(), "conversations-"))),
    (place) => Effect.sync(() => rmSync(place, { recursive: true }))
  ),
  (place) => Sqlite.layer(place)
))

/** The Postgres at a URL, with a schema of its own. */
export const postgresAt = (
  url: string,
  schema: string,
  options: Omit<PgClient.PgClientConfig, "url"> = {}
): Layer.Layer<SqlClient.SqlClient, unknown> =>
  PgClient.layer({
    ...options,
    url: Redacted.make(`${url}${url.includes("?") ? "&" : "?"}options=-csearch_path%3D${schema}`)
  })

/** The name of an empty schema of a Postgres, which is dropped when the scope closes. */
export const schemaOf = (url: string): Effect.Effect<string, unknown, Scope.Scope> => {
  const name = `t${randomUUID().replaceAll("-", "")}`
  const sql = (statement: string) =>
    Effect.flatMap(SqlClient.SqlClient, (sql) => sql.unsafe(statement).unprepared).pipe(
      Effect.provide(PgClient.layer({ url: Redacted.make(url), maxConnections: 1 }))
    )
  return Effect.acquireRelease(
    Effect.as(sql(`CREATE SCHEMA ${name}`), name),
    () => Effect.ignore(sql(`DROP SCHEMA ${name} CASCADE`))
  )
}

/** An empty schema of a Postgres. */
export const postgres = (url: string): Layer.Layer<SqlClient.SqlClient, unknown> =>
  Layer.unwrap(Effect.map(schemaOf(url), (name) => postgresAt(url, name)))
