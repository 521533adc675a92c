import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Fiber, Stream } from "effect"
import { AgentState } from "troupe"
import { MockModel, MockResponse } from "troupe/testing"
import { boss, gate } from "./assistant.ts"
import { isEnd, serve, type Told } from "./serving.ts"

/** Begins a run of some twenty events, with a call and a handoff, which ends with an approval that is awaited. */
const refund = "The floor lamp of order 1047 is cracked"

/** The text of a response, as it comes. */
const textOf = (response: Response) =>
  Stream.decodeText(Stream.fromReadableStream({ evaluate: () => response.body!, onError: String }))

describe("a stream of events", () => {
  it.live("misses and doubles nothing, wherever its reader reconnects", () =>
    Effect.gen(function*() {
      const serving = yield* serve()
      const { id } = yield* serving.begin(refund)
      // Leaves after each event of the run, while it goes on.
      const seen: Array<Told> = []
      while (seen.length === 0 || !isEnd(seen.at(-1)!)) {
        seen.push(...(yield* serving.until(id, () => true, seen.at(-1)?.id)))
      }
      assert.isAbove(seen.length, 20)
      assert.deepEqual(yield* serving.until(id, isEnd), seen)
      yield* Effect.forEach(
        seen.slice(0, -1),
        (event, index) =>
          Effect.map(serving.until(id, isEnd, event.id), (told) => assert.deepEqual(told, seen.slice(index + 1))),
        { concurrency: 8, discard: true }
      )
    }))

  it.live("begins where what was read stands, in mid-run", () =>
    Effect.gen(function*() {
      const call = (task: string) => MockResponse.toolCall("helper", { task })
      const gates = [call("a"), "Done.", call("b"), "Done.", call("c"), "Done.", "All done."].map((answer) =>
        gate(answer)
      )
      const serving = yield* serve({ agents: boss(MockModel.queue(...gates.map(({ answer }) => answer))) })
      const { conversations, id, params } = yield* serving.begin()
      const reads: Array<{ readonly cursor: number; readonly state: AgentState.AgentState }> = []
      for (const { asked, go } of gates) {
        yield* asked
        const read = yield* conversations.read({ params })
        assert.isTrue(read.isRunning)
        reads.push(read)
        yield* go
      }
      yield* serving.until(id, isEnd)
      const last = yield* conversations.read({ params })
      assert.strictEqual(new Set(reads.map(({ cursor }) => cursor)).size, gates.length)
      const stream = yield* conversations.events({ params, query: {}, headers: {} })
      const told = yield* stream.pipe(Stream.takeUntil(({ id }) => id === last.cursor), Stream.runCollect)
      for (const { cursor, state } of reads) {
        const after = told.filter(({ id }) => id > cursor).map(({ data }) => data)
        const folded = after.reduce((state, event) => AgentState.reduce(state, event as never), state)
        assert.deepEqual(AgentState.toJson(folded), AgentState.toJson(last.state))
      }
    }))

  it.live("prefers Last-Event-ID to the query, and tells of cursors whose events are gone", () =>
    Effect.gen(function*() {
      const serving = yield* serve({ settings: { keepEvents: 10 } })
      const { conversations, id, params } = yield* serving.open()
      const read = (controller = new AbortController()) =>
        Effect.tap(
          serving.fetch(`/v1/conversations/${id}/events?after=1`, { signal: controller.signal }),
          ({ status }) => Effect.sync(() => status === 200 && controller.abort())
        )
      // Events are let go of when the state that they lead to is kept, which is now and then.
      const gone = yield* Effect.gen(function*() {
        yield* conversations.say({ params, payload: { text: "Where is order 1042?" } })
        yield* Effect.repeat(conversations.read({ params }), { until: ({ isRunning }) => !isRunning })
        return yield* read()
      }).pipe(Effect.repeat({ until: ({ status }) => status === 410, times: 60 }))
      const { cursor } = yield* conversations.read({ params })
      assert.strictEqual(gone.status, 410)
      const problem = yield* Effect.promise(() => gone.json())
      assert.deepInclude(problem, { type: "urn:troupe-backend:cursor-expired", status: 410, cursor: 1 })
      assert.isAbove(problem.oldest, 1)
      const [told] = yield* serving.until(id, () => true, cursor - 1)
      assert.strictEqual(told!.id, cursor)
      const preferred = yield* serving.fetch(`/v1/conversations/${id}/events?after=1`, {
        headers: { "last-event-id": String(cursor) }
      })
      assert.strictEqual(preferred.status, 200)
      yield* Effect.promise(async () => preferred.body?.cancel())
      const ahead = yield* serving.fetch(`/v1/conversations/${id}/events?after=${cursor + 1}`)
      assert.deepInclude(yield* Effect.promise(() => ahead.json()), {
        type: "urn:troupe-backend:cursor-ahead",
        status: 400,
        cursor: cursor + 1,
        last: cursor
      })
    }))

  it.live("says that it lives while nothing happens, and isn't kept or packed on the way", () =>
    Effect.gen(function*() {
      const serving = yield* serve({ settings: { heartbeat: Duration.millis(5) } })
      const { id } = yield* serving.open()
      const response = yield* serving.fetch(`/v1/conversations/${id}/events`)
      assert.strictEqual(response.headers.get("content-type"), "text/event-stream")
      assert.strictEqual(response.headers.get("cache-control"), "no-cache, no-transform")
      assert.strictEqual(response.headers.get("x-accel-buffering"), "no")
      const beats = yield* textOf(response).pipe(Stream.take(4), Stream.mkString)
      assert.match(beats, /^(:\n\n){4,}$/)
    }))

  it.live("ends when its conversation is removed", () =>
    Effect.gen(function*() {
      const serving = yield* serve()
      const { conversations, id, params } = yield* serving.begin()
      yield* serving.until(id, isEnd)
      const reading = yield* serving.watch(id)
      yield* conversations.remove({ params })
      yield* Fiber.join(reading)
    }))

  it.live("that is read slowly holds up nobody, and has everything when its reader goes on", () =>
    Effect.gen(function*() {
      const serving = yield* serve()
      const { conversations, id, params } = yield* serving.open()
      const slow = yield* serving.fetch(`/v1/conversations/${id}/events`)
      for (let round = 0; round < 3; round++) {
        const { cursor } = yield* conversations.say({ params, payload: { text: refund } })
        yield* serving.until(id, isEnd, cursor)
      }
      const { cursor } = yield* conversations.read({ params })
      const text = yield* textOf(slow).pipe(
        Stream.scan(() => "", (all, more) => all + more),
        Stream.takeUntil((all) => all.includes(`id: ${cursor}\n`)),
        Stream.runLast,
        Effect.flatMap(Effect.fromOption)
      )
      const told = yield* serving.until(id, ({ id }) => id === cursor)
      // Pieces of text have the number of the event before them.
      const ids = new Set(Array.from(text.matchAll(/^id: (\d+)$/gm), ([, id]) => Number(id)))
      assert.deepEqual([...ids], told.map(({ id }) => id))
    }))
})
