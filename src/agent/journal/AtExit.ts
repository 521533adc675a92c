/**
 * A function that is called with the exit of an effect.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"

/**
 * Calls a function with the exit of an effect, also after an interruption. This is cheaper than a function that returns an effect for it.
 *
 * Effect skips the ends of an interrupted effect that are interruptible, so this one isn't.
 */
export const atExit = <A, E, R>(
  self: Effect.Effect<A, E, R>,
  f: (exit: Exit.Exit<A, E>) => void
): Effect.Effect<A, E, R> =>
  Effect.onExitPrimitive(self, (exit) => {
    f(exit)
    return undefined
  })
