import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Exit, Fiber, Layer, Scope } from "effect"
import { TestClock } from "effect/testing"
import { PassThrough } from "node:stream"
import { gap, maxWaiting } from "../../../examples/backend/store/Held.ts"
import { layerPostgres, Locks } from "../../../examples/backend/store/Locks.ts"
import { Outage } from "../../../examples/backend/store/Outage.ts"
import {
  backings,
  begun,
  type Database,
  event,
  inTime,
  leased,
  postgres,
  save,
  state,
  take,
  tick,
  told,
  until
} from "./backings.ts"

/** Does something with an instance that ends as if its process had died: leases aren't given back, what waits isn't kept. */
const dying = <A, E>(
  database: Database,
  use: (store: Effect.Success<ReturnType<Database["open"]>>) => Effect.Effect<A, E, Scope.Scope>
) =>
  Effect.scoped(Effect.flatMap(
    database.open(),
    (store) => Effect.flatMap(Scope.make(), (never) => Scope.provide(use(store), never))
  ))

/** Whether something has ended by now. */
const isDone = (self: Effect.Effect<void>) =>
  Effect.gen(function*() {
    const fiber = yield* Effect.forkChild(self, { startImmediately: true })
    yield* Effect.yieldNow
    const exit = fiber.pollUnsafe()
    yield* Fiber.interrupt(fiber)
    return exit !== undefined
  })

for (const backing of backings) {
  backing.describe(`A lease ${backing.name}`, () => {
    it.effect("is held by one at a time, until its scope closes", () =>
      Effect.gen(function*() {
        const { another, store } = yield* begun(backing)
        yield* store.create("ada", "2", state("a"))
        const scope = yield* Scope.make()
        assert.isDefined(yield* Scope.provide(store.lease("1"), scope))
        const others = [store, yield* another]
        for (const other of others) assert.isUndefined(yield* Effect.scoped(other.lease("1")))
        assert.isDefined(yield* Effect.scoped(store.lease("2")))
        assert.isUndefined(yield* Effect.scoped(store.lease("3")))
        yield* Scope.close(scope, Exit.void)
        for (const other of others) assert.isDefined(yield* Effect.scoped(other.lease("1")))
        const taken = yield* Effect.all(Array.from({ length: 5 }, () => store.lease("1")), { concurrency: "unbounded" })
        assert.strictEqual(taken.filter((lease) => lease !== undefined).length, 1)
      }))

    it.effect("is free when its process dies, and numbers events on from far above what anybody has seen", () =>
      Effect.gen(function*() {
        const database = yield* backing.make
        yield* Effect.scoped(Effect.flatMap(database.open(), (store) => store.create("ada", "1", state("a"))))
        const numbers: Array<number> = []
        for (let round = 0; round < 4; round++) {
          yield* dying(database, (store) =>
            Effect.gen(function*() {
              const lease = yield* take(store, "1")
              numbers.push(lease.log(event(round)).number)
              if (round !== 2) return
              yield* lease.flush
              numbers.push(lease.log(event(round)).number)
            }))
        }
        // Of what was told, one event alone was kept.
        assert.deepStrictEqual(numbers, [1, gap + 1, 2 * gap + 1, 2 * gap + 2, 3 * gap + 2])
        const store = yield* database.open()
        assert.deepStrictEqual(told(yield* store.events("1", 0, 10)), [[2 * gap + 1, 2]])
      }))

    it.effect("that can't be taken is in nobody's way", () =>
      Effect.gen(function*() {
        const { another, database, store } = yield* begun(backing)
        yield* database.sql("ALTER TABLE conversations RENAME TO elsewhere")
        assert.strictEqual((yield* Effect.flip(Effect.scoped(store.lease("1")))).operation, "take a lease")
        yield* database.sql("ALTER TABLE elsewhere RENAME TO conversations")
        for (const other of [store, yield* another]) assert.isDefined(yield* Effect.scoped(other.lease("1")))
      }))

    it.effect("hears of a cancellation, which doesn't reach who holds it later", () =>
      Effect.gen(function*() {
        const { another, store } = yield* begun(backing)
        yield* store.create("ada", "2", state("a"))
        const bystander = (yield* store.lease("2"))!
        for (const other of [store, yield* another]) {
          yield* other.cancel("1")
          yield* Effect.scoped(Effect.gen(function*() {
            const lease = (yield* store.lease("1"))!
            yield* Effect.repeat(tick, { times: 10 })
            assert.isFalse(yield* isDone(lease.cancelled))
            yield* other.cancel("1")
            yield* inTime(lease.cancelled)
            assert.isFalse(yield* isDone(lease.lost))
          }))
        }
        assert.isFalse(yield* isDone(bystander.cancelled))
        yield* store.cancel("nobody's")
      }))

    it.effect("that somebody else has taken over is lost, and overwrites nothing", () =>
      Effect.gen(function*() {
        const { database, store } = yield* begun(backing)
        const scope = yield* Scope.make()
        const lease = (yield* Scope.provide(store.lease("1"), scope))!
        yield* save(lease, "1", state("b"))
        yield* database.sql("UPDATE conversations SET lease = 'another'")
        lease.log(event(0))
        lease.mark({ title: "Hi" })
        const error = yield* Effect.flip(save(lease, "1", state("c")))
        assert.strictEqual(error._tag, "SessionError")
        yield* lease.lost
        yield* Effect.flip(lease.flush)
        lease.log(event(1))
        const saved = yield* store.read("ada", "1")
        assert.deepStrictEqual([saved?.state, saved?.cursor, saved?.row.title], [state("b"), 0, ""])
        assert.deepStrictEqual(yield* store.events("1", 0, 10), [])
        // It is in the way of the next one until what ran under it has stopped.
        assert.isUndefined(yield* Effect.scoped(store.lease("1")))
        yield* Scope.close(scope, Exit.void)
        const next = (yield* store.lease("1"))!
        assert.strictEqual(next.log(event(2)).number, gap + 1)
        yield* save(next, "1", state("d"))
        assert.deepStrictEqual((yield* store.read("ada", "1"))?.state, state("d"))
      }))

    it.effect("is lost when its conversation is removed", () =>
      Effect.gen(function*() {
        const { another, database, store } = yield* begun(backing)
        for (const [id, other] of [["2", store], ["3", yield* another]] as const) {
          yield* store.create("ada", id, state("a"))
          yield* Effect.scoped(Effect.gen(function*() {
            const lease = (yield* store.lease(id))!
            lease.log(event(0))
            yield* other.remove("ada", id)
            yield* (other === store ? lease.lost : inTime(lease.lost))
            yield* Effect.flip(lease.flush)
          }))
          assert.deepStrictEqual(yield* database.sql("SELECT * FROM events"), [])
        }
      }))

    it.effect("is lost where more waits to be kept than the next one's numbers leave room for", () =>
      Effect.gen(function*() {
        const { database, lease } = yield* leased(backing)
        yield* database.sql("ALTER TABLE events RENAME TO elsewhere")
        for (let i = 0; i < maxWaiting; i++) lease.log(event(i))
        yield* Effect.repeat(tick, { times: 25 })
        assert.isFalse(yield* isDone(lease.lost))
        lease.log(event(maxWaiting))
        assert.isTrue(yield* isDone(lease.lost))
        yield* database.sql("ALTER TABLE elsewhere RENAME TO events")
      }))
  })
}

describe("The connection that holds the leases, where there is no server,", () => {
  it.effect("is tried for all who ask at once, and anew for who asks later", () =>
    Effect.gen(function*() {
      let attempts = 0
      // A wire that closes before anybody answers.
      const stream = () => {
        attempts++
        const wire = new PassThrough()
        setImmediate(() => wire.destroy())
        return wire
      }
      const outage = Outage.of({ isOn: () => false, notice: () => Effect.succeed(true), check: Effect.void })
      const locks = layerPostgres({ stream, username: "troupe" }).pipe(Layer.provide(Layer.succeed(Outage, outage)))
      const { take } = yield* Effect.map(Layer.build(locks), Context.get(Locks))
      const failing = Effect.flip(take({ id: "1", lost: Effect.void }))
      for (const round of [1, 2]) {
        const errors = yield* Effect.all([failing, failing, failing], { concurrency: "unbounded" })
        assert.deepStrictEqual(errors.map(({ reason }) => reason._tag), Array(3).fill("ConnectionError"))
        assert.strictEqual(attempts, round)
      }
    }))
})

postgres.describe("The connection that holds the leases", () => {
  /** Where the connections that have the locks of this test are found. */
  const holders = `
    pg_stat_activity JOIN pg_locks USING (pid)
    WHERE locktype = 'advisory' AND (classid::bigint << 32 | objid::bigint) IN (
      SELECT hashtextextended(current_schema() || '.conversations/' || id, 0) FROM conversations
    )`

  it.effect("takes all of them with it when it ends, and the next one is taken on another", () =>
    Effect.gen(function*() {
      const database = yield* postgres.make
      const [store, other] = yield* Effect.all([database.open(), database.open()])
      yield* store.create("ada", "1", state("a"))
      yield* store.create("ada", "2", state("a"))
      const scope = yield* Scope.make()
      const lease = (yield* Scope.provide(store.lease("1"), scope))!
      const second = (yield* Scope.provide(store.lease("2"), scope))!
      yield* save(lease, "1", state("b"))
      lease.log(event(0))
      // As a restart of the server would, or of what is between.
      yield* database.sql(`SELECT pg_terminate_backend(pid) FROM ${holders}`)
      yield* lease.lost
      yield* second.lost
      assert.strictEqual((yield* Effect.flip(save(lease, "1", state("c"))))._tag, "SessionError")
      yield* Effect.scoped(Effect.gen(function*() {
        const taken = yield* take(other, "1")
        taken.log(event(1))
        yield* save(taken, "1", state("d"))
        assert.strictEqual((yield* Effect.flip(save(lease, "1", state("e"))))._tag, "SessionError")
      }))
      yield* Scope.close(scope, Exit.void)
      assert.deepStrictEqual((yield* store.read("ada", "1"))?.state, state("d"))
      assert.deepStrictEqual(told(yield* store.events("1", 0, 10)), [[gap + 1, 1]])
      const again = (yield* store.lease("1"))!
      yield* save(again, "1", state("f"))
      assert.isUndefined(yield* Effect.scoped(other.lease("1")))
    }))

  it.effect("is asked whether it lives", () =>
    Effect.gen(function*() {
      const { database, store } = yield* begun(postgres)
      yield* store.lease("1")
      const asked = Effect.map(
        database.sql(`SELECT query FROM ${holders}`),
        ([row]) => row?.["query"] === "SELECT 1"
      )
      assert.isFalse(yield* asked)
      yield* TestClock.adjust("5 seconds")
      yield* until(asked)
    }))
})

postgres.describe("Instances on one Postgres", () => {
  it.effect("make its tables once when they start at once", () =>
    Effect.gen(function*() {
      const database = yield* postgres.make
      const stores = yield* Effect.all(Array.from({ length: 4 }, () => database.open()), { concurrency: "unbounded" })
      for (const [i, store] of stores.entries()) yield* store.create("ada", `${i}`, state("a"))
      assert.strictEqual((yield* stores[0]!.list("ada")).length, 4)
      assert.strictEqual((yield* database.sql("SELECT * FROM migrations")).length, 4)
    }))
})
