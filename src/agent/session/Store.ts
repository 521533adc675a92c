/**
 * Where a session keeps its state: under its id, in any `KeyValueStore`.
 *
 * 1. A save writes what is new since the last one. `StoredLog` says how it is laid out.
 * 2. A save fails with `StoreConflict`, and changes nothing, if another session wrote since this one saved or was opened.
 * 3. Sessions of one process that share a `KeyValueStore` save one after the other. So do those of several processes if its `modify` is
 *    atomic and knows `IfAbsent`, as that of `layerStoreSql` does. In any other store, two processes can write between each other's
 *    read and write: one of them may lose a save that was reported as done.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import type * as Path from "effect/Path"
import type * as KeyValueStore from "effect/persistence/KeyValueStore"
import type { PlatformError } from "effect/PlatformError"
import type * as Scope from "effect/Scope"
import * as Semaphore from "effect/Semaphore"
import type * as SqlClient from "effect/sql/SqlClient"
import type { AgentEvent } from "../../domain/AgentEvent.ts"
import { hasHalfPair, InvalidName, named, textNamed } from "../../domain/InvalidName.ts"
import type { AgentState } from "../../domain/StateSchema.ts"
import type { SessionError } from "./SessionError.ts"
import * as StoredLog from "./StoredLog.ts"
import { makeWriter } from "./StoreWriter.ts"

/**
 * Where a session keeps its state: `E` is what opening it may fail with, and `R` what it needs.
 *
 * @category models
 * @since 0.1.0
 */
export interface Store<out E = never, out R = never> {
  readonly id: string
  readonly open: Effect.Effect<OpenDocument, E, R | Scope.Scope>
}

/**
 * What is stored of an open session: the state that was there, whether that has changed since, and how to save the next one.
 *
 * `save` may be given the events that lead from the last saved or restored state to this one, so that it writes only those.
 */
export interface OpenDocument {
  readonly restored: AgentState | undefined
  readonly check: Effect.Effect<void, SessionError>
  readonly save: (state: AgentState, events?: ReadonlyArray<AgentEvent>) => Effect.Effect<void, SessionError>

  /**
   * When to store an event that changes no state: `AtOnce` before the run continues, or with the `Next` save. By default such events aren't
   * stored.
   */
  readonly keeps?: (event: AgentEvent) => "AtOnce" | "Next" | undefined
}

/** One lock for each id of a store. It exists while a session on that id is open. */
const locks = new WeakMap<KeyValueStore.KeyValueStore, Map<string, Lock>>()

interface Lock {
  readonly permit: Semaphore.Semaphore
  users: number
}

const lockOf = (
  store: KeyValueStore.KeyValueStore,
  id: string
): Effect.Effect<Semaphore.Semaphore, never, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() => {
        const ofStore = locks.get(store) ?? new Map<string, Lock>()
        locks.set(store, ofStore)
        const lock = ofStore.get(id) ?? { permit: Semaphore.makeUnsafe(1), users: 0 }
        ofStore.set(id, lock)
        lock.users++
        return lock
      }),
      (lock) => Effect.sync(() => --lock.users === 0 ? locks.get(store)?.delete(id) : undefined)
    ),
    ({ permit }) => permit
  )

/** The module `KeyValueStore` imports modules of databases, so it is loaded by the first use of a store, not with this module. */
const environment = Effect.flatMap(
  Effect.promise(() => import("effect/persistence/KeyValueStore")),
  ({ KeyValueStore }) => KeyValueStore
)

const open = Effect.fnUntraced(function*(id: string) {
  const store = yield* environment
  const permit = yield* lockOf(store, id)
  const stored = yield* StoredLog.read(store, id)
  const writer = yield* makeWriter(store, id, stored)
  let saved = stored?.state
  const save: OpenDocument["save"] = (state, events = []) =>
    Effect.suspend(() =>
      state === saved && writer.isSettled() ? Effect.void : Effect.uninterruptible(permit.withPermit(Effect.map(
        writer.write(state, events),
        () => {
          saved = state
        }
      )))
    )
  return { restored: saved, check: writer.check, save } satisfies OpenDocument
})

/**
 * Keeps a session's state under an id in the `KeyValueStore`, and restores it from there.
 *
 * The state is saved when a run begins, when a model has asked for calls or a program invokes a tool, when a call has its result or awaits
 * it, after every step, and at the end of each operation. It is also saved if closing the session ends an operation or leaves a mode.
 *
 * If the state can't be saved, the operation fails with a `SessionError` before it does anything else. Its reason is `StoreConflict` if
 * another session has saved under the id or the stored state was removed, `StoreUnavailable` if the store fails, or `StoredStateUnreadable`
 * if something else was written under the id.
 *
 * The session's keys in the store are the id, and texts that begin with the id and a `#`. `KeyValueStore.prefix` keeps them apart from
 * others. Opening a session fails with `StoreUnavailable` if the store can't be read, and with `StoredStateUnreadable` if what is stored
 * isn't a state. Throws `InvalidName` if the id is empty or has half of a surrogate pair, which databases and files can't keep.
 *
 * @category stores
 * @since 0.1.0
 */
export const store = (id: string): Store<SessionError, KeyValueStore.KeyValueStore> => {
  if (hasHalfPair(named("session", id))) throw new InvalidName({ what: "session", name: id })
  return { id, open: open(id) }
}

/**
 * Returns the state that was saved last under an id, or `undefined` if there is none.
 *
 * It changes nothing, and may be called while a session is open on the id: it returns a state that was saved, whole. Fails with
 * `StoreUnavailable` if the store can't be read, and with `StoredStateUnreadable` if what is stored isn't a state.
 *
 * @category stores
 * @since 0.1.0
 */
export const load = (id: string): Effect.Effect<AgentState | undefined, SessionError, KeyValueStore.KeyValueStore> =>
  Effect.flatMap(
    environment,
    (store) => Effect.map(StoredLog.read(store, textNamed("session", id)), (stored) => stored?.state)
  )

/**
 * Removes what is stored under an id. A session that is open on it fails with `StoreConflict` from then on. Does nothing if nothing is
 * stored. If the value under the id can't be read as a session's, only that value is removed: a session's log stays, since nothing else
 * names its keys, which begin with the id and `#`. Fails with `StoreUnavailable` if the store itself fails. What was removed in part can't
 * be read any more, and a second `remove` removes the rest.
 *
 * @category stores
 * @since 0.1.0
 */
export const remove = (id: string): Effect.Effect<void, SessionError, KeyValueStore.KeyValueStore> =>
  Effect.gen(function*() {
    const store = yield* environment
    for (;;) {
      const head = yield* StoredLog.get(store, id, textNamed("session", id))
      if (head === undefined) return
      const logs = yield* StoredLog.logsIn(store, id, head)
      // If there are logs, no session can save from here on, and the head names what is left to remove.
      const left = logs.length === 0 ? head : StoredLog.headOfRemoved(logs)
      const found = yield* removing(id, store.modify(id, (found) => found === head ? left : found))
      if (found !== left) continue
      const all = [...logs, ...yield* StoredLog.logsIn(store, id, head)]
      return yield* removing(id, Effect.andThen(StoredLog.removeLogs(store, id, all), store.remove(id)))
    }
  })

const removing = <A>(id: string, self: Effect.Effect<A, KeyValueStore.KeyValueStoreError>) =>
  Effect.mapError(self, StoredLog.unavailable(id, "remove"))

/**
 * Provides a `KeyValueStore` in a folder, which is created if it doesn't exist. A value is written whole or not at all, even if the process
 * dies; a reader meanwhile finds the old value. One process at a time may use the folder. Fails with `PlatformError` if the folder can't be
 * created.
 *
 * @category layers
 * @since 0.1.0
 */
export const layerStoreFileSystem = (
  directory: string
): Layer.Layer<KeyValueStore.KeyValueStore, PlatformError, FileSystem.FileSystem | Path.Path> =>
  Layer.unwrap(Effect.map(Effect.promise(() => import("./FolderStore.ts")), ({ layer }) => layer(directory)))

/**
 * Provides a `KeyValueStore` in an SQL table, `effect_key_value_store` by default, that sessions of several processes can share: of two
 * that save at the same time, one gets `StoreConflict`.
 *
 * The table is the one of `KeyValueStore.layerSql`, so its existing values can be read.
 *
 * @category layers
 * @since 0.1.0
 */
export const layerStoreSql = (
  options?: KeyValueStore.LayerSqlOptions
): Layer.Layer<KeyValueStore.KeyValueStore, never, SqlClient.SqlClient> =>
  Layer.unwrap(Effect.map(Effect.promise(() => import("./SqlStore.ts")), ({ layer }) => layer(options)))
