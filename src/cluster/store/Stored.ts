/**
 * The interface of a store of conversations, and the records that it keeps.
 *
 * @since 0.1.0
 */
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { ErrorClass } from "../../domain/ErrorClass.ts"

/**
 * The store of conversations failed to read or to write; `error` is the store's own error.
 *
 * @category errors
 * @since 0.1.0
 */
export class ConversationStoreError
  extends ErrorClass<ConversationStoreError>("troupe/cluster")("ConversationStoreError", {
    operation: Schema.Literals(["claim", "read", "append", "create", "remove"]),
    issue: Schema.String,
    error: Schema.Unknown
  }, ({ issue, operation }) => `The store of conversations can't ${operation}: ${issue}`)
{}

/** A stored entry: its revision, and its text. */
export interface StoredEntry {
  readonly revision: number
  readonly text: string
}

/** What is appended: the entry, the number of its last event, the message whose input it has, and the message that it answers. */
export interface Append extends StoredEntry {
  readonly id: string
  readonly epoch: number
  readonly lastEvent: number
  readonly taken: string | undefined
  readonly answered: string | undefined
  readonly answer: string | undefined
}

/** A stored conversation, and the epoch of the new claim. */
export interface Claimed {
  readonly epoch: number
  readonly snapshot: StoredEntry | undefined
  readonly entries: ReadonlyArray<StoredEntry>
}

/** The entry that has a message's input. `text` is empty if it was removed. */
export interface Taken {
  readonly lastEvent: number
  readonly text: string
}

/** What is stored of a message: the entry that has its input, and its answer. */
export interface Found {
  readonly taken: Taken | undefined
  readonly answer: string | undefined
}

/**
 * A store of conversations.
 *
 * @category models
 * @since 0.1.0
 */
export interface Service {
  /** Takes a new epoch for a conversation, which refuses all older ones, and returns what is stored of it. */
  readonly claim: (id: string) => Effect.Effect<Claimed, ConversationStoreError>
  /** Appends an entry. Returns `false`, and stores nothing, unless the epoch is the conversation's. */
  readonly append: (entry: Append) => Effect.Effect<boolean, ConversationStoreError>
  /** Replaces the stored state. Does nothing unless the epoch is the conversation's. */
  readonly saveSnapshot: (
    id: string,
    epoch: number,
    snapshot: StoredEntry
  ) => Effect.Effect<void, ConversationStoreError>
  /**
   * Removes what a snapshot stands for: entries up to a revision, if their events are numbered `until.event` or lower. Messages and their
   * answers stay known. Does nothing unless the snapshot is there and the epoch is the conversation's.
   */
  readonly shorten: (
    id: string,
    epoch: number,
    until: { readonly revision: number; readonly event: number }
  ) => Effect.Effect<void, ConversationStoreError>
  /** Returns what is stored of the message of a key. */
  readonly find: (id: string, key: string) => Effect.Effect<Found, ConversationStoreError>
  /** Returns at most `limit` entries with events after a number, oldest first. Entries that were removed are missing. */
  readonly read: (
    id: string,
    after: number,
    limit: number
  ) => Effect.Effect<ReadonlyArray<StoredEntry & { readonly lastEvent: number }>, ConversationStoreError>
  /** Begins a conversation with an entry. Returns `true` if it was empty, or was created by the same `origin` before. */
  readonly create: (id: string, origin: string, text: string) => Effect.Effect<boolean, ConversationStoreError>
  /** Removes everything that is stored of a conversation. */
  readonly remove: (id: string) => Effect.Effect<void, ConversationStoreError>
}
