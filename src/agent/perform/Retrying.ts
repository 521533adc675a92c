/**
 * Trying again by a `retry` schedule of an agent or a tool.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { identity } from "effect/Function"
import { CurrentOverrides, type RetrySchedule } from "../definition/Overrides.ts"

/** Tries again as a schedule says, after errors that it is for. */
export const retrying = <A, R>(
  self: Effect.Effect<A, unknown, R>,
  schedule: RetrySchedule,
  isFor: (error: unknown) => boolean
): Effect.Effect<A, unknown, unknown> =>
  Effect.withFiber((fiber) => {
    const { retry = identity } = fiber.getRef(CurrentOverrides)
    return Effect.retry(self, { schedule: retry(schedule), while: isFor })
  })
