/**
 * Functions of users that give something, with an Effect or without.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"

/** Something, or an Effect of it. */
export type MaybeEffect<A, E, R> = A | Effect.Effect<A, E, R>

/** Calls a function and gives what it gives as an Effect. What it throws is a defect. */
export const call = <A, E, R>(f: () => MaybeEffect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.suspend(() => {
    const given = f()
    return Effect.isEffect(given) ? given : Effect.succeed(given)
  })
