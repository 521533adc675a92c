import { assert, it } from "@effect/vitest"
import { Duration, Effect } from "effect"
import { AgentState } from "troupe"
import { MockModel } from "troupe/testing"
import { assistant, gate, gated } from "./assistant.ts"
import { colleagueOf, isEnd, serve } from "./serving.ts"
import { postgres } from "./store/backings.ts"

/** Waits until two instances have met: conversations don't change places any more. */
const met = (one: Effect.Success<ReturnType<typeof serve>>, other: Effect.Success<ReturnType<typeof serve>>) =>
  Effect.all([one.shards, other.shards]).pipe(
    Effect.delay("50 millis"),
    Effect.repeat({ until: ([one, other]) => one > 0 && other > 0 && one + other === 300 })
  )

postgres.describe("Two instances on one Postgres", () => {
  /** Two services with a run on the first, whose models never answer but for the second request of all. */
  const start = Effect.gen(function*() {
    const database = yield* postgres.make
    const { answer, asked, wasAborted } = gate()
    let requests = 0
    const model = MockModel.make(() =>
      Effect.suspend(() => ++requests === 2 ? Effect.succeed("From the other one.") : answer())
    )
    const instance = Effect.flatMap(
      database.open(),
      (store) => serve({ store, agents: assistant(model), settings: { grace: Duration.zero } })
    )
    const [one, other] = [yield* instance, yield* instance]
    yield* met(one, other)
    const elsewhere = (yield* other.client()).conversations
    const { conversations, id, params } = yield* Effect.repeat(one.open(), { until: ({ id }) => one.has(id) })
    yield* conversations.say({ params, payload: { text: "Hello" } })
    yield* asked
    return { one, other, elsewhere, id, params, wasAborted, requests: () => requests }
  })

  it.live("see each other's runs, and cancel them, with their requests to the model", () =>
    Effect.gen(function*() {
      const { elsewhere, id, other, params, requests, wasAborted } = yield* start
      const told = yield* other.until(id, ({ event }) => event === "ModelCallStarted")
      assert.strictEqual(told[0]!.event, "RunStarted")
      assert.isTrue((yield* elsewhere.read({ params })).isRunning)
      const busy = yield* Effect.flip(elsewhere.say({ params, payload: { text: "Hurry" } }))
      assert.strictEqual(busy._tag, "ConversationBusy")
      const cancelled = yield* elsewhere.cancel({ params })
      assert.isTrue(yield* wasAborted)
      assert.isFalse(cancelled.isRunning)
      const rest = yield* other.until(id, isEnd, told.at(-1)!.id)
      assert.strictEqual(rest.at(-1)!.id, cancelled.cursor)
      assert.strictEqual(requests(), 1)
    }))

  it.live("go on with what the other one left, and never run one conversation at a time", () =>
    Effect.gen(function*() {
      const { elsewhere, id, one, other, params, requests } = yield* start
      yield* one.stop
      const told = yield* other.until(id, ({ event }) => event === "RunCompleted")
      assert.deepEqual(
        told.map(({ event }) => event).filter((event) => event.startsWith("Run")),
        ["RunStarted", "RunInterrupted", "RunStarted", "RunCompleted"]
      )
      assert.deepEqual(told.map(({ id }) => id), told.map(({ id }) => id).toSorted((a, b) => a - b))
      const { state } = yield* elsewhere.read({ params })
      assert.strictEqual(AgentState.text(state), "From the other one.")
      assert.strictEqual(requests(), 2)
    }))

  it.live(
    "count the requests and the runs of a tenant together, and decide about each other's calls",
    () =>
      Effect.gen(function*() {
        const database = yield* postgres.make
        const { agents, asked, go } = gated()
        const limits = { rate: 30, runs: 1 }
        const instance = Effect.flatMap(
          database.open(),
          (store) => serve({ store, agents, settings: { grace: Duration.zero, limits } })
        )
        const [one, other] = [yield* instance, yield* instance]
        const first = yield* one.begin()
        yield* asked
        const second = yield* other.open()
        const busy = yield* Effect.flip(second.conversations.say({ params: second.params, payload: { text: "Hello" } }))
        assert.deepInclude(busy, { _tag: "TooManyRequests", limit: "runs" })
        yield* go
        yield* other.until(first.id, isEnd)
        yield* second.conversations.say({ params: second.params, payload: { text: "Hello" } })
        yield* one.until(second.id, isEnd)
        const statuses: Array<number> = []
        for (let sent = 0; sent < 40; sent++) {
          statuses.push((yield* (sent % 2 === 0 ? one : other).fetch("/v1/conversations")).status)
        }
        const accepted = statuses.filter((status) => status === 200).length
        // Those before count as well, and a bucket fills a little meanwhile.
        assert.isBelow(accepted, 28)
        assert.strictEqual(statuses.at(-1), 429)
        assert.strictEqual((yield* one.fetch("/v1/conversations", {}, "bob")).status, 200)
      }),
    30_000
  )

  it.live(
    "hold the limit of a tenant's runs together, also for messages that come at once",
    () =>
      Effect.gen(function*() {
        const database = yield* postgres.make
        const { agents } = gated()
        const settings = { grace: Duration.zero, limits: { runs: 8 } }
        const instance = Effect.flatMap(database.open(), (store) => serve({ store, agents, settings }))
        const [one, other] = [yield* instance, yield* instance]
        yield* met(one, other)
        const chats = yield* Effect.forEach(
          Array.from({ length: 40 }, (_, at) => at % 2 === 0 ? one : other),
          (asked) => asked.open()
        )
        const said = yield* Effect.forEach(chats, ({ conversations, params }) =>
          Effect.match(conversations.say({ params, payload: { text: "Hello" } }), {
            onSuccess: () =>
              undefined,
            onFailure: (error) => error
          }), { concurrency: "unbounded" })
        const refused = said.filter((error) =>
          error !== undefined
        )
        assert.lengthOf(refused, 32)
        for (const error of refused) assert.deepInclude(error, { _tag: "TooManyRequests", limit: "runs" })
      }),
    30_000
  )

  it.live("answer what awaits approval on either", () =>
    Effect.gen(function*() {
      const database = yield* postgres.make
      const instance = Effect.flatMap(database.open(), (store) => serve({ store }))
      const [one, other] = [yield* instance, yield* instance]
      for (const [asker, decider] of [[one, other], [other, one]] as const) {
        const { id, params } = yield* asker.begin("The floor lamp of order 1047 is cracked")
        const told = yield* decider.until(id, isEnd)
        const colleague = yield* decider.client(colleagueOf("ada"))
        const [waiting] = yield* colleague.approvals.waiting()
        assert.strictEqual(waiting?.conversation, id)
        yield* colleague.conversations.resolve({
          params: { ...params, callId: waiting!.callId },
          payload: { decision: "approve" }
        })
        const rest = yield* asker.until(id, isEnd, told.at(-1)!.id)
        assert.strictEqual(rest.at(-1)!.event, "RunCompleted")
      }
    }), 30_000)
})
