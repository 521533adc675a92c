/**
 * Stores that are slow, fail, or say what they are asked for.
 */
import { Deferred, Effect, type Scope } from "effect"
import { KeyValueStore } from "effect/persistence"
import { type Lease, type Store, StoreFailed } from "../../examples/backend/store/Store.ts"

/** A store whose leases are made other ones of. */
export const wrapLease = (
  store: Store["Service"],
  wrap: (lease: Lease) => Effect.Effect<Lease, never, Scope.Scope>
): Store["Service"] => ({
  ...store,
  lease: (id) => Effect.flatMap(store.lease(id), (lease) => lease === undefined ? Effect.undefined : wrap(lease))
})

type Operation = "create" | "events" | "read" | "save" | "check" | "lease"

/** What of a store fails for now. */
export type Failing = Set<Operation>

/** A store that fails when it is told to. */
export const failingStore = (store: Store["Service"], failing: Failing): Store["Service"] => {
  const failed = (operation: Operation) => new StoreFailed({ operation, cause: new Error("it was told to") })
  const guard = <A extends ReadonlyArray<unknown>, B, E, R>(
    operation: Operation,
    f: (...args: A) => Effect.Effect<B, E | StoreFailed, R>
  ) =>
  (...args: A): Effect.Effect<B, E | StoreFailed, R> =>
    Effect.suspend(() => failing.has(operation) ? Effect.fail(failed(operation)) : f(...args))
  return {
    ...store,
    create: guard("create", store.create),
    read: guard("read", store.read),
    events: guard("events", store.events),
    check: guard("check", () => store.check)(),
    lease: guard("lease", (id) =>
      Effect.map(store.lease(id), (lease) =>
        lease === undefined ? undefined : {
          ...lease,
          flush: guard("save", () => lease.flush)(),
          states: {
            ...lease.states,
            set: (key, value) =>
              Effect.mapError(
                guard("save", () => lease.states.set(key, value))(),
                (cause) => new KeyValueStore.KeyValueStoreError({ method: "set", message: cause.message, cause })
              )
          }
        }))
  }
}

/**
 * A store, and what waits until those of its runs in flight that nobody runs have been looked for, and all that were found
 * have been gone on with.
 */
export const watchRecovery = (store: Store["Service"]) => {
  let next = Deferred.makeUnsafe<void>()
  const tell = Effect.sync(() => {
    const looked = next
    next = Deferred.makeUnsafe()
    Deferred.doneUnsafe(looked, Effect.void)
  })
  const looked = Effect.suspend(() => Deferred.await(next))
  return {
    store: { ...store, inFlight: Effect.tap(store.inFlight, () => tell) },
    // One may have begun before, and the one after that is over when the third begins.
    recovered: Effect.repeat(looked, { times: 2 })
  }
}
