/**
 * Where conversations of a cluster are kept: each as a log of entries, with a snapshot of what they lead to now and then.
 *
 * 1. An entry is appended under the next revision and the epoch of its writer, or not at all.
 * 2. To claim a conversation is to take a new epoch. From then on nobody writes who has an older one: this is the fence.
 * 3. Whatever is claimed is the snapshot and the entries behind it. A snapshot only stands in for entries, which stay.
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
  type StoredEntry
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
 * Keeps conversations in memory, for tests and for what may be lost with its process.
 *
 * @category layers
 * @since 0.1.0
 */
export const layerMemory: Layer.Layer<ConversationStore> = Layer.sync(ConversationStore, MemoryStore.make)

/**
 * Keeps conversations in tables of Postgres or SQLite, which are made and migrated here. Their names begin with the `prefix`, `troupe` by
 * default.
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
