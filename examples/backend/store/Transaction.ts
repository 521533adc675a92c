/**
 * Transactions that fail with their error when the connection breaks.
 */
import { Cause, Effect, References } from "effect"
import { type SqlClient, SqlError } from "effect/sql"

/**
 * Does something in one transaction.
 *
 * A connection that breaks in the middle can't be told to roll back, which `withTransaction` takes for a defect. It is none:
 * the server has rolled back then.
 *
 * Where statements are synchronous it has the thread to its end: others would only come to wait for the connection, each for a
 * turn of the scheduler's.
 */
export const inTransaction =
  (sql: SqlClient.SqlClient) => <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E | SqlError.SqlError, R> =>
    Effect.catchCause(
      Effect.provideService(sql.withTransaction(self), References.PreventSchedulerYield, true),
      (cause) => {
        const broken = cause.reasons.filter(Cause.isDieReason).map(({ defect }) => defect).find(SqlError.isSqlError)
        return broken === undefined || Cause.hasInterrupts(cause) ? Effect.failCause(cause) : Effect.fail(broken)
      }
    )
