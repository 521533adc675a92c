/**
 * Who holds a conversation's lease, among the instances that share a database.
 */
import { PgConnection } from "@effect/sql-pg"
import { Context, Effect, Exit, Fiber, Layer, Queue, Scope } from "effect"
import { SqlError } from "effect/sql"
import { Outage } from "./Outage.ts"

/** Somebody who takes locks. `lost` is run when a lock that was taken is gone. */
export interface Holder {
  readonly id: string
  readonly lost: Effect.Effect<void>
}

export class Locks extends Context.Service<Locks, {
  /** Whether other instances may use the database. */
  readonly isShared: boolean
  /** Takes the lock of an id; false where another instance has it. Whoever asks twice has to know of itself. */
  readonly take: (holder: Holder) => Effect.Effect<boolean, SqlError.SqlError>
  readonly release: (holder: Holder) => Effect.Effect<void>
}>()("backend/Locks") {}

/** For a database that one process has for itself. */
export const layerSingle: Layer.Layer<Locks> = Layer.succeed(Locks, {
  isShared: false,
  take: () => Effect.succeed(true),
  release: () => Effect.void
})

/** How often the connection is asked whether it lives, and how long it may take to say so: a busy process hears late. */
const pulse = { every: "3 seconds", within: "10 seconds" } as const

/** A connection that holds locks until it ends. */
interface Session {
  readonly connection: PgConnection.PgConnection
  readonly holders: Set<Holder>
  /** Ends the connection, and with it every lock. */
  readonly end: Effect.Effect<void>
}

const ended = new SqlError.SqlError({
  reason: new SqlError.ConnectionError({
    cause: new Error("Connection ended"),
    message: "the connection that holds the leases ended"
  })
})

/** Ends when the connection does: it listens, so that a closed socket shows at once, and is asked now and then. */
const untilEnd = (connection: PgConnection.PgConnection, heard: Queue.Dequeue<unknown, SqlError.SqlError>) =>
  Effect.raceFirst(
    Effect.forever(Queue.take(heard)),
    connection.query("SELECT 1").pipe(Effect.timeout(pulse.within), Effect.delay(pulse.every), Effect.forever)
  )

/** The number of a lock. Services in schemas of their own don't see each other. */
const key = "hashtextextended(current_schema() || '.conversations/' || $1::text, 0)"

const make = Effect.fnUntraced(function*(config: PgConnection.Config) {
  const scope = yield* Effect.scope
  const outage = yield* Outage
  let current: Session | undefined
  let connecting: Fiber.Fiber<Session, SqlError.SqlError> | undefined

  const connect = Effect.gen(function*() {
    // What uses the wire is closed after it, so that nothing waits for an answer that doesn't come.
    const use = yield* Scope.fork(scope)
    const wire = yield* Scope.fork(scope)
    const close = Effect.andThen(Scope.close(wire, Exit.void), Scope.close(use, Exit.void))
    const [connection, heard] = yield* PgConnection.make({ ...config, keepAlive: pulse.every }).pipe(
      Scope.provide(wire),
      Effect.flatMap(({ pin }) => pin),
      Effect.flatMap((pinned) => Effect.map(pinned.listen("backend_locks"), (heard) => [pinned, heard] as const)),
      Scope.provide(use),
      Effect.onError(() => close)
    )
    const holders = new Set<Holder>()
    const session: Session = {
      connection,
      holders,
      end: Effect.suspend(() => {
        if (current !== session) return Effect.void
        current = undefined
        return Effect.andThen(Effect.forEach(holders, ({ lost }) => lost, { discard: true }), close)
      })
    }
    yield* untilEnd(connection, heard).pipe(
      Effect.exit,
      Effect.andThen(outage.notice(ended)),
      Effect.andThen(session.end),
      Effect.forkIn(scope)
    )
    return current = session
  })

  /** The connection, which is made where there is none. Who comes meanwhile waits for the same attempt. */
  const connected = Effect.gen(function*() {
    if (current !== undefined) return current
    connecting ??= yield* connect.pipe(
      Effect.ensuring(Effect.sync(() => {
        connecting = undefined
      })),
      Effect.forkIn(scope)
    )
    return yield* Fiber.join(connecting)
  })

  return Locks.of({
    isShared: true,
    take: (holder) =>
      Effect.gen(function*() {
        const session = yield* connected
        const { rows } = yield* session.connection.query(`SELECT pg_try_advisory_lock(${key}) AS taken`, [holder.id])
        if (current !== session) return yield* ended
        if (rows[0]?.["taken"] !== true) return false
        session.holders.add(holder)
        return true
      }),
    release: (holder) =>
      Effect.suspend(() => {
        const session = current
        if (session === undefined || !session.holders.delete(holder)) return Effect.void
        // A lock that isn't given back would be held for as long as the connection lives.
        return Effect.catch(
          session.connection.query(`SELECT pg_advisory_unlock(${key})`, [holder.id]),
          () => session.end
        )
      })
  })
})

/**
 * Advisory locks of Postgres, on one connection of their own: the server frees them when the process dies.
 *
 * When the connection ends, every lock that was taken is lost, and the next one is taken on a new connection.
 */
export const layerPostgres = (config: PgConnection.Config): Layer.Layer<Locks, never, Outage> =>
  Layer.effect(Locks, make(config))
