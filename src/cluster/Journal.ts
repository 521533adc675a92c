/**
 * The log of a conversation at its owner: what is stored so far, and how more is added.
 *
 * 1. One entry is appended at a time. An owner that can't append has lost the conversation: the journal is closed and stores nothing more.
 * 2. The start of a call that may not run again is stored before its handler runs, together with everything that the session saves.
 * 3. An entry that ends a run holds the answer to the message that began it. Both are kept, or neither. A message that was cancelled before
 *    its answer is stored is answered with `Cancelled`.
 * 4. Events are emitted once they are stored. Pieces of streams are emitted at once and never stored.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as PubSub from "effect/PubSub"
import * as Semaphore from "effect/Semaphore"
import type { Roster } from "../agent/definition/AgentDefinition.ts"
import { toolOf } from "../agent/definition/CallTool.ts"
import { rosterOf } from "../agent/definition/Roster.ts"
import { SessionClosed, type SessionError } from "../agent/session/SessionError.ts"
import type { OpenDocument } from "../agent/session/Store.ts"
import { type AgentEvent, isRunEnd } from "../domain/AgentEvent.ts"
import type * as AgentState from "../domain/AgentState.ts"
import type { Stored } from "../domain/EventJson.ts"
import type { Any } from "../handoff/Runnable.ts"
import * as Answer from "./Answer.ts"
import * as Kept from "./Kept.ts"
import { LogWriter, unavailable, unreadable } from "./LogWriter.ts"
import * as Recovery from "./Recovery.ts"
import { TextWriter } from "./StateText.ts"
import type { Claimed, Service } from "./store/Stored.ts"

/** What readers of events get: an event that is stored, or a piece of a stream, which isn't. */
export interface Told<out Event = Stored> {
  /** The number of the event, from 1 on; of a piece, the number of the stored event before it. */
  readonly cursor: number
  /** Only of a piece: its number, from 0 on in each epoch. An epoch begins when a runner opens the conversation. */
  readonly piece?: { readonly epoch: number; readonly number: number }
  readonly event: Event
}

/** Checks whether an event is a piece of a stream. */
export const isPiece = ({ _tag }: Stored): boolean =>
  _tag === "TextDelta" || _tag === "ReasoningDelta" || _tag === "ToolParamsDelta" || _tag === "ToolCallProgressed"

/** Checks whether a started call may run again: its tool is idempotent, or it runs no handler. */
const isRepeatable = (
  roster: Roster,
  state: AgentState.AgentState,
  { calls, name }: Stored & { name: string }
): boolean => {
  const entry = toolOf(roster, state, { calls, name })
  return entry !== undefined && (entry._tag !== "Handled" || entry.policy.idempotent === true)
}

/** Reads a stored conversation. */
const read = Effect.fnUntraced(function*(id: string, agent: Any, { entries, snapshot }: Claimed) {
  const readable = Effect.mapError(unreadable(id))
  let kept = snapshot === undefined
    ? Kept.begin(rosterOf(agent).initial)
    : yield* readable(Effect.fromResult(Kept.fromText(snapshot.text)))
  for (const { text } of entries) kept = Kept.take(kept, yield* readable(Effect.fromResult(Kept.entryFromText(text))))
  return kept
})

/** Is called once a message is taken, with the number of the last event before it, and with the state that has its input. */
export type OnTaken = (cursor: number, state: AgentState.AgentState) => void

/** The log of a conversation at its owner. */
export class Journal {
  kept: Kept.Kept
  /** The answer that was stored last, and the key of its message. */
  answered: { readonly key: string; readonly answer: Answer.Answer } | undefined
  readonly document: OpenDocument
  readonly #id: string
  readonly #writer: LogWriter
  readonly #told: PubSub.PubSub<Told>
  readonly #isLeaving: () => boolean
  readonly #states = new TextWriter()
  readonly #alone = Semaphore.makeUnsafe(1)
  #pieces = 0
  /** The pieces since the last event that was stored. */
  #written: Array<Told> = []
  /** The message whose input is stored with the next entry, and what is called then. */
  #next: string | undefined
  #onTaken: OnTaken | undefined
  readonly #tellsStarts: boolean

  constructor(options: {
    readonly id: string
    readonly roster: Roster
    readonly writer: LogWriter
    readonly told: PubSub.PubSub<Told>
    readonly kept: Kept.Kept
    readonly isLeaving: () => boolean
    readonly tellsStarts?: boolean | undefined
  }) {
    this.#tellsStarts = options.tellsStarts === true
    this.#id = options.id
    this.#writer = options.writer
    this.#told = options.told
    this.#isLeaving = options.isLeaving
    this.kept = options.kept
    const { roster } = options
    this.document = {
      restored: options.kept.state,
      check: Effect.void,
      keeps: (event) =>
        isPiece(event)
          ? undefined
          : this.#tellsStarts && (event._tag === "ModelCallStarted" || event._tag === "ToolCallStarted") ||
              event._tag === "ToolCallStarted" && !isRepeatable(roster, this.kept.state, event)
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

  /** The pieces since the last event that was stored. */
  get written(): ReadonlyArray<Told> {
    return this.#written
  }

  get isClosed(): boolean {
    return this.#writer.isClosed
  }

  /** Whether nothing is stored. */
  get isEmpty(): boolean {
    return this.#writer.isEmpty
  }

  /** Closes the log: nothing more is stored. */
  close(): void {
    this.#writer.close()
  }

  /** Closes the log, and first stores its state whole, so that the next owner has less to read. */
  get end(): Effect.Effect<void> {
    return this.#writer.end(() => Kept.toText(this.kept, this.#states), this.kept.events)
  }

  /** Stores a message's input with the next entry, and calls `onTaken` then. */
  takeNext(key: string | undefined, onTaken?: OnTaken): void {
    this.#next = key
    this.#onTaken = onTaken
  }

  /** Emits a piece of a stream. */
  tellPiece(event: AgentEvent): void {
    const piece = { epoch: this.#writer.epoch, number: this.#pieces++ }
    const told = { cursor: this.kept.events, piece, event }
    this.#written.push(told)
    PubSub.publishUnsafe(this.#told, told)
  }

  /** Stores the answer of a message that no run has answered. */
  answer(key: string, notBegun?: Answer.RunFailure): Effect.Effect<Answer.Answer, SessionError> {
    return Effect.suspend(() => {
      const isNew = this.kept.message !== key
      let answer: Answer.Answer
      const answerIn = (kept: Kept.Kept) =>
        answer = Answer.of(isNew ? { ...kept, unknown: [] } : kept, kept.cancelled.has(key), notBegun)
      const entry = { events: [], answered: key, ...(isNew ? { taken: key } : undefined) }
      return Effect.map(this.#append(entry, undefined, false, answerIn), () => answer)
    })
  }

  /** Cancels a message: its input isn't taken any more, and its run isn't continued. */
  cancel(key: string): Effect.Effect<void, SessionError> {
    return this.#append({ events: [], cancelled: key }, undefined, false)
  }

  /** Replaces the stored state. */
  replace(state: AgentState.AgentState): Effect.Effect<void, SessionError> {
    return this.#append({ events: [], state }, state, false)
  }

  /** Stores the ends of what was under way when an owner died. */
  recover(): Effect.Effect<void, SessionError> {
    return Effect.suspend(() => {
      const events = Recovery.missing(this.kept)
      const { cancelled, message } = this.kept
      const isCancelled = message !== undefined && cancelled.has(message)
      return events.length === 0 ? Effect.void : this.#append({ events }, undefined, isCancelled)
    })
  }

  #append(
    entry: Kept.Entry,
    state: AgentState.AgentState | undefined,
    answers: boolean,
    answerIn?: (kept: Kept.Kept) => Answer.Answer
  ): Effect.Effect<void, SessionError> {
    const appending = Effect.suspend(() => {
      const before = this.kept
      let next = Kept.take(before, entry, state)
      let whole = entry
      let answer = answerIn?.(before)
      const { message } = next
      if (answers && message !== undefined) {
        answer = Answer.of(next, next.cancelled.has(message))
        whole = { ...entry, answered: message }
        next = Kept.take(next, { events: [], answered: message }, next.state)
      }
      const written = this.#writer.write({
        text: Kept.entryToText(whole),
        lastEvent: next.events,
        taken: whole.taken,
        answered: whole.answered,
        answer: answer === undefined
          ? undefined
          : Answer.toText(answer, whole.taken !== whole.answered || whole.events.length > 0)
      })
      return Effect.flatMap(written, () => {
        this.kept = next
        if (answer !== undefined) this.answered = { key: whole.answered!, answer }
        if (whole.taken !== undefined) {
          const onTaken = this.#onTaken
          this.takeNext(undefined)
          onTaken?.(before.events, next.state)
        }
        this.#tell(entry.events, before.events)
        return Effect.andThen(
          this.#writer.snapshot(() => Kept.toText(this.kept, this.#states), this.kept.events),
          this.#leave()
        )
      })
    })
    return Effect.uninterruptible(this.#alone.withPermit(appending))
  }

  #tell(events: ReadonlyArray<Stored>, before: number): void {
    if (events.length > 0) this.#written = []
    events.forEach((event, at) => PubSub.publishUnsafe(this.#told, { cursor: before + at + 1, event }))
  }

  /** An owner that is leaving stops a run here, unless a handler runs, whose effect would be unknown. */
  #leave(): Effect.Effect<void, SessionError> {
    return this.kept.message !== undefined && this.#isLeaving() && Kept.marks(this.kept).length === 0
      ? this.#writer.fail(new SessionClosed({ agent: this.#id, operation: "run" }))
      : Effect.void
  }
}

/** Claims a conversation, reads it, and stores the ends of what was under way. */
export const open = Effect.fnUntraced(function*(options: {
  readonly store: Service
  readonly id: string
  readonly agent: Any
  readonly told: PubSub.PubSub<Told>
  readonly isLeaving: () => boolean
  readonly snapshotAfter?: number | undefined
  readonly keepEvents?: number | undefined
  readonly tellsStarts?: boolean | undefined
}) {
  const { agent, id, isLeaving, keepEvents, snapshotAfter, store, tellsStarts, told } = options
  const claimed = yield* Effect.mapError(store.claim(id), unavailable(id, "read"))
  const journal = new Journal({
    id,
    roster: rosterOf(agent),
    writer: new LogWriter({ id, store, snapshotAfter, keepEvents }, claimed),
    told,
    kept: yield* read(id, agent, claimed),
    isLeaving,
    tellsStarts
  })
  yield* journal.recover()
  return journal
})
