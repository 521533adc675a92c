/**
 * A lease that is held here, and what is written under it.
 *
 * 1. A lease has a token in the conversation's row. What is written under a lease is written where its token stands: who
 *    took the lease over has put another one there.
 * 2. One write of a lease is under way at a time. It takes the events that wait in their order, so that those which are kept
 *    are always the first of those that were logged.
 */
import { Array, Clock, Deferred, Effect, Schema, Semaphore } from "effect"
import type { KeyValueStore } from "effect/persistence"
import type { SqlClient, SqlError } from "effect/sql"
import { randomUUID } from "node:crypto"
import { Event } from "../api/Conversations.ts"
import type { Recent } from "./Recent.ts"
import type { Marks, Numbered } from "./Store.ts"
import { inTransaction } from "./Transaction.ts"

/** The lease isn't held any more: nothing was written. */
export class LeaseLost extends Schema.TaggedError<LeaseLost>()("LeaseLost", { conversation: Schema.String }) {
  override get message(): string {
    return `The lease on ${this.conversation} is lost`
  }
}

/** How far above the last number whoever takes a lease goes on. */
export const gap = 10_000

/** How many events may wait to be kept. Fewer than the gap, since a reader may have seen all of them. */
export const maxWaiting = gap / 2

/** How many events that are kept stay here for readers. */
export const capacity = 256

/** How many events one statement inserts. */
const atOnce = 500

export const EventJson = Schema.fromJsonString(Schema.toCodecJson(Event))

const encode = Schema.encodeEffect(EventJson)

/** A key of a message as it is kept: Postgres has no texts with a zero in them. */
export const keyOf = (key: string): string => JSON.stringify(key)

/** A lease that is being taken, is held, or was lost and isn't given back yet. */
export interface Held {
  readonly id: string
  readonly token: string
  readonly lost: Deferred.Deferred<void>
  readonly cancelled: Deferred.Deferred<void>
  readonly writing: Semaphore.Semaphore
  /** Its events, while it is held. */
  recent: Recent | undefined
  /** What is written with the next save. */
  marks: Omit<Marks, "messageKey">
  messageKeys: ReadonlyArray<string>
}

export const make = (id: string): Held => ({
  id,
  token: randomUUID(),
  lost: Deferred.makeUnsafe(),
  cancelled: Deferred.makeUnsafe(),
  writing: Semaphore.makeUnsafe(1),
  recent: undefined,
  marks: {},
  messageKeys: []
})

/** What a write takes beside the events that wait. */
export interface Writing {
  /** Whether marks are written too. */
  readonly marks: boolean
  /** What a session saves under one of its keys, and the number of the last event in it if that shows another state. */
  readonly saved?: { readonly key: string; readonly value: string; readonly cursor: number | undefined }
}

/**
 * Gives what writes under a lease, in one transaction: events, and marks and a state where they are given. `keep` is how many
 * events of a conversation are kept, about: they are removed some at a time.
 *
 * Fails with `LeaseLost`, and nothing is written, where the conversation isn't there or has another lease.
 */
export const writer = (sql: SqlClient.SqlClient, states: KeyValueStore.KeyValueStore, keep: number) => {
  const insert = Effect.fnUntraced(function*(id: string, events: Array.NonEmptyReadonlyArray<Numbered>) {
    const rows = yield* Effect.forEach(
      events,
      ({ event, number }) => Effect.map(encode(event), (event) => ({ conversation: id, number, event }))
    )
    // What was committed without this process hearing of it is there already.
    yield* sql`INSERT INTO events ${sql.insert(rows)} ON CONFLICT DO NOTHING`.unprepared
  })

  /** Removes the oldest events but `keep`. */
  const trim = Effect.fnUntraced(function*(id: string) {
    const rows = yield* sql<{ readonly number: number | bigint }>`
      SELECT number FROM events WHERE conversation = ${id} ORDER BY number DESC LIMIT 1 OFFSET ${keep}`
    const gone = rows[0] === undefined ? 0 : Number(rows[0].number)
    yield* sql`DELETE FROM events WHERE conversation = ${id} AND number <= ${gone}`
    yield* sql`
      UPDATE conversations
      SET gone = CASE WHEN gone > ${gone} THEN gone ELSE ${gone} END,
        kept = (SELECT count(*) FROM events WHERE conversation = ${id})
      WHERE id = ${id}`
  })

  const write = Effect.fnUntraced(function*(
    held: Held,
    events: ReadonlyArray<Numbered>,
    { awaits, changes, isInFlight, title }: Held["marks"],
    keys: ReadonlyArray<string>,
    saved: Writing["saved"]
  ) {
    const { id, token } = held
    const touched = saved === undefined ? null : yield* Clock.currentTimeMillis
    const rows = yield* sql<{ readonly kept: number | bigint }>`
      UPDATE conversations
      SET last = COALESCE(${events.at(-1)?.number ?? null}, last),
        kept = kept + ${events.length},
        cursor = COALESCE(${saved?.cursor ?? null}, cursor),
        title = COALESCE(${title?.replaceAll("\0", "\uFFFD") ?? null}, title),
        changes = COALESCE(${changes === undefined ? null : JSON.stringify(changes)}, changes),
        in_flight = COALESCE(${isInFlight === undefined ? null : Number(isInFlight)}, in_flight),
        awaits = COALESCE(${awaits === undefined ? null : Number(awaits)}, awaits),
        updated_at = COALESCE(${touched}, updated_at)
      WHERE id = ${id} AND lease = ${token}
      RETURNING kept`
    if (rows[0] === undefined) return yield* new LeaseLost({ conversation: id })
    yield* Effect.forEach(Array.chunksOf(events, atOnce), (some) => insert(id, some), { discard: true })
    yield* Effect.forEach(
      keys,
      (key) => sql`INSERT INTO messages ${sql.insert({ conversation: id, key: keyOf(key) })} ON CONFLICT DO NOTHING`,
      { discard: true }
    )
    if (saved !== undefined) yield* states.set(saved.key, saved.value)
    if (Number(rows[0].kept) > keep + keep / 10) yield* trim(id)
  }, inTransaction(sql))

  return (
    held: Held,
    { marks: withMarks, saved }: Writing
  ): Effect.Effect<
    void,
    LeaseLost | SqlError.SqlError | Schema.SchemaError | KeyValueStore.KeyValueStoreError
  > =>
    held.writing.withPermit(Effect.suspend(() => {
      const { marks, messageKeys, recent } = held
      if (recent === undefined) return Effect.fail(new LeaseLost({ conversation: held.id }))
      const events = recent.waiting(saved?.cursor !== undefined)
      const isMarked = withMarks && (messageKeys.length > 0 || Object.keys(marks).length > 0)
      if (events.length === 0 && !isMarked && saved === undefined) return Effect.void
      if (!isMarked) return Effect.map(write(held, events, {}, [], saved), () => recent.keep(events.length))
      held.marks = {}
      held.messageKeys = []
      return Effect.map(write(held, events, marks, messageKeys, saved), () => recent.keep(events.length)).pipe(
        Effect.onError(() =>
          Effect.sync(() => {
            held.marks = { ...marks, ...held.marks }
            held.messageKeys = [...messageKeys, ...held.messageKeys]
          })
        )
      )
    })).pipe(Effect.uninterruptible)
}
