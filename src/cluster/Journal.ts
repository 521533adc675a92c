/**
 * The log of a conversation in the hands of its owner: what is kept so far, and how more is.
 *
 * 1. One entry is appended at a time. Who can't append has lost the conversation: the journal is closed, and nothing more is kept by it.
 * 2. The start of a call that may not run again is kept before its handler runs. So is all that a session saves.
 * 3. An entry that ends a run holds the answer to the message that began it. Both are kept, or neither.
 * 4. Events are told once they are kept. Pieces of streams are never kept, and told at once.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as PubSub from "effect/PubSub"
import * as Semaphore from "effect/Semaphore"
import type { Roster } from "../agent/definition/AgentDefinition.ts"
import { toolOf } from "../agent/definition/CallTool.ts"
import { rosterOf } from "../agent/definition/Roster.ts"
import {
  SessionClosed,
  SessionError,
  StoreConflict,
  StoredStateUnreadable,
  StoreUnavailable
} from "../agent/session/SessionError.ts"
import type { OpenDocument } from "../agent/session/Store.ts"
import { type AgentEvent, isRunEnd } from "../domain/AgentEvent.ts"
import * as AgentState from "../domain/AgentState.ts"
import type { Stored } from "../domain/EventJson.ts"
import type { Any } from "../handoff/Runnable.ts"
import * as Answer from "./Answer.ts"
import * as Kept from "./Kept.ts"
import * as Recovery from "./Recovery.ts"
import type { ConversationStoreError, Service, StoredEntry } from "./store/Stored.ts"

/** What readers are told: an event and its number, or a piece of a stream, with its own number and that of the event before it. */
export interface Told {
  readonly cursor: number
  readonly piece?: { readonly epoch: number; readonly number: number }
  readonly event: Stored
}

/** How many characters of entries there are at least between two snapshots. */
const minSnapshotDistance = 32_768

/** Checks whether an event is a piece of a stream. */
export const isPiece = ({ _tag }: Stored): boolean =>
  _tag === "TextDelta" || _tag === "ReasoningDelta" || _tag === "ToolParamsDelta" || _tag === "ToolCallProgressed"

/** Checks whether a call that starts may run again: its tool says so, or it runs no handler. */
const isRepeatable = (
  roster: Roster,
  state: AgentState.AgentState,
  { calls, name }: Stored & { name: string }
): boolean => {
  const entry = toolOf(roster, state, { calls, name })
  return entry !== undefined && (entry._tag !== "Handled" || entry.policy.idempotent === true)
}

/** Says that what is kept can't be read. */
const unreadable = (id: string) => (issue: string): SessionError =>
  new SessionError({ reason: new StoredStateUnreadable({ id, issue }) })

/** Names the failure of the store. */
export const unavailable =
  (id: string, operation: StoreUnavailable["operation"]) => (error: ConversationStoreError): SessionError =>
    new SessionError({ reason: new StoreUnavailable({ id, operation, issue: error.message, error }) })

/** Reads what is kept. */
const read = Effect.fnUntraced(function*(
  id: string,
  agent: Any,
  { entries, snapshot }: { readonly snapshot: StoredEntry | undefined; readonly entries: ReadonlyArray<StoredEntry> }
) {
  const readable = Effect.mapError(unreadable(id))
  let kept = snapshot === undefined
    ? Kept.begin(AgentState.make(rosterOf(agent).first.name))
    : yield* readable(Effect.fromResult(Kept.fromText(snapshot.text)))
  for (const { text } of entries) kept = Kept.take(kept, yield* readable(Effect.fromResult(Kept.entryFromText(text))))
  return kept
})

/** The log of a conversation in the hands of its owner. */
export class Journal {
  kept: Kept.Kept
  isClosed = false
  readonly epoch: number
  /** The answer that was kept last, and its message. */
  answered: { readonly key: string; readonly answer: Answer.Answer } | undefined
  readonly document: OpenDocument
  readonly #id: string
  readonly #store: Service
  readonly #told: PubSub.PubSub<Told>
  readonly #isLeaving: () => boolean
  readonly #snapshotAfter: number | undefined
  readonly #alone = Semaphore.makeUnsafe(1)
  #revision: number
  #size: number
  #snapshotSize: number
  #pieces = 0
  /** The message that is taken with the next entry. */
  #next: string | undefined

  constructor(options: {
    readonly id: string
    readonly roster: Roster
    readonly store: Service
    readonly told: PubSub.PubSub<Told>
    readonly epoch: number
    readonly revision: number
    readonly size: number
    readonly snapshotSize: number
    readonly kept: Kept.Kept
    readonly isLeaving: () => boolean
    readonly snapshotAfter: number | undefined
  }) {
    this.#id = options.id
    this.#store = options.store
    this.#told = options.told
    this.#isLeaving = options.isLeaving
    this.#snapshotAfter = options.snapshotAfter
    this.epoch = options.epoch
    this.#revision = options.revision
    this.#size = options.size
    this.#snapshotSize = options.snapshotSize
    this.kept = options.kept
    const { roster } = options
    this.document = {
      restored: options.kept.state,
      check: Effect.void,
      keeps: (event) =>
        isPiece(event)
          ? undefined
          : event._tag === "ToolCallStarted" && !isRepeatable(roster, this.kept.state, event)
          ? "AtOnce"
          : "Next",
      save: (state, events = []) =>
        Effect.suspend(() => {
          if (events.length === 0 && state === this.kept.state) return Effect.void
          const repeatable = events.flatMap((event) =>
            event._tag === "ToolCallStarted" && isRepeatable(roster, state, event) ? [event.callId] : []
          )
          const entry = { events, taken: this.#next, ...(repeatable.length === 0 ? undefined : { repeatable }) }
          return this.#append(entry, state, events.some(isRunEnd))
        })
    }
  }

  /** Shuts the log: what would be kept from now on isn't. */
  close(): void {
    this.isClosed = true
  }

  /** Takes a message with the next entry. */
  takeNext(key: string | undefined): void {
    this.#next = key
  }

  /** Tells a piece of a stream. */
  tellPiece(event: AgentEvent): void {
    const piece = { epoch: this.epoch, number: this.#pieces++ }
    PubSub.publishUnsafe(this.#told, { cursor: this.kept.events, piece, event })
  }

  /** Answers a message that no run has answered. */
  answer(key: string, notBegun?: Answer.NotBegun): Effect.Effect<Answer.Answer, SessionError> {
    return Effect.suspend(() => {
      const isNew = this.kept.message !== key
      const isCancelled = this.kept.cancelled.has(key)
      const answer = Answer.of(isNew ? { ...this.kept, unknown: [] } : this.kept, isCancelled, notBegun)
      const entry = { events: [], answered: key, ...(isNew ? { taken: key } : undefined) }
      return Effect.as(this.#append(entry, this.kept.state, false, answer), answer)
    })
  }

  /** Cancels a message: it is taken no more, and a run for it isn't gone on with. */
  cancel(key: string): Effect.Effect<void, SessionError> {
    return this.#append({ events: [], cancelled: key }, this.kept.state, false)
  }

  /** Puts a state in the place of the one that is kept. */
  replace(state: AgentState.AgentState): Effect.Effect<void, SessionError> {
    return this.#append({ events: [], state }, state, false)
  }

  /** Ends what was under way when an owner died. */
  recover(): Effect.Effect<void, SessionError> {
    return Effect.suspend(() => {
      const events = Recovery.missing(this.kept)
      const { cancelled, message } = this.kept
      const isCancelled = message !== undefined && cancelled.has(message)
      return events.length === 0 ? Effect.void : this.#append({ events }, undefined, isCancelled)
    })
  }

  #failed(reason: SessionError["reason"]): Effect.Effect<never, SessionError> {
    this.close()
    return Effect.fail(new SessionError({ reason }))
  }

  #append(
    entry: Kept.Entry,
    state: AgentState.AgentState | undefined,
    answers: boolean,
    given?: Answer.Answer
  ): Effect.Effect<void, SessionError> {
    const appending = Effect.suspend(() => {
      const id = this.#id
      if (this.isClosed) return this.#failed(new SessionClosed({ agent: id, operation: "append" }))
      const before = this.kept
      let next = Kept.take(before, entry, state)
      let whole = entry
      let answer = given
      const { message } = next
      if (answers && message !== undefined) {
        answer = Answer.of(next, next.cancelled.has(message))
        whole = { ...entry, answered: message }
        next = Kept.take(next, { events: [], answered: message }, next.state)
      }
      const text = Kept.entryToText(whole)
      const revision = this.#revision + 1
      return Effect.matchEffect(
        this.#store.append({
          id,
          epoch: this.epoch,
          revision,
          text,
          lastEvent: next.events,
          taken: whole.taken,
          answered: whole.answered,
          answer: answer === undefined ? undefined : JSON.stringify(answer)
        }),
        {
          onFailure: (error) => this.#failed(unavailable(id, "write")(error).reason),
          onSuccess: (isOurs) => {
            if (!isOurs) return this.#failed(new StoreConflict({ id, expected: revision, found: undefined }))
            if (whole.taken !== undefined) this.#next = undefined
            this.#revision = revision
            this.#size += text.length
            this.kept = next
            if (answer !== undefined) this.answered = { key: whole.answered!, answer }
            this.#tell(entry.events, before.events)
            return Effect.andThen(this.#snapshot(), this.#leave())
          }
        }
      )
    })
    return Effect.uninterruptible(this.#alone.withPermit(appending))
  }

  #tell(events: ReadonlyArray<Stored>, before: number): void {
    events.forEach((event, at) => PubSub.publishUnsafe(this.#told, { cursor: before + at + 1, event }))
  }

  /** Writes a snapshot when there is much behind the last one. Without it, more is read. */
  #snapshot(): Effect.Effect<void> {
    const after = this.#snapshotAfter ?? Math.max(minSnapshotDistance, 4 * this.#snapshotSize)
    if (this.#size <= after) return Effect.void
    const text = Kept.toText(this.kept)
    this.#size = 0
    this.#snapshotSize = text.length
    return Effect.ignore(this.#store.saveSnapshot(this.#id, this.epoch, { revision: this.#revision, text }))
  }

  /** An owner that is to leave stops a run here, unless a handler runs: what it did would be unknown. */
  #leave(): Effect.Effect<void, SessionError> {
    return this.kept.message !== undefined && this.#isLeaving() && Kept.marks(this.kept).length === 0
      ? this.#failed(new SessionClosed({ agent: this.#id, operation: "run" }))
      : Effect.void
  }
}

/** Claims a conversation, reads what is kept of it, and ends what was under way. */
export const open = Effect.fnUntraced(function*(options: {
  readonly store: Service
  readonly id: string
  readonly agent: Any
  readonly told: PubSub.PubSub<Told>
  readonly isLeaving: () => boolean
  readonly snapshotAfter?: number | undefined
}) {
  const { agent, id, isLeaving, snapshotAfter, store, told } = options
  const claimed = yield* Effect.mapError(store.claim(id), unavailable(id, "read"))
  const { entries, epoch, snapshot } = claimed
  const journal = new Journal({
    id,
    roster: rosterOf(agent),
    store,
    told,
    epoch,
    revision: entries.at(-1)?.revision ?? snapshot?.revision ?? 0,
    size: entries.reduce((size, { text }) => size + text.length, 0),
    snapshotSize: snapshot?.text.length ?? 0,
    kept: yield* read(id, agent, claimed),
    isLeaving,
    snapshotAfter
  })
  yield* journal.recover()
  return journal
})
