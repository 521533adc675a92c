/**
 * What a client is told where the store, or the way to a conversation, is out of reach.
 */
import { Cause, Effect } from "effect"
import { ClusterError } from "effect/cluster"
import { Unavailable } from "../api/Problems.ts"
import { type Store, StoreFailed } from "../store/Store.ts"

/** The store is away, or fails. */
export const storeAway = new Unavailable({ detail: "The store can't be reached", retryAfter: 1 })

/** The conversation doesn't answer, or can't be read or continued. */
export const outOfReach = new Unavailable({ detail: "The conversation can't be reached", retryAfter: 1 })

/** The instance that would have the conversation has as many in memory as it may, for as long as somebody uses those. */
const full = new Unavailable({ detail: "Too many conversations are open at a time", retryAfter: 5 })

const isOfStore = (error: unknown): boolean =>
  error instanceof StoreFailed || error instanceof ClusterError.PersistenceError

/** What is wrong isn't the client's affair; it is logged, unless it is no failure, or the store is away, which says so itself. */
export const unavailableIn =
  (store: Store["Service"]) => (error: { readonly message: string }): Effect.Effect<never, Unavailable> =>
    Effect.suspend(() => {
      if (store.isAway()) return Effect.fail(storeAway)
      if (ClusterError.MailboxFull.is(error)) return Effect.fail(full)
      const told = Effect.fail(isOfStore(error) ? storeAway : outOfReach)
      return Effect.andThen(Effect.logWarning(error.message, Cause.fail(error)), told)
    })
