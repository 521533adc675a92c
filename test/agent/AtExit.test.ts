import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber } from "effect"
import { atExit } from "../../src/agent/journal/AtExit.ts"

describe("A function that is called with the exit of an effect", () => {
  it.effect("is called after success, failure and interruption, and changes none of them", () =>
    Effect.gen(function*() {
      const exits: Array<Exit.Exit<unknown, unknown>> = []
      const noted = <A, E>(self: Effect.Effect<A, E>) => atExit(self, (exit) => void exits.push(exit))
      assert.strictEqual(yield* noted(Effect.succeed(1)), 1)
      assert.strictEqual(yield* Effect.flip(noted(Effect.fail("broken"))), "broken")
      const fiber = yield* Effect.forkChild(noted(Effect.never), { startImmediately: true })
      yield* Fiber.interrupt(fiber)
      assert.deepStrictEqual(exits.map(Exit.isSuccess), [true, false, false])
      assert.isTrue(Exit.hasInterrupts(exits[2]!))
      assert.isTrue(Exit.hasInterrupts(yield* Fiber.await(fiber)))
    }))
})
