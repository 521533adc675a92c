import { assert, it } from "@effect/vitest"
import { Duration, Effect, Fiber, Layer, Redacted } from "effect"
import { connect, createServer, type Socket } from "node:net"
import { MockModel } from "troupe/testing"
import * as Databases from "../../examples/backend/store/Databases.ts"
import { EarlierVersion } from "../../examples/backend/store/Earlier.ts"
import { assistant, gated } from "./assistant.ts"
import { isEnd, logging, serve } from "./serving.ts"
import { backings, patience, postgres } from "./store/backings.ts"

const until = (holds: Effect.Effect<boolean>): Effect.Effect<void> =>
  Effect.flatMap(holds, (holds_) => holds_ ? Effect.void : Effect.andThen(Effect.sleep("50 millis"), until(holds)))

/** A way to a server, which can be cut and mended, or lose all that is sent on it for a while. */
const wire = (host: string, port: number) =>
  Effect.gen(function*() {
    const sockets = new Set<Socket>()
    let isSilent = false
    const keep = (socket: Socket) => sockets.add(socket.on("error", () => {}).on("close", () => sockets.delete(socket)))
    const server = createServer((near) => {
      const far = connect(port, host)
      keep(near)
      keep(far)
      near.on("data", (data) => isSilent || far.write(data)).on("close", () => far.destroy())
      far.on("data", (data) => isSilent || near.write(data)).on("close", () => near.destroy())
    })
    const listen = (at: number) =>
      Effect.callback<number>((resume) => {
        server.listen(at, "127.0.0.1", () => {
          const address = server.address()
          resume(Effect.succeed(typeof address === "object" && address !== null ? address.port : 0))
        })
      })
    const cut = Effect.sync(() => {
      server.close()
      for (const socket of sockets) socket.destroy()
    })
    const at = yield* listen(0)
    yield* Effect.addFinalizer(() => cut)
    const silence = (is: boolean) => Effect.sync(() => void (isSilent = is))
    return { at, cut, mend: listen(at), silence }
  })

/** A database, and the way to it. */
const overWire = Effect.gen(function*() {
  const { place, sql } = yield* postgres.make
  const url = new URL(place)
  const way = yield* wire(url.hostname, Number(url.port))
  url.hostname = "127.0.0.1"
  url.port = String(way.at)
  const context = yield* Layer.build(Layer.fresh(Databases.postgres(Redacted.make(url.href), patience)))
  return { store: { context, isShared: true }, way, sql }
})

/** Does something, and says for how many seconds. */
const timed = <A, E, R>(self: Effect.Effect<A, E, R>) =>
  Effect.map(Effect.timed(self), ([took, value]) => ({ took: Duration.toSeconds(took), value }))

postgres.describe("A Postgres that goes away", () => {
  it.live("is told once when it goes and once when it is back, whatever is asked and run meanwhile", () => {
    const { lines, logged } = logging()
    return logged(Effect.gen(function*() {
      const { store, way } = yield* overWire
      const serving = yield* serve({
        store,
        agents: assistant(MockModel.make(() => Effect.as(Effect.sleep("200 millis"), "An answer.")))
      })
      const begun = yield* Effect.all(Array.from({ length: 10 }, () => serving.begin()), { concurrency: 10 })
      for (const { id } of begun) yield* Effect.forkScoped(Effect.exit(serving.watch(id)))
      const ready = Effect.map(serving.fetch("/ready"), ({ status }) => status)
      assert.strictEqual(yield* ready, 200)
      yield* way.cut
      // Flushes, polls, looks for runs in flight, and requests go on failing.
      for (let round = 0; round < 5; round++) {
        yield* Effect.forEach(begun, ({ id }) => serving.fetch(`/v1/conversations/${id}`), { concurrency: 10 })
        yield* Effect.sleep("300 millis")
      }
      assert.strictEqual(yield* ready, 503)
      assert.deepEqual(lines.map((line) => line.split(":")[0]), ["The database is away"])
      yield* way.mend
      yield* until(Effect.map(ready, (status) => status === 200))
      const { conversations } = yield* serving.client()
      yield* until(Effect.map(
        Effect.orDie(conversations.list()),
        (list) => list.length === 10 && list.every(({ isRunning }) => !isRunning)
      ))
      assert.deepEqual(lines.map((line) => line.split(/:| after/)[0]), ["The database is away", "The database is back"])
    }))
  }, 30_000)
})

postgres.describe("A Postgres that goes silent", () => {
  it.live(
    "holds up nothing: requests end with 503, and what was under way is gone on with when it is heard again",
    () => {
      const { lines, logged } = logging()
      return logged(Effect.gen(function*() {
        const { store, way } = yield* overWire
        const { agents, asked, go } = gated()
        const serving = yield* serve({ store, agents })
        const { conversations, id, params } = yield* serving.begin()
        yield* asked
        const resting = yield* serving.open()
        yield* way.silence(true)
        // The answer is there, and can't be kept.
        yield* go
        const asking = [
          serving.fetch("/v1/conversations"),
          serving.fetch(`/v1/conversations/${id}`),
          serving.fetch(`/v1/conversations/${resting.id}/messages`, {
            method: "POST",
            headers: { "content-type": "application/json" },
            body: JSON.stringify({ text: "Hello", key: "once" })
          }),
          serving.fetch("/ready")
        ]
        const answers = yield* Effect.all(asking.map(timed), { concurrency: asking.length })
        assert.deepEqual(answers.map(({ value }) => value.status), [503, 503, 503, 503])
        // What a statement may take, and its way; another one may have come before it.
        for (const { took } of answers) assert.isBelow(took, 20)
        assert.deepEqual(lines.map((line) => line.split(":")[0]), ["The database is away"])
        yield* way.silence(false)
        const told = yield* serving.until(id, ({ event }) => event === "RunCompleted")
        const numbers = told.map(({ id }) => id)
        assert.deepEqual(numbers, numbers.map((_, at) => at + 1))
        assert.isFalse((yield* conversations.read({ params })).isRunning)
        // What got no answer is repeated under its key.
        yield* resting.conversations.say({ params: resting.params, payload: { text: "Hello", key: "once" } })
        yield* serving.until(resting.id, isEnd)
        const { state } = yield* resting.conversations.read({ params: resting.params })
        assert.deepEqual(state.conversation.turns.map(({ _tag }) => _tag), ["User", "Assistant"])
      }))
    },
    60_000
  )

  it.live("that takes too long for a statement is told so by its end, and the run is gone on with", () => {
    const { lines, logged } = logging()
    return logged(Effect.gen(function*() {
      const database = yield* postgres.make
      const { agents, asked, go } = gated()
      const serving = yield* serve({ store: yield* database.open(), agents })
      const { conversations, id, params } = yield* serving.begin()
      yield* asked
      const held = yield* Effect.forkChild(
        database.sql("DO $$ BEGIN LOCK TABLE troupe_conversation_log; PERFORM pg_sleep(5); END $$")
      )
      const locks = database.sql(
        "SELECT 1 FROM pg_locks WHERE relation = 'troupe_conversation_log'::regclass AND mode = 'AccessExclusiveLock' AND granted"
      )
      yield* until(Effect.map(Effect.orDie(locks), ({ length }) => length > 0))
      yield* go
      yield* until(Effect.sync(() => lines.length > 0))
      assert.match(lines[0]!, /^The database is away: StatementTimeoutError/)
      assert.isUndefined(held.pollUnsafe(), "nobody waited until the table was free")
      yield* Fiber.join(held)
      const told = yield* serving.until(id, ({ event }) => event === "RunCompleted")
      assert.deepEqual(
        told.flatMap(({ event }) => event.startsWith("Run") ? [event] : []),
        ["RunStarted", "RunInterrupted", "RunStarted", "RunCompleted"]
      )
      assert.isFalse((yield* conversations.read({ params })).isRunning)
    }))
  }, 60_000)
})

for (const backing of backings) {
  backing.describe(`Conversations of an earlier version ${backing.name}`, () => {
    it.live("are refused at the start with the place that holds them, and a place that holds none isn't", () =>
      Effect.gen(function*() {
        const { open, place, sql } = yield* backing.make
        yield* sql("CREATE TABLE conversations (id TEXT PRIMARY KEY, in_flight INTEGER NOT NULL)")
        yield* Effect.scoped(open())
        yield* sql("INSERT INTO conversations VALUES ('one', 0)")
        const error = yield* Effect.flip(Effect.scoped(open()))
        assert(error instanceof EarlierVersion)
        assert.match(error.message, /^The (folder|database) .+ holds conversations of an earlier version/)
        assert.include(error.message, backing.isShared ? new URL(place).pathname.slice(1) : place)
        assert.notInclude(error.message, "@")
      }))
  })

  backing.describe(`A store that can't be written to ${backing.name}`, () => {
    it.live("isn't ready, which costs a write in five seconds, and says so in one line", () => {
      const { lines, logged } = logging()
      return logged(Effect.gen(function*() {
        const database = yield* backing.make
        const { sql } = database
        const serving = yield* serve({ store: yield* database.open() })
        const ready = Effect.map(serving.fetch("/ready"), ({ status }) => status)
        if (backing.isShared) {
          yield* sql("CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE disk_full; END'")
          yield* sql("CREATE TRIGGER full_disk BEFORE INSERT ON backend_writable EXECUTE FUNCTION full_disk()")
        } else {
          yield* sql(
            "CREATE TRIGGER full_disk BEFORE INSERT ON backend_writable BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END"
          )
        }
        for (let asked = 0; asked < 5; asked++) assert.strictEqual(yield* ready, 503)
        assert.lengthOf(lines, 1)
        yield* sql(`DROP TRIGGER full_disk${backing.isShared ? " ON backend_writable" : ""}`)
        yield* until(Effect.map(ready, (status) => status === 200))
        assert.match(lines[1]!, /^The database is back/)
        yield* sql("DELETE FROM backend_writable")
        // What was believed a moment ago isn't tried again.
        for (let asked = 0; asked < 5; asked++) assert.strictEqual(yield* ready, 200)
        assert.deepEqual(yield* sql("SELECT * FROM backend_writable"), [])
        assert.lengthOf(lines, 2)
      }))
    }, 30_000)
  })
}
