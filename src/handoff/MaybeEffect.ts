/**
 * Users' functions that return a value or an Effect of it.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"

/** A value, or an Effect of it. */
export type MaybeEffect<A, E, R> = A | Effect.Effect<A, E, R>

/** Calls a function and returns its result as an Effect. What the function throws is a defect. */
export const call = <A, E, R>(f: () => MaybeEffect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.suspend(() => {
    const given = f()
    return Effect.isEffect(given) ? given : Effect.succeed(given)
  })
