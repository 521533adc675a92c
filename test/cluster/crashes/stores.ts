/** The stores of scenarios: as a process that may die sees one, and without what is taken away to see that it is needed. */
import { Context, Deferred, Effect, Layer } from "effect"
import { ConversationStore } from "troupe/cluster"
import type { Death, Mutation } from "./scenarios.ts"

export type Store = ConversationStore.Service

/** A process: it is stopped where it stands, and goes on when it is thawed, if it ever is. */
export interface Process {
  isStopped: boolean
  isLeaving: boolean
  writes: number
  readonly stopped: Deferred.Deferred<void>
  readonly taken: Deferred.Deferred<void>
  readonly thaw: Deferred.Deferred<void>
  readonly done: Deferred.Deferred<void>
}

export const makeProcess = (): Process => ({
  isStopped: false,
  isLeaving: false,
  writes: 0,
  stopped: Deferred.makeUnsafe(),
  taken: Deferred.makeUnsafe(),
  thaw: Deferred.makeUnsafe(),
  done: Deferred.makeUnsafe()
})

/** Waits for as long as a process is stopped. */
export const alive = (process: Process): Effect.Effect<void> =>
  Effect.suspend(() => process.isStopped ? Deferred.await(process.thaw) : Effect.void)

/** Ends a process at a write, as its death says. */
const dying = (process: Process, how: Death["how"]) => <A, E>(self: Effect.Effect<A, E>): Effect.Effect<A, E> => {
  const stop = Effect.suspend(() => {
    process.isStopped = true
    Deferred.doneUnsafe(process.stopped, Effect.void)
    return Deferred.await(process.thaw)
  })
  switch (how) {
    case "before":
    case "frozen":
      return Effect.andThen(stop, self)
    case "after":
      return Effect.tap(self, () => stop)
    case "interrupted":
      return Effect.tap(self, () => Deferred.succeed(process.taken, undefined))
    case "leaving":
      process.isLeaving = true
      return self
  }
}

/** The store as a process sees it. */
export const storeOf = (
  store: Store,
  process: Process,
  death: Death | undefined,
  onWrite: Effect.Effect<void>
): Store => {
  const write = <A, E>(self: Effect.Effect<A, E>): Effect.Effect<A, E> =>
    Effect.andThen(
      alive(process),
      Effect.suspend(() =>
        death !== undefined && process.writes++ === death.at
          ? dying(process, death.how)(self)
          : Effect.tap(self, () => onWrite)
      )
    )
  const look = <A, E>(self: Effect.Effect<A, E>): Effect.Effect<A, E> => Effect.andThen(alive(process), self)
  return {
    claim: (...args) => write(store.claim(...args)),
    append: (...args) => write(store.append(...args)),
    saveSnapshot: (...args) => write(store.saveSnapshot(...args)),
    shorten: (...args) => write(store.shorten(...args)),
    find: (...args) => look(store.find(...args)),
    read: (...args) => look(store.read(...args)),
    create: (...args) => write(store.create(...args)),
    remove: (...args) => write(store.remove(...args))
  }
}

/** A store that doesn't ask for the epoch: each append goes behind the last. */
const withoutEpoch = (store: Store): Store => {
  const last = new Map<string, { epoch: number; revision: number }>()
  return {
    ...store,
    claim: (id) =>
      Effect.map(store.claim(id), (claimed) => {
        const revision = claimed.entries.at(-1)?.revision ?? claimed.snapshot?.revision ?? 0
        last.set(id, { epoch: claimed.epoch, revision })
        return claimed
      }),
    append: (entry) =>
      Effect.suspend(() => {
        const now = last.get(entry.id)!
        now.revision++
        return store.append({ ...entry, epoch: now.epoch, revision: now.revision })
      })
  }
}

/** A store that knows no keys. */
const withoutKeys = (store: Store): Store => ({
  ...store,
  find: () => Effect.succeed({ taken: undefined, answer: undefined }),
  append: (entry) => store.append({ ...entry, taken: undefined, answered: undefined })
})

/** Takes from a store what a mutation says. */
export const mutated = (store: Store, mutation: Mutation | undefined): Store => {
  switch (mutation) {
    case "keys":
      return withoutKeys(store)
    case "epoch":
      return withoutEpoch(store)
    default:
      return store
  }
}

/** An empty store of a layer. */
export const emptyStore = <E>(layer: Layer.Layer<ConversationStore.ConversationStore, E>) =>
  Effect.map(Layer.build(Layer.fresh(layer)), (context) => Context.get(context, ConversationStore.ConversationStore))
