/**
 * A session in SQLite, by a client over Node's own `node:sqlite`.
 */
import { Effect, Layer, Semaphore, Stream } from "effect"
import { Reactivity } from "effect/reactivity"
import { SqlClient, type SqlConnection, SqlError, Statement } from "effect/sql"
import { DatabaseSync, type SQLInputValue } from "node:sqlite"
import { Agent, AgentState, Session } from "troupe"
import { MockModel } from "troupe/testing"

const connect = Effect.fnUntraced(function*(file: string) {
  const database = yield* Effect.acquireRelease(
    Effect.sync(() => new DatabaseSync(file)),
    (database) => Effect.sync(() => database.close())
  )
  const all = <Row = object>(sql: string, params: ReadonlyArray<unknown>, asArrays = false) =>
    Effect.try({
      try: () => {
        const statement = database.prepare(sql)
        statement.setReturnArrays(asArrays)
        return statement.all(...params.map((value) => (value ?? null) as SQLInputValue)) as unknown as ReadonlyArray<
          Row
        >
      },
      catch: (cause) => new SqlError.SqlError({ reason: SqlError.classifySqliteError(cause) })
    })
  const execute: SqlConnection.Connection["execute"] = (sql, params, transform) =>
    Effect.map(all(sql, params), (rows) => transform === undefined ? rows : transform(rows))
  const connection: SqlConnection.Connection = {
    execute,
    executeUnprepared: execute,
    executeRaw: all,
    executeValues: (sql, params) => all<ReadonlyArray<unknown>>(sql, params, true),
    executeValuesUnprepared: (sql, params) => all<ReadonlyArray<unknown>>(sql, params, true),
    executeStream: (sql, params, transform) => Stream.fromIterableEffect(execute(sql, params, transform))
  }
  return yield* SqlClient.make({
    // One connection: transactions run one after the other.
    ...SqlClient.makeSqliteAcquirers({
      connection: Effect.succeed(connection),
      semaphore: Semaphore.makeUnsafe(1),
      isTransaction: () => database.isTransaction
    }),
    compiler: Statement.makeCompilerSqlite(),
    driver: "node:sqlite",
    spanAttributes: [["db.system.name", "sqlite"]]
  })
})

const sqlite = (file: string) => Layer.effect(SqlClient.SqlClient, connect(file)).pipe(Layer.provide(Reactivity.layer))

// ":memory:" is lost with the process. Give the name of a file to keep it.
const Store = Session.layerStoreSql({ table: "conversations" }).pipe(Layer.provide(sqlite(":memory:")))

const program = Effect.gen(function*() {
  const session = yield* Session.make(Agent.make("assistant"), { store: Session.store("c42") })
  yield* session.call("Hello")
  const stored = yield* Session.load("c42")
  return stored === undefined ? "nothing is stored" : AgentState.text(stored)
}).pipe(Effect.scoped, Effect.provide(Store), Effect.provide(MockModel.layer(MockModel.queue("Hello, Ada."))))

console.log(await Effect.runPromise(program))

// Output:
// Hello, Ada.
