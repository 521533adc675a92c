/**
 * Whether the database is away: out of reach, or not to be written to, as with a full disk.
 *
 * The log has one line when it goes and one when it is back, however much fails meanwhile. What fails first begins an outage; it
 * ends when a small write succeeds, which is tried each second from then on.
 */
import { Clock, Context, Effect, Layer, Predicate } from "effect"
import { SqlClient, SqlError } from "effect/sql"
import * as Migrations from "./Migrations.ts"

export class Outage extends Context.Service<Outage, {
  /** Whether the database is away, as far as anybody knows. */
  readonly isOn: () => boolean
  /** Takes in what failed, and says whether that is a database that is away. */
  readonly notice: (error: unknown) => Effect.Effect<boolean>
  /** Fails while the database is away. It is asked by a small write, at most once in five seconds. */
  readonly check: Effect.Effect<void, SqlError.SqlError>
}>()("backend/Outage") {}

/** How often a database that is away is tried, how long it may take to answer, and for how long one that answered is believed. */
const trying = { every: "1 second", within: "5 seconds", believed: "5 seconds" } as const

/** What is wrong with a statement, and not with the database. */
const ofStatements: ReadonlySet<string> = new Set([
  "SqlSyntaxError",
  "UniqueViolation",
  "ConstraintError",
  "DeadlockError",
  "SerializationError"
])

/** Where errors hold those that they were made of: a store of conversations holds its own in `error`. */
const origins = ["reason", "error", "cause"] as const

/** Finds the database's own error in one that was made of it. */
const sqlErrorIn = (error: unknown, depth = 8): SqlError.SqlError | undefined => {
  if (SqlError.isSqlError(error)) return error
  if (depth === 0 || !Predicate.isObject(error)) return undefined
  for (const key of origins) {
    const found = Predicate.hasProperty(error, key) ? sqlErrorIn(error[key], depth - 1) : undefined
    if (found !== undefined) return found
  }
  return undefined
}

const away = new SqlError.SqlError({
  reason: new SqlError.ConnectionError({ cause: new Error("It is away"), message: "The database is away" })
})

const make = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const scope = yield* Effect.scope
  let since: number | undefined

  /** More than is left of a disk that is full, and other bytes each time: SQLite doesn't write what is there already. */
  const padding = sql.onDialectOrElse({ pg: () => sql`NULL`, orElse: () => sql`randomblob(65536)` })
  const write = Effect.suspend(() =>
    sql`
      INSERT INTO ${sql(Migrations.writable)} (id, padding) VALUES (1, ${padding})
      ON CONFLICT (id) DO UPDATE SET padding = excluded.padding`.unprepared
  ).pipe(
    Effect.timeoutOrElse({ duration: trying.within, orElse: () => Effect.fail(away) }),
    Effect.asVoid
  )
  const [checked, forget] = yield* Effect.cachedInvalidateWithTTL(
    write,
    (exit) => exit._tag === "Success" ? trying.believed : 0
  )

  const end = Effect.gen(function*() {
    const took = Math.round(((yield* Clock.currentTimeMillis) - since!) / 1000)
    since = undefined
    yield* forget
    yield* Effect.logInfo(`The database is back after ${took} s`)
  })

  const begin = Effect.fnUntraced(function*(error: SqlError.SqlError) {
    if (since !== undefined) return
    since = yield* Clock.currentTimeMillis
    yield* Effect.logWarning(`The database is away: ${error.reason._tag}, ${error.message}`)
    const tried = Effect.retry(Effect.delay(write, trying.every), { while: () => true })
    yield* Effect.forkIn(Effect.andThen(tried, end), scope)
  })

  return Outage.of({
    isOn: () => since !== undefined,
    notice: (error) => {
      const found = sqlErrorIn(error)
      return found === undefined || ofStatements.has(found.reason._tag)
        ? Effect.succeed(false)
        : Effect.as(begin(found), true)
    },
    check: Effect.suspend(() => since === undefined ? Effect.tapError(checked, begin) : Effect.fail(away))
  })
})

export const layer: Layer.Layer<Outage, never, SqlClient.SqlClient> = Layer.effect(Outage, make)
