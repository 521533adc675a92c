import { assert, it } from "@effect/vitest"
import { DateTime, Effect, Fiber } from "effect"
import { KeyValueStore } from "effect/persistence"
import { TestClock } from "effect/testing"
import { Agent, AgentState, Session } from "troupe"
import { MockModel } from "troupe/testing"
import { StoreFailed } from "../../../examples/backend/store/Store.ts"
import { backings, begun, event, leased, postgres, save, state, told, until } from "./backings.ts"

for (const backing of backings) {
  backing.describe(`Conversations ${backing.name}`, () => {
    it.effect("are kept for their tenant, and listed with the last touched first", () =>
      Effect.gen(function*() {
        const database = yield* backing.make
        const store = yield* database.open()
        const created = yield* store.create("ada", "1", state("a"))
        assert.deepStrictEqual(created.state, state("a"))
        assert.deepStrictEqual(yield* store.read("ada", "1"), created)
        assert.deepStrictEqual(created.row, {
          tenant: "ada",
          id: "1",
          title: "",
          createdAt: DateTime.makeUnsafe(0),
          updatedAt: DateTime.makeUnsafe(0),
          isInFlight: false,
          changes: []
        })
        assert.isUndefined(yield* store.read("bob", "1"))
        assert.isUndefined(yield* store.read("ada", "2"))
        yield* TestClock.adjust("1 second")
        yield* store.create("ada", "2", state("b"))
        yield* store.create("bob", "3", state("c"))
        assert.deepStrictEqual((yield* store.list("ada")).map(({ id }) => id), ["2", "1"])
        yield* TestClock.adjust("1 second")
        yield* Effect.scoped(Effect.flatMap(store.lease("1"), (lease) => save(lease!, "1", state("d"))))
        assert.deepStrictEqual(
          (yield* store.list("ada")).map(({ id, updatedAt }) => [id, updatedAt.epochMilliseconds]),
          [["1", 2000], ["2", 1000]]
        )
        assert.instanceOf(yield* Effect.flip(store.create("bob", "1", state("e"))), StoreFailed)
        assert.deepStrictEqual((yield* store.read("ada", "1"))?.state, state("d"))
        yield* store.check
      }))

    it.effect("are listed up to a hundred", () =>
      Effect.gen(function*() {
        const store = yield* (yield* backing.make).open()
        const ids = Array.from({ length: 103 }, (_, i) => `${i}`)
        yield* Effect.forEach(ids, (id) => store.create("ada", id, state("a")), { concurrency: 8 })
        assert.strictEqual((yield* store.list("ada")).length, 100)
      }))

    it.effect("are removed with all that was kept of them, by their tenant alone", () =>
      Effect.gen(function*() {
        const { database, store } = yield* begun(backing)
        yield* Effect.scoped(Effect.gen(function*() {
          const lease = (yield* store.lease("1"))!
          lease.log(event(0))
          lease.mark({ messageKey: "k", isInFlight: true })
          yield* lease.flush
        }))
        yield* store.remove("bob", "1")
        assert.isDefined(yield* store.read("ada", "1"))
        assert.isTrue(yield* store.hasMessage("1", "k"))
        yield* store.remove("ada", "1")
        assert.isUndefined(yield* store.read("ada", "1"))
        assert.isFalse(yield* store.hasMessage("1", "k"))
        assert.deepStrictEqual(yield* store.inFlight, [])
        for (const table of ["conversations", "events", "messages", "states"]) {
          assert.deepStrictEqual(yield* database.sql(`SELECT * FROM ${table}`), [], table)
        }
        yield* store.remove("ada", "1")
      }))

    it.effect("outlive the instance", () =>
      Effect.gen(function*() {
        const database = yield* backing.make
        yield* Effect.scoped(Effect.gen(function*() {
          const store = yield* database.open()
          yield* store.create("ada", "1", state("a"))
          yield* Effect.scoped(Effect.gen(function*() {
            const lease = (yield* store.lease("1"))!
            lease.log(event(0))
            lease.mark({ isInFlight: true, title: "Hi" })
            yield* save(lease, "1", state("b"))
            lease.log(event(1))
          }))
        }))
        const store = yield* database.open()
        const saved = yield* store.read("ada", "1")
        assert.deepStrictEqual([saved?.state, saved?.cursor, saved?.row.title], [state("b"), 1, "Hi"])
        assert.deepStrictEqual(told(yield* store.events("1", 0, 10)), [[1, 0], [2, 1]])
        assert.deepStrictEqual(yield* store.inFlight, [{ tenant: "ada", id: "1" }])
      }))
  })

  backing.describe(`A save ${backing.name}`, () => {
    it.effect("writes the state, what was logged, its cursor and the marks at once", () =>
      Effect.gen(function*() {
        const { database, lease, store } = yield* leased(backing)
        lease.mark({ isInFlight: true, awaits: true })
        const changes = [{ turn: 0, guardrail: "pii", reason: "a card\0" }]
        lease.mark({ changes })
        lease.mark({ title: "Hi", messageKey: "k" })
        lease.mark({ messageKey: "l" })
        assert.deepStrictEqual([lease.log(event(0)), lease.log(event(1))].map(({ number }) => number), [1, 2])
        const before = yield* store.read("ada", "1")
        assert.deepStrictEqual([before?.state, before?.cursor, before?.row.isInFlight], [state("a"), 0, false])
        assert.isFalse(yield* store.hasMessage("1", "k"))
        assert.deepStrictEqual(yield* store.awaiting("ada"), [])
        yield* save(lease, "1", state("b"))
        const after = yield* store.read("ada", "1")
        assert.deepStrictEqual(
          [after?.state, after?.cursor, after?.row.isInFlight, after?.row.title, after?.row.changes],
          [state("b"), 2, true, "Hi", changes]
        )
        assert.deepStrictEqual(yield* store.awaiting("ada"), [after!.row])
        assert.deepStrictEqual(yield* store.awaiting("bob"), [])
        assert.deepStrictEqual(
          (yield* database.sql("SELECT number FROM events ORDER BY number")).map(({ number }) => Number(number)),
          [1, 2]
        )
        assert.isTrue((yield* store.hasMessage("1", "k")) && (yield* store.hasMessage("1", "l")))
        assert.isFalse(yield* store.hasMessage("2", "k"))
        lease.mark({ isInFlight: false, awaits: false })
        lease.log(event(2))
        yield* save(lease, "1", state("c"))
        const last = yield* store.read("ada", "1")
        assert.deepStrictEqual([last?.cursor, last?.row.isInFlight, last?.row.title], [3, false, "Hi"])
        assert.deepStrictEqual(last?.row.changes, changes)
        assert.deepStrictEqual(yield* store.awaiting("ada"), [])
      }))

    it.effect("is read whole: a state is always given with its own cursor", () =>
      Effect.gen(function*() {
        const { another, store } = yield* begun(backing, "0")
        const other = yield* another
        const lease = (yield* store.lease("1"))!
        const reader = yield* Effect.forkChild(Effect.gen(function*() {
          let last = 0
          while (last < 25) {
            const saved = yield* other.read("ada", "1")
            last = saved!.cursor
            assert.deepStrictEqual(saved!.state.logs, [`${last}`])
          }
        }))
        for (let i = 1; i <= 25; i++) {
          lease.log(event(i))
          yield* save(lease, "1", state(`${i}`))
        }
        yield* Fiber.join(reader)
      }))

    it.effect("that fails leaves everything as it was, and the next one writes it all", () =>
      Effect.gen(function*() {
        const { database, lease, store } = yield* leased(backing)
        lease.log(event(0))
        yield* save(lease, "1", state("b"))
        const { set } = lease.states
        lease.log(event(1))
        lease.mark({ title: "Hi", messageKey: "k", isInFlight: true })
        const before = yield* store.read("ada", "1")
        // The state is written last: all else of the transaction has been then.
        yield* database.sql("ALTER TABLE states RENAME TO elsewhere")
        const error = yield* Effect.flip(set("1", "{}"))
        assert.strictEqual(error._tag, "KeyValueStoreError")
        lease.mark({ title: "Hi there" })
        yield* database.sql("ALTER TABLE elsewhere RENAME TO states")
        assert.deepStrictEqual(yield* store.read("ada", "1"), before)
        assert.strictEqual((yield* database.sql("SELECT number FROM events")).length, 1)
        assert.isFalse(yield* store.hasMessage("1", "k"))
        yield* save(lease, "1", state("c"))
        const after = yield* store.read("ada", "1")
        assert.deepStrictEqual(
          [after?.state, after?.cursor, after?.row.title, after?.row.isInFlight],
          [state("c"), 2, "Hi there", true]
        )
        assert.isTrue(yield* store.hasMessage("1", "k"))
        assert.deepStrictEqual(told(yield* store.events("1", 0, 10)), [[1, 0], [2, 1]])
      }))

    it.effect("isn't needed for events to be kept soon, which leaves the state, its cursor and the marks", () =>
      Effect.gen(function*() {
        const { database, lease, store } = yield* leased(backing)
        lease.log(event(0))
        lease.mark({ isInFlight: true, messageKey: "k" })
        const rows = database.sql("SELECT number FROM events")
        assert.strictEqual((yield* rows).length, 0)
        yield* until(Effect.map(rows, ({ length }) => length === 1))
        const saved = yield* store.read("ada", "1")
        assert.deepStrictEqual([saved?.cursor, saved?.row.isInFlight], [0, false])
        assert.isFalse(yield* store.hasMessage("1", "k"))
        yield* lease.flush
        const flushed = yield* store.read("ada", "1")
        assert.deepStrictEqual([flushed?.cursor, flushed?.row.isInFlight], [0, true])
        assert.isTrue(yield* store.hasMessage("1", "k"))
      }))

    it.effect("takes any text in its marks", () =>
      Effect.gen(function*() {
        const { lease, store } = yield* leased(backing)
        const keys = ["a\0b", "\ud800", "'; DROP TABLE messages", "é"]
        for (const messageKey of keys) lease.mark({ messageKey, title: "a\0b" })
        yield* save(lease, "1", state("a\0\ud800"))
        for (const key of keys) assert.isTrue(yield* store.hasMessage("1", key), key)
        assert.isFalse(yield* store.hasMessage("1", "a"))
        const saved = yield* store.read("ada", "1")
        assert.deepStrictEqual([saved?.row.title, saved?.state], ["a\uFFFDb", state("a\0\ud800")])
      }))

    it.effect("is a session's, whose last event caused it", () =>
      Effect.gen(function*() {
        const database = yield* backing.make
        const store = yield* database.open()
        yield* store.create("ada", "1", AgentState.make("desk"))
        const lease = (yield* store.lease("1"))!
        const session = yield* Session.make(Agent.make("desk"), { store: Session.store("1") }).pipe(
          Effect.provideService(KeyValueStore.KeyValueStore, lease.states)
        )
        const seen: Array<string> = []
        const last = yield* session.call("Hello").pipe(
          Agent.observe((event) =>
            Effect.flatMap(store.read("ada", "1"), (saved) =>
              Effect.sync(() => {
                const { number } = lease.log(event)
                seen.push(`${number} ${event._tag} ${saved?.cursor}`)
              })).pipe(Effect.orDie)
          )
        )
        const saved = yield* store.read("ada", "1")
        assert.deepStrictEqual([saved?.state, saved?.cursor], [last, seen.length])
        assert.deepStrictEqual(seen.slice(0, 3), ["1 RunStarted 0", "2 StepStarted 1", "3 ModelCallStarted 1"])
        assert.match(seen.at(-1)!, /RunCompleted/)
        const events = yield* store.events("1", 0, 100)
        assert.deepStrictEqual(
          events.map(({ event, number }) => `${number} ${event._tag}`),
          seen.map((line) => line.replace(/ \d+$/, ""))
        )
      }).pipe(Effect.provide(MockModel.layer(MockModel.queue("Hi.")))))
  })
}

postgres.describe("A connection that breaks in a save", () => {
  it.effect("makes it fail with nothing written, and is replaced", () =>
    Effect.gen(function*() {
      const { database, lease, store } = yield* leased(postgres)
      yield* database.sql(`
        CREATE FUNCTION break() RETURNS trigger LANGUAGE plpgsql
        AS 'BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NEW; END'`)
      yield* database.sql(
        "CREATE TRIGGER break BEFORE INSERT OR UPDATE ON states FOR EACH ROW EXECUTE FUNCTION break()"
      )
      lease.log(event(0))
      lease.mark({ messageKey: "k" })
      assert.strictEqual((yield* Effect.flip(save(lease, "1", state("b"))))._tag, "SessionError")
      yield* database.sql("DROP TRIGGER break ON states")
      assert.deepStrictEqual((yield* store.read("ada", "1"))?.state, state("a"))
      assert.isFalse(yield* store.hasMessage("1", "k"))
      yield* save(lease, "1", state("c"))
      const saved = yield* store.read("ada", "1")
      assert.deepStrictEqual([saved?.state, saved?.cursor], [state("c"), 1])
      assert.isTrue(yield* store.hasMessage("1", "k"))
    }))
})
