/**
 * What the runs of a session run with: the services that the session was made with, in the fiber of the program that calls it.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { servicesOf } from "../perform/ServicesHere.ts"
import type { Environment } from "./Line.ts"

/** Keeps the services of this place for later. */
export const capture: Effect.Effect<Environment> = Effect.contextWith((here: Context.Context<never>) => {
  const kept = servicesOf(here) as Context.Context<unknown>
  // Whoever calls often does so from one place.
  let from: Context.Context<never> | undefined
  let merged: Context.Context<unknown> = kept
  return Effect.succeed((caller) => {
    if (caller !== from) {
      from = caller
      merged = Context.merge(caller, kept)
    }
    return merged
  })
})

/** Lets something run with the services of a session. */
export const provide = <A, E>(self: Effect.Effect<A, E, unknown>, environment: Environment): Effect.Effect<A, E> =>
  Effect.updateContext(self, environment)
