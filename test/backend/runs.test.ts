import { assert, describe, it } from "@effect/vitest"
import { Deferred, Duration, Effect, Fiber, Layer, Queue, Stream } from "effect"
import { Agent, AgentState, Session } from "troupe"
import { MockModel, MockResponse } from "troupe/testing"
import * as Agents from "../../examples/backend/service/Agents.ts"
import type { StoreFailed } from "../../examples/backend/store/Store.ts"
import { assistant } from "./assistant.ts"
import { type Failing, failingStore, folder, isEnd, serve, type Serving, type Told, wrapLease } from "./serving.ts"

/** A model that says when it is asked, and answers when it may. */
const gated = () => {
  const asked = Deferred.makeUnsafe<void>()
  const may = Deferred.makeUnsafe<void>()
  const answering = MockModel.make(() =>
    Effect.as(Effect.andThen(Deferred.succeed(asked, undefined), Deferred.await(may)), "An answer.")
  )
  return { agents: assistant(answering), asked: Deferred.await(asked), go: Deferred.succeed(may, undefined) }
}

/** Reads a conversation's events to the end of the stream in the background, once the first has come. */
const watch = (serving: Serving, id: string) =>
  Effect.gen(function*() {
    const begun = yield* Deferred.make<void>()
    const reading = yield* serving.events(id).pipe(
      Stream.tap(() => Deferred.succeed(begun, undefined)),
      Stream.runCollect,
      Effect.forkChild
    )
    yield* Deferred.await(begun)
    return reading
  })

/** Opens a conversation and says something. */
const begin = (serving: Serving) =>
  Effect.gen(function*() {
    const { conversations } = yield* serving.client()
    const { id } = yield* conversations.open()
    const params = { id }
    yield* conversations.say({ params, payload: { text: "Hello" } })
    return { conversations, id, params }
  })

const until = (serving: Serving, id: string, isLast: (told: Told) => boolean, after = 0) =>
  Stream.runCollect(Stream.takeUntil(serving.events(id, { "last-event-id": String(after) }), isLast))

describe("a stream of events", () => {
  it.live("misses and doubles nothing, wherever its reader reconnects", () =>
    Effect.gen(function*() {
      const serving = yield* serve()
      const { conversations } = yield* serving.client()
      const params = { id: (yield* conversations.open()).id }
      yield* conversations.say({ params, payload: { text: "The floor lamp of order 1047 is cracked" } })
      // Leaves after each event of the run, while it goes on.
      const seen: Array<Told> = []
      while (seen.length === 0 || !isEnd(seen.at(-1)!)) {
        seen.push(
          ...(yield* serving.events(params.id, { "last-event-id": String(seen.at(-1)?.id ?? 0) }).pipe(
            Stream.take(1),
            Stream.runCollect
          ))
        )
      }
      assert.isAbove(seen.length, 20)
      assert.deepEqual(yield* until(serving, params.id, isEnd), seen)
      yield* Effect.forEach(
        seen.slice(0, -1),
        ({ id }, index) =>
          Effect.map(until(serving, params.id, isEnd, id), (told) => assert.deepEqual(told, seen.slice(index + 1))),
        { concurrency: 8, discard: true }
      )
    }))

  it.live("begins where what was read stands, in mid-run", () =>
    Effect.gen(function*() {
      const asked = yield* Queue.unbounded<Deferred.Deferred<void>>()
      const answer = (reply: MockResponse.Input) => () =>
        Effect.gen(function*() {
          const may = yield* Deferred.make<void>()
          yield* Queue.offer(asked, may)
          yield* Deferred.await(may)
          return reply
        })
      const calls = ["a", "b", "c"].map((task) => answer(MockResponse.toolCall("helper", { task })))
      const serving = yield* serve({
        agents: Agents.layer({
          first: "boss",
          open: (store) =>
            Session.make(Agent.make("boss", { agents: [Agent.asTool(Agent.make("helper"))] }), { store }),
          tools: Layer.empty
        }).pipe(Layer.provide(MockModel.layer(MockModel.queue(
          ...calls.flatMap((call) => [call, answer("Done.")]),
          answer("All done.")
        ))))
      })
      const { conversations, params } = yield* begin(serving)
      const reads: Array<{ readonly cursor: number; readonly state: AgentState.AgentState }> = []
      for (let question = 0; question < 7; question++) {
        const may = yield* Queue.take(asked)
        const read = yield* conversations.read({ params })
        assert.isTrue(read.isRunning)
        reads.push(read)
        yield* Deferred.succeed(may, undefined)
      }
      yield* until(serving, params.id, isEnd)
      const last = yield* conversations.read({ params })
      assert.strictEqual(new Set(reads.map(({ cursor }) => cursor)).size, 7)
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
      const serving = yield* serve({ store: yield* folder({ keep: 10 }) })
      const { conversations } = yield* serving.client()
      const params = { id: (yield* conversations.open()).id }
      for (let round = 0; round < 2; round++) {
        yield* conversations.say({ params, payload: { text: "The floor lamp of order 1047 is cracked" } })
        yield* Effect.repeat(conversations.read({ params }), { until: ({ isRunning }) => !isRunning })
      }
      const { cursor } = yield* conversations.read({ params })
      const gone = yield* serving.fetch(`/v1/conversations/${params.id}/events?after=1`)
      assert.strictEqual(gone.status, 410)
      const problem = yield* Effect.promise(() => gone.json())
      assert.deepInclude(problem, { type: "urn:troupe-backend:cursor-expired", status: 410, cursor: 1 })
      assert.isAbove(problem.oldest, 1)
      const told = yield* Stream.runCollect(Stream.take(
        serving.events(`${params.id}`, {
          "last-event-id": String(cursor - 1)
        }),
        1
      ))
      assert.strictEqual(told[0]!.id, cursor)
      const preferred = yield* serving.fetch(`/v1/conversations/${params.id}/events?after=1`, {
        headers: { "last-event-id": String(cursor) }
      })
      assert.strictEqual(preferred.status, 200)
      yield* Effect.promise(async () => preferred.body?.cancel())
    }))

  it.live("says that it lives while nothing happens, and isn't kept or packed on the way", () =>
    Effect.gen(function*() {
      const serving = yield* serve({ settings: { heartbeat: Duration.millis(5) } })
      const { conversations } = yield* serving.client()
      const { id } = yield* conversations.open()
      const response = yield* serving.fetch(`/v1/conversations/${id}/events`)
      assert.strictEqual(response.headers.get("content-type"), "text/event-stream")
      assert.strictEqual(response.headers.get("cache-control"), "no-cache, no-transform")
      assert.strictEqual(response.headers.get("x-accel-buffering"), "no")
      const text = Stream.fromReadableStream({ evaluate: () => response.body!, onError: String }).pipe(
        Stream.decodeText
      )
      const beats = yield* text.pipe(Stream.take(4), Stream.mkString)
      assert.match(beats, /^(:\n\n){4,}$/)
    }))

  it.live("ends when its conversation is removed", () =>
    Effect.gen(function*() {
      const serving = yield* serve()
      const { conversations, id, params } = yield* begin(serving)
      yield* until(serving, id, isEnd)
      const reading = yield* watch(serving, id)
      yield* conversations.remove({ params })
      yield* Fiber.join(reading)
    }))
})

describe("a run", () => {
  it.live("goes on when its client goes away", () =>
    Effect.gen(function*() {
      const { agents, asked, go } = gated()
      const serving = yield* serve({ agents })
      const { conversations, id, params } = yield* begin(serving)
      const reading = yield* watch(serving, id)
      yield* asked
      yield* Fiber.interrupt(reading)
      assert.isTrue((yield* conversations.read({ params })).isRunning)
      yield* go
      yield* until(serving, id, isEnd)
      assert.strictEqual(AgentState.text((yield* conversations.read({ params })).state), "An answer.")
    }))

  it.live("is alone in its conversation", () =>
    Effect.gen(function*() {
      const { agents, asked, go } = gated()
      const lingering = wrapLease(yield* folder(), (lease) =>
        Effect.as(Effect.addFinalizer(() => Effect.sleep("50 millis")), lease))
      const serving = yield* serve({ agents, store: lingering })
      const { conversations, id, params } = yield* begin(serving)
      yield* asked
      const busy = yield* Effect.flip(conversations.say({ params, payload: { text: "Hurry" } }))
      assert.deepInclude(busy, { _tag: "ConversationBusy", conversation: id })
      assert.strictEqual((yield* Effect.flip(conversations.resume({ params })))._tag, "ConversationBusy")
      yield* go
      // Whoever hears of its end can say something at once, before the lease is given back.
      const told = yield* until(serving, id, isEnd)
      yield* conversations.say({ params, payload: { text: "Thanks" } })
      yield* until(serving, id, isEnd, told.at(-1)!.id)
    }))

  it.live("waits for what holds its conversation without a run", () =>
    Effect.gen(function*() {
      const lingering = wrapLease(yield* folder(), (lease) =>
        Effect.as(Effect.addFinalizer(() => Effect.sleep("50 millis")), lease))
      const serving = yield* serve({ agents: assistant(MockModel.queue("Hello.", "Hello again.")), store: lingering })
      const { conversations, id, params } = yield* begin(serving)
      const told = yield* until(serving, id, isEnd)
      yield* Effect.forkChild(conversations.cancel({ params }), { startImmediately: true })
      yield* conversations.say({ params, payload: { text: "Are you there?" } })
      yield* until(serving, id, isEnd, told.at(-1)!.id)
    }))

  it.live("is read as it ended, also when it ends while it is read", () =>
    Effect.gen(function*() {
      const store = yield* folder()
      const { agents, asked, go } = gated()
      let onRead: Effect.Effect<void, StoreFailed> = Effect.void
      const late = {
        ...store,
        read: (tenant: string, id: string) => Effect.tap(store.read(tenant, id), () => onRead)
      }
      const serving = yield* serve({ agents, store: late })
      const { conversations, id, params } = yield* begin(serving)
      yield* asked
      // Between what the store reads and the answer, the run ends and its lease is given back.
      onRead = Effect.suspend(() => {
        onRead = Effect.void
        return go.pipe(
          Effect.andThen(until(serving, id, isEnd)),
          Effect.andThen(Effect.repeat(store.read("ada", id), { until: (saved) => saved?.row.isInFlight === false })),
          Effect.andThen(Effect.sleep("20 millis"))
        )
      })
      const read = yield* conversations.read({ params })
      assert.isFalse(read.isRunning)
      assert.strictEqual(AgentState.text(read.state), "An answer.")
    }))

  it.live("is stopped with the request to its model when somebody cancels it, and goes on when somebody resumes it", () =>
    Effect.gen(function*() {
      const asked = yield* Deferred.make<void>()
      const aborted = yield* Deferred.make<void>()
      const never = () =>
        Effect.andThen(Deferred.succeed(asked, undefined), Effect.never).pipe(
          Effect.onInterrupt(() => Deferred.succeed(aborted, undefined))
        )
      const serving = yield* serve({ agents: assistant(MockModel.queue(never, "Here I am.")) })
      const { conversations, id, params } = yield* begin(serving)
      yield* Deferred.await(asked)
      const cancelled = yield* conversations.cancel({ params })
      assert.isTrue(yield* Deferred.isDone(aborted))
      assert.isFalse(cancelled.isRunning)
      assert.strictEqual(cancelled.state.status._tag, "InProgress")
      const told = yield* until(serving, id, isEnd)
      assert.strictEqual(told.at(-1)!.event, "RunInterrupted")
      assert.strictEqual(told.at(-1)!.id, cancelled.cursor)
      // Nobody goes on with what was cancelled.
      yield* Effect.sleep("60 millis")
      assert.isFalse((yield* conversations.read({ params })).isRunning)
      yield* conversations.resume({ params })
      yield* until(serving, id, isEnd, cancelled.cursor)
      const { state } = yield* conversations.read({ params })
      assert.strictEqual(AgentState.text(state), "Here I am.")
      assert.strictEqual((yield* conversations.cancel({ params })).state.status._tag, "Complete")
    }))

  it.live("is stopped when its conversation is removed", () =>
    Effect.gen(function*() {
      const asked = yield* Deferred.make<void>()
      const aborted = yield* Deferred.make<void>()
      const serving = yield* serve({
        agents: assistant(MockModel.make(() =>
          Effect.andThen(Deferred.succeed(asked, undefined), Effect.never).pipe(
            Effect.onInterrupt(() => Deferred.succeed(aborted, undefined))
          )
        ))
      })
      const { conversations, params } = yield* begin(serving)
      yield* Deferred.await(asked)
      yield* conversations.remove({ params })
      assert.isTrue(yield* Deferred.isDone(aborted))
      assert.deepEqual(yield* conversations.list(), [])
    }))

  it.live("tells of its failure, and can be resumed", () =>
    Effect.gen(function*() {
      const asked = yield* Deferred.make<void>()
      const may = yield* Deferred.make<void>()
      const answer = () =>
        Effect.as(Effect.andThen(Deferred.succeed(asked, undefined), Deferred.await(may)), "Here I am.")
      const serving = yield* serve({ agents: assistant(MockModel.queue(MockResponse.httpError(401), answer)) })
      const { conversations, id, params } = yield* begin(serving)
      const told = yield* until(serving, id, isEnd)
      assert.strictEqual(told.at(-1)!.event, "RunFailed")
      const failed = yield* conversations.read({ params })
      assert.deepEqual([failed.isRunning, failed.state.status._tag], [false, "Failed"])
      yield* conversations.resume({ params })
      yield* Deferred.await(asked)
      const resumed = yield* conversations.read({ params })
      assert.deepEqual([resumed.isRunning, resumed.state.status._tag], [true, "InProgress"])
      yield* Deferred.succeed(may, undefined)
      yield* until(serving, id, isEnd, told.at(-1)!.id)
      assert.strictEqual(AgentState.text((yield* conversations.read({ params })).state), "Here I am.")
    }))

  it.live("that can't even be opened is given up, and not tried again and again", () =>
    Effect.gen(function*() {
      const store = yield* folder()
      const { agents, asked } = gated()
      const first = yield* serve({ agents, store, settings: { grace: Duration.zero } })
      const { params } = yield* begin(first)
      yield* asked
      yield* first.stop
      let opened = 0
      const broken = Agents.layer({
        first: "assistant",
        open: () => Effect.suspend(() => Effect.die(new Error(`a bug, met ${++opened} times`))),
        tools: Layer.empty
      })
      const second = yield* serve({ agents: broken, store })
      const { conversations } = yield* second.client()
      yield* Effect.repeat(conversations.read({ params }), { until: ({ isRunning }) => !isRunning })
      assert.strictEqual(opened, 1)
    }))

  it.live("tells and shows that a call has its result when that is saved", () =>
    Effect.gen(function*() {
      const store = yield* folder()
      const saving = yield* Deferred.make<void>()
      const may = yield* Deferred.make<void>()
      // Holds up the save of the state in which the call is settled.
      const slow = wrapLease(store, (lease) => ({
        ...lease,
        states: {
          ...lease.states,
          set: (key, value) =>
            typeof value === "string" && value.includes(`"Settled"`)
              ? Effect.andThen(
                Effect.andThen(Deferred.succeed(saving, undefined), Deferred.await(may)),
                lease.states.set(key, value)
              )
              : lease.states.set(key, value)
        }
      }))
      const helper = MockModel.queue(MockResponse.toolCall("helper", { task: "help" }), "Helped.", "All done.")
      const agents = Agents.layer({
        first: "boss",
        open: (store) => Session.make(Agent.make("boss", { agents: [Agent.asTool(Agent.make("helper"))] }), { store }),
        tools: Layer.empty
      }).pipe(Layer.provide(MockModel.layer(helper)))
      const serving = yield* serve({ agents, store: slow })
      const { conversations, id, params } = yield* begin(serving)
      yield* Deferred.await(saving)
      const before = yield* conversations.read({ params })
      assert.notInclude(JSON.stringify(AgentState.toJson(before.state)), `"Settled"`)
      const shown = yield* slow.events(id, 0, 1000)
      assert.strictEqual(shown.at(-1)!.number, before.cursor)
      assert.notInclude(shown.map(({ event }) => event._tag), "ToolCallSettled")
      yield* Deferred.succeed(may, undefined)
      const rest = yield* until(serving, id, isEnd, before.cursor)
      assert.strictEqual(rest[0]!.event, "ToolCallSettled")
    }))

  it.live("that breaks down isn't gone on with by itself", () =>
    Effect.gen(function*() {
      const serving = yield* serve({
        agents: assistant(MockModel.queue(() => Effect.die(new Error("a bug")), "Here I am."))
      })
      const { conversations, id, params } = yield* begin(serving)
      const told = yield* until(serving, id, isEnd)
      yield* Effect.sleep("60 millis")
      const { cursor, isRunning } = yield* conversations.read({ params })
      assert.deepEqual({ cursor, isRunning }, { cursor: told.at(-1)!.id, isRunning: false })
      yield* conversations.resume({ params })
      yield* until(serving, id, isEnd, cursor)
      assert.strictEqual(AgentState.text((yield* conversations.read({ params })).state), "Here I am.")
    }))

  it.live("goes on once its store does", () =>
    Effect.gen(function*() {
      const { agents, asked, go } = gated()
      const failing: Failing = new Set()
      const store = failingStore(yield* folder(), failing)
      const serving = yield* serve({ agents, store })
      const { conversations, id, params } = yield* begin(serving)
      yield* asked
      failing.add("save")
      yield* go
      yield* until(serving, id, ({ event }) => event === "RunInterrupted")
      failing.clear()
      yield* until(serving, id, ({ event }) => event === "RunCompleted")
      const { isRunning, state } = yield* conversations.read({ params })
      assert.isFalse(isRunning)
      assert.strictEqual(AgentState.text(state), "An answer.")
      assert.deepEqual(state.conversation.turns.map(({ _tag }) => _tag), ["User", "Assistant"])
    }))

  it.live("isn't taken in where the store can't keep it", () =>
    Effect.gen(function*() {
      const failing: Failing = new Set()
      const serving = yield* serve({ store: failingStore(yield* folder(), failing) })
      const { conversations } = yield* serving.client()
      const params = { id: (yield* conversations.open()).id }
      failing.add("save")
      const payload = { text: "Hello", key: "once" }
      assert.strictEqual((yield* Effect.flip(conversations.say({ params, payload })))._tag, "Unavailable")
      failing.clear()
      assert.deepInclude(yield* conversations.read({ params }), { isRunning: false, title: "" })
      yield* conversations.say({ params, payload })
      yield* until(serving, params.id, ({ event }) => event === "RunCompleted")
      const { state } = yield* conversations.read({ params })
      assert.deepEqual(state.conversation.turns.map(({ _tag }) => _tag), ["User", "Assistant"])
      failing.add("read").add("create").add("check").add("lease")
      for (
        const effect of [
          conversations.open(),
          conversations.read({ params }),
          conversations.say({ params, payload }),
          conversations.cancel({ params })
        ]
      ) assert.strictEqual((yield* Effect.flip(effect))._tag, "Unavailable")
      assert.strictEqual((yield* serving.fetch("/ready")).status, 503)
      assert.strictEqual((yield* serving.fetch("/health")).status, 200)
    }))
})

describe("a shutdown", () => {
  it.live("lets runs end that can, and ends streams with their last events", () =>
    Effect.gen(function*() {
      const { agents, asked, go } = gated()
      const serving = yield* serve({ agents })
      const { conversations, id, params } = yield* begin(serving)
      yield* asked
      const reading = yield* watch(serving, id)
      const other = (yield* conversations.open()).id
      const stopping = yield* Effect.forkChild(serving.stop)
      const refused = yield* Effect.gen(function*() {
        const response = yield* serving.fetch("/ready")
        return response.status === 503 ? response : yield* Effect.fail("not yet")
      }).pipe(Effect.eventually)
      assert.strictEqual(refused.headers.get("content-type"), "application/problem+json")
      assert.strictEqual(refused.headers.get("retry-after"), "5")
      assert.strictEqual((yield* Effect.flip(conversations.open()))._tag, "Unavailable")
      const saying = conversations.say({ params: { id: other }, payload: { text: "Hello" } })
      assert.strictEqual((yield* Effect.flip(saying))._tag, "Unavailable")
      assert.isTrue((yield* conversations.read({ params })).isRunning)
      yield* go
      yield* Fiber.join(stopping)
      assert.strictEqual((yield* Fiber.join(reading)).at(-1)!.event, "RunCompleted")
    }))

  it.live("breaks off runs that take longer than their time of grace, and the next service goes on with them", () =>
    Effect.gen(function*() {
      const store = yield* folder()
      const asked = yield* Deferred.make<void>()
      const never = MockModel.make(() => Effect.andThen(Deferred.succeed(asked, undefined), Effect.never))
      const first = yield* serve({ agents: assistant(never), store, settings: { grace: Duration.millis(1) } })
      const { id, params } = yield* begin(first)
      yield* Deferred.await(asked)
      const reading = yield* watch(first, id)
      yield* first.stop
      const told = yield* Fiber.join(reading)
      assert.strictEqual(told.at(-1)!.event, "RunInterrupted")
      const second = yield* serve({ agents: assistant(MockModel.queue("Sorry for the wait.")), store })
      yield* until(second, id, isEnd, told.at(-1)!.id)
      const { conversations } = yield* second.client()
      const { isRunning, state } = yield* conversations.read({ params })
      assert.isFalse(isRunning)
      assert.strictEqual(AgentState.text(state), "Sorry for the wait.")
      assert.deepEqual(state.conversation.turns.map(({ _tag }) => _tag), ["User", "Assistant"])
    }))
})
