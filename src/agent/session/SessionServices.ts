/**
 * The services of a session's operations: those that the session was made with. `CallerServices` lists those that come from the caller
 * instead.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as MeasuredModel from "../journal/MeasuredModel.ts"
import { withoutCallerServices } from "../perform/CallerServices.ts"

/** Merges the services of the caller of an operation with those of the session. */
export type MergeServices = (caller: Context.Context<never>) => Context.Context<unknown>

/** Keeps the services of this place for later. */
export const capture: Effect.Effect<MergeServices> = Effect.contextWith((here: Context.Context<never>) => {
  // The services are only merged with others, so their types don't matter. Each operation would add the counting model anew.
  const kept = MeasuredModel.within(withoutCallerServices(here)) as Context.Context<unknown>
  // Many operations come from the same place, so the last result is kept.
  let last: Context.Context<never> | undefined
  let merged = kept
  return Effect.succeed((caller) => {
    if (caller !== last) {
      last = caller
      merged = Context.merge(caller, kept)
    }
    return merged
  })
})

/** Runs an effect with the services of a session. */
export const provide = <A, E>(self: Effect.Effect<A, E, unknown>, services: MergeServices): Effect.Effect<A, E> =>
  Effect.updateContext(self, services)
