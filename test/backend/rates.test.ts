import { assert, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { RateLimiter } from "effect/persistence"
import * as Rates from "../../examples/backend/store/Rates.ts"
import * as Store from "../../examples/backend/store/Store.ts"
import { backings } from "./store/backings.ts"

for (const backing of backings) {
  backing.describe(`Requests that are counted ${backing.name}`, () => {
    it.live("are those of all instances: as many as the limit at once, and then one after the other", () =>
      Effect.gen(function*() {
        const { open, sql } = yield* backing.make
        const { context } = yield* open()
        const instance = RateLimiter.layer.pipe(
          Layer.provide(Rates.layer),
          Layer.provide(Store.layer),
          Layer.provide(Layer.succeedContext(context))
        )
        // Two limiters know nothing of each other but what is in the database.
        const consume = (key: string, layer: typeof instance) =>
          Effect.gen(function*() {
            const limiter = yield* RateLimiter.RateLimiter
            return yield* limiter.consume({ algorithm: "token-bucket", key, limit: 5, window: "1 hour" })
          }).pipe(
            Effect.provide(Layer.fresh(layer)),
            Effect.match({
              onSuccess: ({ remaining }) => remaining,
              onFailure: (error) => error._tag === "RateLimiterError" ? error.reason._tag : error._tag
            })
          )
        const both = yield* Effect.forEach(Array.from({ length: 8 }), () => consume("ada", instance), {
          concurrency: 4
        })
        assert.deepStrictEqual(both.filter((one) => typeof one === "number").sort(), [0, 1, 2, 3, 4])
        assert.deepStrictEqual(both.filter((one) => one === "RateLimitExceeded").length, 3)
        assert.strictEqual(yield* consume("bob", instance), 4)
        // Twelve minutes later there is one again.
        yield* sql("UPDATE backend_rates SET full_at = full_at - 720000.0 WHERE id = 'ada'")
        assert.deepStrictEqual([yield* consume("ada", instance), yield* consume("ada", instance)], [
          0,
          "RateLimitExceeded"
        ])
      }))
  })
}
