/** Databases that the store is tested on: a folder always, Postgres where there is one. */
import { PgClient } from "@effect/sql-pg"
import { beforeEach, describe } from "@effect/vitest"
import { type Context, Duration, Effect, Layer, Redacted, type Scope } from "effect"
import type { SqlClient } from "effect/sql"
import { randomUUID } from "node:crypto"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import * as Databases from "../../../examples/backend/store/Databases.ts"
import type { Outage } from "../../../examples/backend/store/Outage.ts"

type Database_ = SqlClient.SqlClient | Outage

/** How long a Postgres may take in a test. */
export const patience: Databases.Patience = { connection: Duration.seconds(2), statement: Duration.seconds(2) }

/** An empty database for one test. */
export interface Database {
  /** A folder, or a URL. */
  readonly place: string
  /** The database, until the scope closes. */
  readonly open: () => Effect.Effect<Opened, unknown, Scope.Scope>
  /** Does something behind the store's back. */
  readonly sql: (statement: string) => Effect.Effect<ReadonlyArray<Record<string, unknown>>, unknown>
}

/** A database that is open: what an instance of the service needs of it. */
export interface Opened {
  readonly context: Context.Context<Database_>
  readonly isShared: boolean
}

export interface Backing {
  readonly name: string
  /** Whether several instances may share it. */
  readonly isShared: boolean
  readonly describe: (name: string, tests: () => void) => void
  readonly make: Effect.Effect<Database, unknown, Scope.Scope>
}

const opened = <E>(layer: Layer.Layer<Database_, E>, isShared: boolean) =>
  Effect.map(Layer.build(Layer.fresh(layer)), (context): Opened => ({ context, isShared }))

export const folder: Backing = {
  name: "in a folder",
  isShared: false,
  describe,
  make: Effect.gen(function*() {
    const place = yield* Effect.acquireRelease(
      Effect.sync(() => mkdtempSync(join(tmpdir(), "store-"))),
      (place) => Effect.sync(() => rmSync(place, { recursive: true }))
    )
    return {
      place,
      open: () => opened(Databases.folder(place), false),
      sql: (statement) =>
        Effect.try(() => {
          const database = new DatabaseSync(join(place, "conversations.db"), { timeout: 5000 })
          try {
            const prepared = database.prepare(statement)
            prepared.setReadBigInts(true)
            return prepared.all()
          } finally {
            database.close()
          }
        })
    }
  })
}

const server = process.env["TEST_DATABASE_URL"]
const isNeeded = process.env["CI"] !== undefined && process.env["CI"] !== ""

const run = (url: string, statement: string) =>
  Effect.flatMap(PgClient.PgClient, (sql) => sql.unsafe<Record<string, unknown>>(statement).unprepared).pipe(
    Effect.provide(PgClient.layer({ url: Redacted.make(url), maxConnections: 1 }))
  )

const missing = "There is no Postgres in TEST_DATABASE_URL: npm run postgres -- npm test"

export const postgres: Backing = {
  name: "in Postgres",
  isShared: true,
  describe: (name, tests) => {
    describe(name, () => {
      // Where it has to be there, a test that finds none fails.
      if (server === undefined && !isNeeded) beforeEach(({ skip }) => skip(missing))
      tests()
    })
  },
  make: Effect.gen(function*() {
    if (server === undefined) return yield* Effect.die(new Error(missing))
    // The locks of a cluster's shards are those of a database, whichever schema its tables are in.
    const name = `test_${randomUUID().replaceAll("-", "")}`
    const url = new URL(server)
    url.pathname = name
    yield* Effect.acquireRelease(
      run(server, `CREATE DATABASE ${name}`),
      () => Effect.orDie(run(server, `DROP DATABASE ${name} WITH (FORCE)`))
    )
    return {
      place: url.href,
      open: () => opened(Databases.postgres(Redacted.make(url.href), patience), true),
      sql: (statement) => run(url.href, statement)
    }
  })
}

export const backings: ReadonlyArray<Backing> = [folder, postgres]
