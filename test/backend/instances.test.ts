import { assert, it } from "@effect/vitest"
import { Duration, Effect } from "effect"
import { AgentState } from "troupe"
import { MockModel } from "troupe/testing"
import { assistant, gate } from "./assistant.ts"
import { isEnd, serve } from "./serving.ts"
import { postgres } from "./store/backings.ts"

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
    const elsewhere = (yield* other.client()).conversations
    const { id, params } = yield* one.begin()
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
})
