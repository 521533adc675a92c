import { assert, it } from "@effect/vitest"
import { Deferred, Duration, Effect, Stream } from "effect"
import { AgentState } from "troupe"
import { MockModel } from "troupe/testing"
import { assistant } from "./assistant.ts"
import { isEnd, serve, type Told } from "./serving.ts"
import { postgres } from "./store/backings.ts"

postgres.describe("Two instances on one Postgres", () => {
  /** Two services, whose models never answer but for the second request of all. */
  const start = Effect.gen(function*() {
    const database = yield* postgres.make
    let requests = 0
    const asked = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
    const aborted = yield* Deferred.make<void>()
    const model = MockModel.make(() =>
      Effect.suspend(() => {
        const request = requests++
        const tell = asked[request] === undefined ? Effect.void : Deferred.succeed(asked[request], undefined)
        return request === 1 ? Effect.as(tell, "From the other one.") : Effect.andThen(tell, Effect.never).pipe(
          Effect.onInterrupt(() => Deferred.succeed(aborted, undefined))
        )
      })
    )
    const instance = Effect.flatMap(
      database.open(),
      (store) => serve({ store, agents: assistant(model), settings: { grace: Duration.zero } })
    )
    const [one, other] = [yield* instance, yield* instance]
    const { conversations } = yield* one.client()
    const elsewhere = (yield* other.client()).conversations
    const params = { id: (yield* conversations.open()).id }
    yield* conversations.say({ params, payload: { text: "Hello" } })
    yield* Deferred.await(asked[0]!)
    const read = (isLast: (told: Told) => boolean, after = 0) =>
      other.events(params.id, { "last-event-id": String(after) }).pipe(Stream.takeUntil(isLast), Stream.runCollect)
    return { one, conversations, elsewhere, params, read, aborted, requests: () => requests }
  })

  it.live("see each other's runs, and cancel them, with their requests to the model", () =>
    Effect.gen(function*() {
      const { aborted, elsewhere, params, read, requests } = yield* start
      const told = yield* read(({ event }) => event === "ModelCallStarted")
      assert.strictEqual(told[0]!.event, "RunStarted")
      assert.isTrue((yield* elsewhere.read({ params })).isRunning)
      const busy = yield* Effect.flip(elsewhere.say({ params, payload: { text: "Hurry" } }))
      assert.strictEqual(busy._tag, "ConversationBusy")
      const cancelled = yield* elsewhere.cancel({ params })
      assert.isTrue(yield* Deferred.isDone(aborted))
      assert.isFalse(cancelled.isRunning)
      const rest = yield* read(isEnd, told.at(-1)!.id)
      assert.strictEqual(rest.at(-1)!.id, cancelled.cursor)
      assert.strictEqual(requests(), 1)
    }))

  it.live("go on with what the other one left, and never run one conversation at a time", () =>
    Effect.gen(function*() {
      const { elsewhere, one, params, read, requests } = yield* start
      yield* one.stop
      const told = yield* read(({ event }) => event === "RunCompleted")
      assert.deepEqual(
        told.map(({ event }) => event).filter((event) => event.startsWith("Run")),
        ["RunStarted", "RunInterrupted", "RunStarted", "RunCompleted"]
      )
      assert.deepEqual(told.map(({ id }) => id), told.map(({ id }) => id).toSorted((a, b) => a - b))
      const { state } = yield* elsewhere.read({ params })
      assert.strictEqual(AgentState.text(state), "From the other one.")
      assert.strictEqual(requests(), 2)
    }))
})
