/** Databases that the store is tested on: a folder always, Postgres where there is one. */
import { PgClient } from "@effect/sql-pg"
import { beforeEach, describe } from "@effect/vitest"
import { Context, Effect, Layer, Redacted, type Scope } from "effect"
import { KeyValueStore } from "effect/persistence"
import { TestClock } from "effect/testing"
import { randomUUID } from "node:crypto"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { AgentState, Session } from "troupe"
import type { Event } from "../../../examples/backend/api/Conversations.ts"
import * as SqlStore from "../../../examples/backend/store/SqlStore.ts"
import { type Lease, type Numbered, Store, type StoreFailed } from "../../../examples/backend/store/Store.ts"

/** An empty database for one test. */
export interface Database {
  /** A folder, or a URL. */
  readonly place: string
  /** An instance of the store, until the scope closes. */
  readonly open: (options?: SqlStore.Options) => Effect.Effect<Store["Service"], unknown, Scope.Scope>
  /** Does something behind the store's back. */
  readonly sql: (statement: string) => Effect.Effect<ReadonlyArray<Record<string, unknown>>, unknown>
}

export interface Backing {
  readonly name: string
  /** Whether several instances may share it. */
  readonly isShared: boolean
  readonly describe: (name: string, tests: () => void) => void
  readonly make: Effect.Effect<Database, unknown, Scope.Scope>
}

const instance = <E>(layer: Layer.Layer<Store, E>) => Effect.map(Layer.build(Layer.fresh(layer)), Context.get(Store))

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
      open: (options) => instance(SqlStore.layerFolder(place, options)),
      sql: (statement) =>
        Effect.try(() => {
          const database = new DatabaseSync(join(place, "conversations.db"), { timeout: 5000 })
          try {
            return database.prepare(statement).all()
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
    const name = `test_${randomUUID().replaceAll("-", "")}`
    const url = new URL(server)
    url.searchParams.set("options", `-c search_path=${name}`)
    yield* Effect.acquireRelease(
      run(server, `CREATE SCHEMA ${name}`),
      () => Effect.orDie(run(server, `DROP SCHEMA ${name} CASCADE`))
    )
    return {
      place: url.href,
      open: (options) => instance(SqlStore.layerPostgres(Redacted.make(url.href), options)),
      sql: (statement) => run(url.href, statement)
    }
  })
}

export const backings: ReadonlyArray<Backing> = [folder, postgres]

/** Lets time pass, and what waits for the database go on. */
export const tick = Effect.andThen(
  TestClock.adjust("50 millis"),
  Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
)

/** Lets time pass until something is done. */
export const inTime = <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.raceFirst(self, Effect.forever(tick))

/** Asks until something holds. */
export const until = <E, R>(holds: Effect.Effect<boolean, E, R>): Effect.Effect<void, E, R> =>
  Effect.flatMap(holds, (holds_) => holds_ ? Effect.void : Effect.andThen(tick, until(holds)))

/** An event that is known by its number. */
export const event = (step: number, path = "desk"): Event => ({
  _tag: "StepStarted",
  run: "",
  path: [path],
  calls: [],
  step,
  sequence: step,
  at: 0
})

/** How an event is known, and its number. */
export const told = (events: ReadonlyArray<Numbered>): ReadonlyArray<readonly [number: number, step: number]> =>
  events.map(({ event, number }) => [number, event.step])

/** A state that is known by a word. */
export const state = (word: string): AgentState.AgentState => AgentState.log(AgentState.make("desk"), word)

/** Saves a state under a lease, as a session does. */
export const save = (lease: Lease, id: string, state: AgentState.AgentState) =>
  Effect.scoped(Effect.flatMap(Session.store(id).open, ({ save }) => save(state))).pipe(
    Effect.provideService(KeyValueStore.KeyValueStore, lease.states)
  )

/**
 * An instance of the store with the conversation "1" of ada's, over a database of its own. `another` opens another instance;
 * it is the same one where there may be one alone.
 */
export const begun = (backing: Backing, word = "a") =>
  Effect.gen(function*() {
    const database = yield* backing.make
    const store = yield* database.open()
    yield* store.create("ada", "1", state(word))
    return { database, store, another: backing.isShared ? database.open() : Effect.succeed(store) }
  })

/** The same, with the lease on that conversation. */
export const leased = (backing: Backing) =>
  Effect.gen(function*() {
    const { database, store } = yield* begun(backing)
    return { database, store, lease: (yield* store.lease("1"))! }
  })

/** Takes a lease as soon as it is free: the server may hear late of the end of who held it. */
export const take = (store: Store["Service"], id: string): Effect.Effect<Lease, StoreFailed, Scope.Scope> =>
  Effect.flatMap(
    store.lease(id),
    (lease) => lease === undefined ? Effect.andThen(tick, take(store, id)) : Effect.succeed(lease)
  )
