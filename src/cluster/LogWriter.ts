/**
 * How an owner writes to a log: one entry after the other, under the epoch that it claimed.
 *
 * 1. An owner that can't append has lost the log: the writer is closed, and writes nothing more.
 * 2. A snapshot is written once the entries after the last stored state are many or long, so that opening a log reads only few or short
 *    entries. But these entries must be at least half as long as that state, also when an owner ends. So all snapshots together are at most
 *    three times as long as the log.
 * 3. If only the newest events are to be kept, the others are removed once a snapshot stands for them.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import {
  SessionClosed,
  SessionError,
  StoreConflict,
  StoredStateUnreadable,
  StoreUnavailable
} from "../agent/session/SessionError.ts"
import type { Append, Claimed, ConversationStoreError, Service } from "./store/Stored.ts"

/** How many characters of entries there are at least between two snapshots. */
const minSnapshotDistance = 32_768

/** How many entries there are at most between two snapshots, if they are at least half as long as the first of the two. */
const maxEntries = 256

/** Says that what is kept can't be read. */
export const unreadable = (id: string) => (issue: string): SessionError =>
  new SessionError({ reason: new StoredStateUnreadable({ id, issue }) })

/** Names the failure of the store. */
export const unavailable =
  (id: string, operation: StoreUnavailable["operation"]) => (error: ConversationStoreError): SessionError =>
    new SessionError({ reason: new StoreUnavailable({ id, operation, issue: error.message, error }) })

/**
 * Which log is written to. `snapshotAfter` is how many characters of entries there are between two snapshots; by default that depends on
 * their length. `keepEvents` is how many of the newest events are kept; all by default.
 */
export interface Options {
  readonly id: string
  readonly store: Service
  readonly snapshotAfter?: number | undefined
  readonly keepEvents?: number | undefined
}

/** How an owner writes to a log. */
export class LogWriter {
  isClosed = false
  readonly epoch: number
  readonly #id: string
  readonly #store: Service
  readonly #snapshotAfter: number | undefined
  readonly #keepEvents: number | undefined
  #revision: number
  #size: number
  #entries: number
  #snapshotSize: number

  constructor({ id, keepEvents, snapshotAfter, store }: Options, { entries, epoch, snapshot }: Claimed) {
    this.#id = id
    this.#store = store
    this.#snapshotAfter = snapshotAfter
    this.#keepEvents = keepEvents
    this.epoch = epoch
    this.#revision = entries.at(-1)?.revision ?? snapshot?.revision ?? 0
    this.#size = entries.reduce((size, { text }) => size + text.length, 0)
    this.#entries = entries.length
    this.#snapshotSize = snapshot?.text.length ?? 0
  }

  /** Whether nothing is stored. */
  get isEmpty(): boolean {
    return this.#revision === 0
  }

  /** Closes the writer: nothing is written from now on. */
  close(): void {
    this.isClosed = true
  }

  /** Closes the writer, and fails. */
  fail(reason: SessionError["reason"]): Effect.Effect<never, SessionError> {
    this.close()
    return Effect.fail(new SessionError({ reason }))
  }

  /** Appends an entry, or closes the writer. */
  write(entry: Omit<Append, "id" | "epoch" | "revision">): Effect.Effect<void, SessionError> {
    return Effect.suspend(() => {
      const id = this.#id
      if (this.isClosed) return this.fail(new SessionClosed({ agent: id, operation: "append" }))
      const revision = this.#revision + 1
      return Effect.matchEffect(this.#store.append({ id, epoch: this.epoch, revision, ...entry }), {
        onFailure: (error) => this.fail(unavailable(id, "write")(error).reason),
        onSuccess: (isOurs) => {
          if (!isOurs) return this.fail(new StoreConflict({ id, expected: revision, found: undefined }))
          this.#revision = revision
          this.#size += entry.text.length
          this.#entries++
          return Effect.void
        }
      })
    })
  }

  /** Writes a snapshot, if it is time for one. `events` is how many events there are so far. */
  snapshot(textOf: () => string, events: number): Effect.Effect<void> {
    return Effect.suspend(() => {
      const after = this.#snapshotAfter ?? Math.max(minSnapshotDistance, 4 * this.#snapshotSize)
      const areMany = this.#entries >= maxEntries && !this.#isShort
      return this.#size > after || areMany ? this.#write(textOf(), events) : Effect.void
    })
  }

  /** Closes the writer, and first stores the state if the entries after the last stored state are long enough. */
  end(textOf: () => string, events: number): Effect.Effect<void> {
    const last = Effect.suspend(() =>
      this.isClosed || this.#entries === 0 || this.#isShort ? Effect.void : this.#write(textOf(), events)
    )
    return Effect.andThen(last, Effect.sync(() => this.close()))
  }

  /** Whether the entries after the last stored state are too short for storing it again. */
  get #isShort(): boolean {
    return 2 * this.#size < this.#snapshotSize
  }

  #write(text: string, events: number): Effect.Effect<void> {
    const id = this.#id
    const revision = this.#revision
    this.#size = 0
    this.#entries = 0
    this.#snapshotSize = text.length
    const shortening = this.#keepEvents === undefined
      ? Effect.void
      : this.#store.shorten(id, this.epoch, { revision, event: events - this.#keepEvents })
    return Effect.ignore(
      Effect.andThen(this.#store.saveSnapshot(id, this.epoch, { revision, text }), shortening)
    )
  }
}
