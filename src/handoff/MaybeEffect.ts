/**
 * Functions of users that give something, with an Effect or without.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"

/** Something, or an Effect of it. */
export type MaybeEffect<A, E, R> = A | Effect.Effect<A, E, R>

/** Changes what is there, or what an Effect makes. What `f` throws is a defect. */
export const map = <A, E, R, B>(self: MaybeEffect<A, E, R>, f: (value: A) => B): MaybeEffect<B, E, R> =>
  Effect.isEffect(self) ? Effect.map(self, f) : f(self)

/** Calls a function and gives what it gives as an Effect, once `see` has seen it. What either throws is a defect. */
export const call = <A, E, R>(f: () => MaybeEffect<A, E, R>, see: (given: A) => A): Effect.Effect<A, E, R> =>
  Effect.suspend(() => {
    const given = map(f(), see)
    return Effect.isEffect(given) ? given : Effect.succeed(given)
  })
