import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Fiber, Scheduler } from "effect"
import { Held } from "../../src/cluster/Held.ts"

describe("What a runner has of an entity", () => {
  it.live("is let go of if nothing is stored in it, wherever those who used it were broken off", () =>
    Effect.gen(function*() {
      let closed = 0
      const journal = { isClosed: false, isEmpty: true, close: () => void closed++, end: Effect.void }
      const options = { id: "1", isLeaving: () => false, patience: Duration.seconds(1) }
      for (const maxOps of [2, 3, 4, 5]) {
        for (let turns = 0; turns < 30; turns++) {
          const held = new Held(options, Effect.sync(() => ({ journal })), () => Effect.void)
          const using = yield* Effect.forkChild(
            Effect.provideService(held.with(() => Effect.never), Scheduler.MaxOpsBeforeYield, maxOps)
          )
          yield* Effect.repeat(Effect.yieldNow, { times: turns })
          yield* Fiber.interrupt(using)
          yield* held.with(() => Effect.void)
          assert.isUndefined(held.live, `${maxOps} operations at a time, after ${turns} turns`)
        }
      }
      assert.isAbove(closed, 0)
    }))
})
