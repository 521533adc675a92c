/**
 * How a value is written under a key that has none: if two writers try at the same time, one succeeds.
 *
 * A `KeyValueStore` has `modify`, which some stores do atomically. `modify` does nothing for a missing key, unless its function says what
 * to write then and the store can read that. `KeyValueStore.prefix` passes such a function on.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type * as KeyValueStore from "effect/persistence/KeyValueStore"

const TypeId = "~troupe/agent/session/IfAbsent"

type Modify = Parameters<KeyValueStore.KeyValueStore["modify"]>[1]

/** Returns the value that a function for `modify` wants written if its key isn't there. */
export const valueOf = (modify: Modify): string | undefined =>
  TypeId in modify && typeof modify[TypeId] === "string" ? modify[TypeId] : undefined

/** Writes a value under a key that has none, and returns whether it did. No two inserted values may be equal. */
export const insert = (
  store: KeyValueStore.KeyValueStore,
  key: string,
  value: string
): Effect.Effect<boolean, KeyValueStore.KeyValueStoreError> =>
  Effect.flatMap(
    store.modify(key, Object.assign((found: string) => found, { [TypeId]: value })),
    (found) => found === undefined ? Effect.as(store.set(key, value), true) : Effect.succeed(found === value)
  )
