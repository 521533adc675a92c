/**
 * What a client is told where the store, or the way to a conversation, is out of reach.
 */
import { Cause, Effect } from "effect"
import { Unavailable } from "../api/Problems.ts"
import type { Store } from "../store/Store.ts"

/** What is wrong isn't the client's affair; it is logged, unless the store is away, which says so itself. */
export const unavailableIn =
  (store: Store["Service"]) => (error: { readonly message: string }): Effect.Effect<never, Unavailable> =>
    Effect.suspend(() => {
      const told = Effect.fail(new Unavailable({ detail: "The store can't be reached", retryAfter: 1 }))
      return store.isAway() ? told : Effect.andThen(Effect.logWarning(error.message, Cause.fail(error)), told)
    })
