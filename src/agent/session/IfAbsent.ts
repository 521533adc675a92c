/**
 * How a value is written under a key that has none. If two writers try at the same time, only one succeeds, in a store that supports this.
 *
 * A `KeyValueStore` has `modify`, which some stores do atomically. For a missing key `modify` does nothing, except in a store that looks
 * for the value that its function carries (`valueOf`), and writes it. `KeyValueStore.prefix` passes such a function on.
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
