/**
 * An SQL client over Node's own `node:sqlite`: one database in a folder, for one process at a time.
 *
 * 1. The folder is locked for as long as the process lives, by an exclusive lock on a second, empty database. The system
 *    frees it when its holder dies, however that happens.
 * 2. The database has a write-ahead log and `synchronous = NORMAL`: what was committed is with the system, so no death of
 *    the process loses it. A power cut may lose the last commits, and breaks nothing.
 * 3. There is one connection. Statements are synchronous, and transactions go one after the other.
 */
import { Effect, Layer, Predicate, Schema, type Scope, Semaphore, Stream } from "effect"
import { Reactivity } from "effect/reactivity"
import { SqlClient, type SqlConnection, SqlError, Statement } from "effect/sql"
import { mkdirSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite"

/** Another process has the data folder open. */
export class FolderInUse extends Schema.TaggedError<FolderInUse>()("FolderInUse", { folder: Schema.String }) {
  override get message(): string {
    return `Another process uses the data folder ${this.folder}`
  }
}

/** The data folder can't be opened. */
export class FolderUnusable extends Schema.TaggedError<FolderUnusable>()("FolderUnusable", {
  folder: Schema.String,
  cause: Schema.Defect()
}) {
  override get message(): string {
    return `The data folder ${this.folder} can't be opened: ${
      this.cause instanceof Error ? this.cause.message : String(this.cause)
    }`
  }
}

/** How many statements a connection keeps prepared. */
const maxPrepared = 100

/** How long a statement waits for a lock, such as one that a backup holds, in milliseconds. */
const busyTimeout = 5000

/** SQLite's code for a database that somebody else has locked. */
const busy = 5

/** Gives SQLite's own code of an error, where `effect/sql` looks for it. */
const codeOf = (cause: unknown): number | undefined =>
  Predicate.hasProperty(cause, "errcode") && Predicate.isNumber(cause.errcode) ? cause.errcode : undefined

const failed = (cause: unknown, operation: string): SqlError.SqlError =>
  new SqlError.SqlError({
    reason: SqlError.classifySqliteError(
      cause instanceof Error ? Object.assign(cause, { errno: codeOf(cause) }) : cause,
      { message: cause instanceof Error ? cause.message : String(cause), operation }
    )
  })

const bind = (value: unknown): SQLInputValue => {
  switch (typeof value) {
    case "boolean":
      return value ? 1 : 0
    case "number":
    case "bigint":
    case "string":
      return value
  }
  if (value === null || value === undefined) return null
  if (value instanceof Uint8Array) return value
  throw new TypeError(`SQLite has no type for ${String(value)}`)
}

/** A connection that keeps the statements which were used last prepared. */
const connectionOf = (database: DatabaseSync): SqlConnection.Connection => {
  const prepared = new Map<string, StatementSync>()
  const prepare = (sql: string): StatementSync => {
    const statement = prepared.get(sql) ?? database.prepare(sql)
    prepared.delete(sql)
    prepared.set(sql, statement)
    if (prepared.size > maxPrepared) prepared.delete(prepared.keys().next().value!)
    return statement
  }
  const run = <A>(
    statement: (sql: string) => StatementSync,
    sql: string,
    params: ReadonlyArray<unknown>,
    f: (statement: StatementSync, params: ReadonlyArray<SQLInputValue>) => A
  ) =>
    Effect.try({
      try: () => f(statement(sql), params.map(bind)),
      catch: (cause) => failed(cause, "execute")
    })
  const rows = (statement: StatementSync, params: ReadonlyArray<SQLInputValue>) => statement.all(...params)
  const values = (statement: StatementSync, params: ReadonlyArray<SQLInputValue>) => {
    statement.setReturnArrays(true)
    return statement.all(...params) as unknown as ReadonlyArray<ReadonlyArray<unknown>>
  }
  const once = (sql: string) => database.prepare(sql)

  const execute: SqlConnection.Connection["execute"] = (sql, params, transform) =>
    Effect.map(run(prepare, sql, params, rows), (found) => transform === undefined ? found : transform(found))
  return {
    execute,
    executeUnprepared: (sql, params, transform) =>
      Effect.map(run(once, sql, params, rows), (found) => transform === undefined ? found : transform(found)),
    executeRaw: (sql, params) => run(prepare, sql, params, (statement, params) => statement.run(...params)),
    // A statement that is kept gives rows as objects, so one that gives them as arrays isn't kept.
    executeValues: (sql, params) => run(once, sql, params, values),
    executeValuesUnprepared: (sql, params) => run(once, sql, params, values),
    // Statements are synchronous: all rows are there at once.
    executeStream: (sql, params, transform) => Stream.fromIterableEffect(execute(sql, params, transform))
  }
}

/** Holds the lock on a folder. The transaction stays open, and writes nothing. */
const lock = (folder: string): Effect.Effect<void, FolderInUse | FolderUnusable, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.try({
      try: () => {
        mkdirSync(folder, { recursive: true })
        const database = new DatabaseSync(join(folder, "lock.db"), { timeout: 0 })
        try {
          database.exec("BEGIN EXCLUSIVE")
        } catch (cause) {
          database.close()
          throw cause
        }
        return database
      },
      catch: (cause) => codeOf(cause) === busy ? new FolderInUse({ folder }) : new FolderUnusable({ folder, cause })
    }),
    (database) => Effect.sync(() => database.close())
  )

const open = (folder: string): Effect.Effect<DatabaseSync, FolderUnusable, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.try({
      try: () => {
        const database = new DatabaseSync(join(folder, "conversations.db"), { timeout: busyTimeout })
        try {
          database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL")
        } catch (cause) {
          database.close()
          throw cause
        }
        return database
      },
      catch: (cause) => new FolderUnusable({ folder, cause })
    }),
    (database) => Effect.sync(() => database.close())
  )

const make = Effect.fnUntraced(function*(folder: string) {
  yield* lock(folder)
  const database = yield* open(folder)
  return yield* SqlClient.make({
    ...SqlClient.makeSqliteAcquirers({
      connection: Effect.succeed(connectionOf(database)),
      semaphore: Semaphore.makeUnsafe(1),
      isTransaction: () => database.isTransaction
    }),
    compiler: Statement.makeCompilerSqlite(),
    driver: "node:sqlite",
    beginTransaction: "BEGIN IMMEDIATE",
    prepareTransactionControls: true,
    releaseSavepoint: (name) => `RELEASE SAVEPOINT ${name}`,
    spanAttributes: [["db.system.name", "sqlite"]]
  })
})

/**
 * The database in a folder, which is made where it isn't there.
 *
 * Fails with `FolderInUse` while another process has the folder open.
 */
export const layer = (folder: string): Layer.Layer<SqlClient.SqlClient, FolderInUse | FolderUnusable> =>
  Layer.provide(Layer.effect(SqlClient.SqlClient, make(folder)), Reactivity.layer)
