import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Scope } from "effect"
import { gap } from "../../../examples/backend/store/Held.ts"
import { Recent } from "../../../examples/backend/store/Recent.ts"
import { EventsGone, type Numbered, type Store } from "../../../examples/backend/store/Store.ts"
import { backings, begun, event, inTime, leased, save, state, take, tick, told } from "./backings.ts"

/** Reads as a stream does, from a cursor on, until it has seen a step. */
const follow = (store: Store["Service"], id: string, after: number, last: number, limit: number) =>
  Effect.gen(function*() {
    const seen: Array<Numbered> = []
    while (seen.at(-1)?.event.step !== last) {
      const cursor = seen.at(-1)?.number ?? after
      const events = yield* store.events(id, cursor, limit)
      assert.isAtMost(events.length, limit)
      if (events.length === 0) yield* store.awaitEvents(id, cursor)
      seen.push(...events)
    }
    return told(seen)
  })

for (const backing of backings) {
  backing.describe(`Events ${backing.name}`, () => {
    it.effect("are read from any cursor, each once and in order, while they are written", () =>
      Effect.gen(function*() {
        const { another, store } = yield* begun(backing)
        const other = yield* another
        const total = 900
        const written: Array<readonly [number, number]> = []
        const readers = yield* Effect.forEach(
          [[store, 0, 40], [store, 0, 1000], [store, 3, 7], [other, 0, 100], [other, 300, 1000]] as const,
          ([store, after, limit]) =>
            Effect.forkChild(Effect.map(follow(store, "1", after, total - 1, limit), (seen) => ({ after, seen })))
        )
        // One lease after the other, in one instance or the other.
        let step = 0
        for (const [i, until] of [380, 381, 650, total].entries()) {
          yield* Effect.scoped(Effect.gen(function*() {
            const lease = yield* take(i % 2 === 0 ? store : other, "1")
            while (step < until) {
              const { number } = lease.log(event(step))
              written.push([number, step++])
              if (step % 7 === 0) yield* Effect.yieldNow
              if (step % 61 === 0) yield* lease.flush
              if (step % 97 === 0) yield* tick
              if (step % 301 === 0) yield* save(lease, "1", state(`${step}`))
            }
          }))
        }
        for (const reader of readers) {
          const { after, seen } = yield* inTime(Fiber.join(reader))
          assert.deepStrictEqual(seen, written.filter(([number]) => number > after))
        }
        const late = yield* follow(other, "1", 5, total - 1, 400)
        assert.deepStrictEqual(late, written.filter(([number]) => number > 5))
      }))

    it.effect("are there at once where they are logged, and woken for", () =>
      Effect.gen(function*() {
        const { store } = yield* begun(backing)
        const reader = yield* Effect.forkChild(follow(store, "1", 0, 0, 10))
        const lease = (yield* store.lease("1"))!
        yield* Effect.yieldNow
        lease.log(event(0))
        assert.deepStrictEqual(told(yield* store.events("1", 0, 10)), [[1, 0]])
        // No time passes, and nothing is kept.
        assert.deepStrictEqual(yield* Fiber.join(reader), [[1, 0]])
        assert.deepStrictEqual(yield* store.events("1", 1, 10), [])
        yield* store.awaitEvents("1", 0)
      }))

    it.effect("are read in one page from the database and from memory", () =>
      Effect.gen(function*() {
        const { lease, store } = yield* leased(backing)
        for (let i = 0; i < 600; i++) lease.log(event(i))
        yield* lease.flush
        for (let i = 600; i < 603; i++) lease.log(event(i))
        const all = Array.from({ length: 603 }, (_, i) => [i + 1, i] as const)
        assert.deepStrictEqual(told(yield* store.events("1", 0, 1000)), all)
        assert.deepStrictEqual(told(yield* store.events("1", 1, 601)), all.slice(1, 602))
        assert.deepStrictEqual(told(yield* store.events("1", 300, 1000)), all.slice(300))
      }))

    it.effect("that await a save are kept and told with it and not before, here and elsewhere", () =>
      Effect.gen(function*() {
        const { database, lease, store } = yield* leased(backing)
        lease.log(event(0))
        const { number } = lease.log(event(1), "afterSave")
        lease.log(event(2))
        yield* lease.flush
        assert.deepStrictEqual(told(yield* store.events("1", 0, 10)), [[number - 1, 0]])
        const waiting = yield* Effect.forkChild(store.awaitEvents("1", number - 1))
        yield* Effect.repeat(tick, { times: 5 })
        assert.isUndefined(waiting.pollUnsafe())
        assert.strictEqual((yield* database.sql("SELECT * FROM events")).length, 1)
        yield* save(lease, "1", state("b"))
        yield* inTime(Fiber.join(waiting))
        assert.deepStrictEqual(told(yield* store.events("1", number - 1, 10)), [[number, 1], [number + 1, 2]])
        assert.strictEqual((yield* store.read("ada", "1"))?.cursor, number + 1)
        assert.strictEqual((yield* database.sql("SELECT * FROM events")).length, 3)
      }))

    it.effect("of a run in the past that weren't kept are no obstacle to a reader who saw them", () =>
      Effect.gen(function*() {
        const database = yield* backing.make
        const instance = yield* Scope.make()
        const store = yield* Scope.provide(database.open(), instance)
        yield* store.create("ada", "1", state("a"))
        const lease = (yield* Scope.provide(store.lease("1"), yield* Scope.make()))!
        lease.log(event(0))
        yield* lease.flush
        for (let i = 1; i < 30; i++) lease.log(event(i))
        const seen = yield* store.events("1", 0, 100)
        yield* Scope.close(instance, Exit.void)
        const restarted = yield* database.open()
        const reader = yield* Effect.forkChild(follow(restarted, "1", seen.at(-1)!.number, 100, 10))
        const next = yield* take(restarted, "1")
        next.log(event(100))
        assert.deepStrictEqual(yield* inTime(Fiber.join(reader)), [[gap + 2, 100]])
      }))

    it.effect("are kept up to a number, and a cursor before the oldest is told so", () =>
      Effect.gen(function*() {
        const database = yield* backing.make
        const store = yield* database.open({ keep: 50 })
        yield* store.create("ada", "1", state("a"))
        yield* store.create("ada", "2", state("a"))
        const other = (yield* store.lease("2"))!
        for (let i = 0; i < 40; i++) other.log(event(i))
        yield* other.flush
        yield* Effect.scoped(Effect.gen(function*() {
          const lease = (yield* store.lease("1"))!
          for (let i = 0; i < 300; i++) {
            lease.log(event(i))
            if (i % 10 === 9) yield* lease.flush
          }
        }))
        const rows = yield* database.sql("SELECT number FROM events WHERE conversation = '1'")
        assert.isTrue(rows.length >= 50 && rows.length <= 55, `${rows.length}`)
        const oldest = Math.min(...rows.map(({ number }) => Number(number))) - 1
        for (const cursor of [0, 1, oldest - 1]) {
          assert.deepStrictEqual(yield* Effect.flip(store.events("1", cursor, 10)), new EventsGone({ cursor, oldest }))
        }
        const kept = yield* store.events("1", oldest, 1000)
        assert.deepStrictEqual([kept.length, kept.at(-1)?.number], [rows.length, 300])
        assert.strictEqual((yield* database.sql("SELECT * FROM events WHERE conversation = '2'")).length, 40)
        assert.strictEqual((yield* store.read("ada", "1"))?.cursor, 0)
      }))

    it.effect("of a conversation that isn't there are gone, and nobody waits for them", () =>
      Effect.gen(function*() {
        const { another, store } = yield* begun(backing)
        const other = yield* another
        assert.instanceOf(yield* Effect.flip(store.events("2", 7, 10)), EventsGone)
        yield* store.awaitEvents("2", 7)
        const waiting = yield* Effect.forkChild(Effect.all([store.awaitEvents("1", 7), other.awaitEvents("1", 7)], {
          concurrency: "unbounded"
        }))
        yield* Effect.repeat(tick, { times: 5 })
        assert.isUndefined(waiting.pollUnsafe())
        yield* store.remove("ada", "1")
        yield* inTime(Fiber.join(waiting))
        assert.instanceOf(yield* Effect.flip(other.events("1", 7, 10)), EventsGone)
      }))
  })
}

describe("Recent events", () => {
  it("that await a save are shown to nobody, and those behind them neither", () => {
    const recent = new Recent(7, 100, 10)
    const first = new Recent(7, 100, 10)
    first.push(event(0), "afterSave")
    // Above the gap there is nothing to see yet: who has seen 7 waits.
    assert.deepStrictEqual([first.last, first.shown, first.all], [101, 7, []])
    assert.deepStrictEqual(first.after(7, 10), [])
    recent.push(event(0))
    recent.push(event(1), "afterSave")
    recent.push(event(2))
    assert.deepStrictEqual([recent.last, recent.shown], [103, 101])
    assert.deepStrictEqual(told(recent.after(7, 10)!), [[101, 0]])
    assert.deepStrictEqual(told(recent.all), [[101, 0]])
    assert.deepStrictEqual(told(recent.waiting(false)), [[101, 0]])
    recent.keep(1)
    assert.deepStrictEqual(told(recent.waiting(true)), [[102, 1], [103, 2]])
    recent.push(event(3), "afterSave")
    recent.keep(2)
    assert.deepStrictEqual([recent.last, recent.shown], [104, 103])
    assert.deepStrictEqual(told(recent.after(101, 10)!), [[102, 1], [103, 2]])
  })

  it("let go of what is kept, and hold the rest", () => {
    const recent = new Recent(7, 100, 10)
    assert.deepStrictEqual(recent.after(7, 10), [])
    assert.isUndefined(recent.after(6, 10))
    for (let i = 0; i < 1000; i++) {
      recent.push(event(i))
      if (i % 3 === 0) recent.keep(recent.waitingCount)
      assert.isAtMost(recent.all.length, 24)
    }
    assert.strictEqual(recent.last, 1100)
    assert.isUndefined(recent.after(recent.from - 1, 10))
    assert.deepStrictEqual(told(recent.after(1097, 2)!), [[1098, 997], [1099, 998]])
    for (let i = 0; i < 50; i++) recent.push(event(i))
    assert.strictEqual(recent.waitingCount, 50)
    assert.strictEqual(recent.after(recent.from, 1000)?.length, recent.all.length)
  })
})
