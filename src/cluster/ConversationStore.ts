/**
 * Where conversations of a cluster are stored: each as a log of entries, with a snapshot of its state now and then.
 *
 * 1. An entry is appended under the next revision and the epoch of its writer, or not at all.
 * 2. Claiming a conversation takes a new epoch. From then on writers with an older epoch are refused: this is the fence.
 * 3. A claim returns the last snapshot and the entries after it. Entries that a snapshot covers stay until `shorten` removes them.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Layer from "effect/Layer"
import type * as SqlClient from "effect/sql/SqlClient"
import * as MemoryStore from "./store/MemoryStore.ts"
import * as SqlStore from "./store/SqlStore.ts"
import type { ConversationStoreError, Service } from "./store/Stored.ts"

export {
  type Append,
  type Claimed,
  ConversationStoreError,
  type Found,
  type Service,
  type StoredEntry,
  type Taken
} from "./store/Stored.ts"

/**
 * The store of a cluster's conversations.
 *
 * @category services
 * @since 0.1.0
 */
export class ConversationStore
  extends Context.Service<ConversationStore, Service>()("troupe/cluster/ConversationStore")
{}

/**
 * Keeps conversations in memory, for tests and for conversations that may be lost with the process.
 *
 * @category layers
 * @since 0.1.0
 */
export const layerMemory: Layer.Layer<ConversationStore> = Layer.sync(ConversationStore, MemoryStore.make)

/**
 * Keeps conversations in tables of Postgres or SQLite. The layer creates and migrates them, and fails with `ConversationStoreError` if it
 * can't. Their names begin with `prefix` and `_`; the prefix is `troupe` by default.
 *
 * @category layers
 * @since 0.1.0
 */
export const layerSql = (
  options: { readonly prefix?: string | undefined } = {}
): Layer.Layer<ConversationStore, ConversationStoreError, SqlClient.SqlClient> =>
  Layer.effect(
    ConversationStore,
    SqlStore.make(options.prefix ?? "troupe")
  )
