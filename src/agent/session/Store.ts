/**
 * Where a session keeps its state: one document under its id, in any `KeyValueStore`.
 *
 * 1. A document is JSON: its own version, a revision that grows by one with each save, who wrote it, and the state.
 * 2. A save reads what is there, and writes only where that is what this session saw last. Otherwise it fails with
 *    `StoreConflict` and nothing is overwritten.
 * 3. Sessions of one process that share a `KeyValueStore` save under one id one after the other, so that of two that race
 *    one always gets the conflict.
 * 4. A `KeyValueStore` has no compare-and-set. Where two processes write between each other's read and write, the later
 *    document stands, and the session that lost its own notices when it reads next: at its next save or operation. One
 *    that does neither never learns of it. A document is read whole or not at all where the backing writes it so.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type * as KeyValueStore from "effect/persistence/KeyValueStore"
import * as Random from "effect/Random"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as Semaphore from "effect/Semaphore"
import { lazy } from "../../domain/Lazy.ts"
import { fromJson, toJson } from "../../domain/StateJson.ts"
import type { AgentState } from "../../domain/StateSchema.ts"
import { because, type SessionError, StoreConflict, StoredStateUnreadable, StoreUnavailable } from "./SessionError.ts"

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

/** The document of a session that is open: what was in it, whether it is still the same, and how to write a new one. */
export interface OpenDocument {
  readonly restored: AgentState | undefined
  readonly check: Effect.Effect<void, SessionError>
  readonly save: (state: AgentState) => Effect.Effect<void, SessionError>
}

const decoder = lazy(() =>
  Schema.decodeUnknownResult(Schema.fromJsonString(Schema.Struct({
    version: Schema.Literal(1),
    revision: Schema.Int,
    writer: Schema.String,
    state: Schema.Unknown
  })))
)

/** What says which document it is. */
interface Revision {
  readonly revision: number
  readonly writer: string
}

const none: Revision = { revision: 0, writer: "" }

const unavailable =
  (id: string, operation: StoreUnavailable["operation"]) => (error: KeyValueStore.KeyValueStoreError): SessionError =>
    because(new StoreUnavailable({ id, operation, issue: error.message, error }))

const unreadable = (id: string, issue: string): SessionError => because(new StoredStateUnreadable({ id, issue }))

/** Reads the document under an id, if there is one. */
const read = (store: KeyValueStore.KeyValueStore, id: string) =>
  Effect.flatMap(Effect.mapError(store.get(id), unavailable(id, "read")), (text) =>
    text === undefined
      ? Effect.undefined
      : Effect.fromResult(Result.mapError(decoder()(text), (error) => unreadable(id, error.message))))

/** One lock for each id of a store, for as long as a session on it is open. */
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

/** The module of stores brings those of databases along: it is loaded by the first store, not by every import. */
const environment = Effect.flatMap(
  Effect.promise(() => import("effect/persistence/KeyValueStore")),
  ({ KeyValueStore }) => KeyValueStore
)

/** Gives the state in a document, if there is one. */
const stateIn = (
  id: string,
  document: { readonly state: unknown } | undefined
): Effect.Effect<AgentState | undefined, SessionError> =>
  document === undefined
    ? Effect.undefined
    : Effect.fromResult(Result.mapError(fromJson(document.state), (error) => unreadable(id, error.message)))

const open = Effect.fnUntraced(function*(id: string) {
  const store = yield* environment
  const permit = yield* lockOf(store, id)
  const writer = `${(yield* Random.nextInt).toString(36)}${(yield* Random.nextInt).toString(36)}`
  const document = yield* read(store, id)
  const restored = yield* stateIn(id, document)
  let last: Revision = document ?? none
  let saved = restored

  const check = Effect.flatMap(
    read(store, id),
    (found: Revision = none) =>
      found.revision === last.revision && found.writer === last.writer
        ? Effect.void
        : Effect.fail(because(
          new StoreConflict({ id, expected: last.revision, found: found === none ? undefined : found.revision })
        ))
  )

  const write = (state: AgentState) => {
    const next: Revision = { revision: last.revision + 1, writer }
    return Effect.map(
      Effect.mapError(
        store.set(id, JSON.stringify({ version: 1, ...next, state: toJson(state) })),
        unavailable(id, "write")
      ),
      () => {
        last = next
        saved = state
      }
    )
  }
  return {
    restored,
    check,
    save: (state: AgentState) =>
      Effect.suspend(() =>
        state === saved
          ? Effect.void
          : Effect.uninterruptible(permit.withPermit(Effect.andThen(check, Effect.suspend(() => write(state)))))
      )
  } satisfies OpenDocument
})

/**
 * Keeps a session's state under an id in the `KeyValueStore`, and restores it from there.
 *
 * The state is saved when a run begins, when a model has asked for calls, after each call's result and every step, at the end of
 * each operation, and when the session is closed in the middle of one. A run whose step can't be saved stops there, before it does anything else.
 *
 * The id is the key: `KeyValueStore.prefix` keeps sessions apart from others in the same store.
 *
 * @category stores
 * @since 0.1.0
 */
export const store = (id: string): Store<SessionError, KeyValueStore.KeyValueStore> => ({ id, open: open(id) })

/**
 * Gives the state that is stored under an id, as it was saved last; `undefined` where nothing is.
 *
 * It reads and changes nothing: a session that is open on the id goes on. Fails with `StoreUnavailable` where the store can't
 * be read, and with `StoredStateUnreadable` where what is stored is no state.
 *
 * @category stores
 * @since 0.1.0
 */
export const load = (id: string): Effect.Effect<AgentState | undefined, SessionError, KeyValueStore.KeyValueStore> =>
  Effect.flatMap(environment, (store) => Effect.flatMap(read(store, id), (document) => stateIn(id, document)))

/**
 * Removes what is stored under an id. A session that is open on it fails with `StoreConflict` from then on.
 *
 * @category stores
 * @since 0.1.0
 */
export const remove = (id: string): Effect.Effect<void, SessionError, KeyValueStore.KeyValueStore> =>
  Effect.flatMap(
    environment,
    (store) => Effect.mapError(store.remove(id), unavailable(id, "remove"))
  )
