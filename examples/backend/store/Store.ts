/**
 * Where conversations are kept: in an embedded database by default, or in Postgres, which several instances may share.
 *
 * 1. A conversation has a state, a log of numbered events, and marks: whether a run is in flight, whether somebody wants it
 *    cancelled, whether calls awaited approval at the end of a run, which messages were taken in.
 * 2. Only who holds the lease on a conversation runs it. The lease of a process that dies is free at once; one that can't be
 *    held any longer is lost, and what runs under it has to stop.
 * 3. Each save of a state writes, in one transaction, the state, the events that were logged until then, the number of the
 *    last of them, and the marks. So what is read is always a state and the cursor that it stands at.
 * 4. Events are numbered in order, with gaps: who takes a lease goes on far above the last number, since a reader may have
 *    seen events that a process told and could no longer keep.
 */
import { Context, type DateTime, Effect, Schema, type Scope } from "effect"
import type { KeyValueStore } from "effect/persistence"
import type { AgentState } from "troupe"
import type { Change, Event } from "../api/Conversations.ts"

/** The store can't be reached, or can't do what it was asked for. */
export class StoreFailed extends Schema.TaggedError<StoreFailed>()("StoreFailed", {
  operation: Schema.String,
  cause: Schema.Defect()
}) {
  override get message(): string {
    return `The store failed to ${this.operation}`
  }
}

/** Says what the store was doing when it failed. */
export const failedTo = (operation: string) =>
  Effect.mapError((cause: unknown) => new StoreFailed({ operation, cause }))

/** Events after `cursor` are no longer kept: those after `oldest` are. */
export class EventsGone extends Schema.TaggedError<EventsGone>()("EventsGone", {
  cursor: Schema.Int,
  oldest: Schema.Int
}) {}

/** What is kept of a conversation beside its state and its events. */
export interface Row {
  readonly tenant: string
  readonly id: string
  /** The first words of the user, or nothing. */
  readonly title: string
  readonly createdAt: DateTime.Utc
  readonly updatedAt: DateTime.Utc
  /** Whether a run was begun that hasn't ended: whoever finds the lease free goes on with it. */
  readonly isInFlight: boolean
  /** What guardrails changed of what the user said. */
  readonly changes: ReadonlyArray<Change>
}

/** A state as it was saved last, and the number of the last event in it. */
export interface Saved {
  readonly row: Row
  readonly state: AgentState.AgentState
  readonly cursor: number
}

export interface Numbered {
  readonly number: number
  readonly event: Event
}

/** What is written beside the state with its next save. What isn't given stays. */
export interface Marks {
  readonly isInFlight?: boolean
  /** Whether calls awaited approval when the last run ended: some of them may be decided since. */
  readonly awaits?: boolean
  readonly title?: string
  readonly changes?: ReadonlyArray<Change>
  /** The key of a message that was taken in. */
  readonly messageKey?: string
}

/** The right to run a conversation, until its scope closes. */
export interface Lease {
  /** Ends when the lease is lost: what runs has to stop at once, and nothing can be saved any more. */
  readonly lost: Effect.Effect<void>
  /** Ends when somebody asks for the run to be cancelled, here or in another instance. */
  readonly cancelled: Effect.Effect<void>
  /**
   * Logs an event: gives it its number and shows it to readers. It is kept soon, and at the latest with the next save. One that is
   * told `afterSave`, and those behind it, are kept and shown with the next save and not before, so that nobody is told what
   * the state may never hold.
   */
  readonly log: (event: Event, when?: "afterSave" | undefined) => Numbered
  /** Writes marks with the next save. */
  readonly mark: (marks: Marks) => void
  /** Writes what was logged and marked since the last save, where no save follows. */
  readonly flush: Effect.Effect<void, StoreFailed>
  /** Where a session keeps its state under the conversation's id: `Session.store(id)`. */
  readonly states: KeyValueStore.KeyValueStore
}

export class Store extends Context.Service<Store, {
  /** Keeps a new conversation with the state that it begins in. */
  readonly create: (tenant: string, id: string, state: AgentState.AgentState) => Effect.Effect<Saved, StoreFailed>
  /** A tenant's conversations, the last touched first, at most a hundred. */
  readonly list: (tenant: string) => Effect.Effect<ReadonlyArray<Row>, StoreFailed>
  /** A tenant's conversations whose last run ended with calls that await approval, the longest untouched first, at most a hundred. */
  readonly awaiting: (tenant: string) => Effect.Effect<ReadonlyArray<Row>, StoreFailed>
  /** A conversation as it was saved last; none where the tenant has no such one. */
  readonly read: (tenant: string, id: string) => Effect.Effect<Saved | undefined, StoreFailed>
  /** Removes a conversation with its state, its events and its marks. A lease on it is lost. */
  readonly remove: (tenant: string, id: string) => Effect.Effect<void, StoreFailed>
  /** Whether a message of that key was taken in. */
  readonly hasMessage: (id: string, key: string) => Effect.Effect<boolean, StoreFailed>
  /** Takes the lease on a conversation; none where somebody else holds it, here too, and where there is no such one. */
  readonly lease: (id: string) => Effect.Effect<Lease | undefined, StoreFailed, Scope.Scope>
  /** Asks whoever holds the lease now to cancel the run. Who takes it later isn't asked. */
  readonly cancel: (id: string) => Effect.Effect<void, StoreFailed>
  /** Conversations with a run in flight, whoever holds their leases. */
  readonly inFlight: Effect.Effect<ReadonlyArray<{ readonly tenant: string; readonly id: string }>, StoreFailed>
  /**
   * Events after a number, at most `limit`, the ones of a run under way here included. Of a conversation that isn't there
   * they are gone.
   */
  readonly events: (
    id: string,
    after: number,
    limit: number
  ) => Effect.Effect<ReadonlyArray<Numbered>, StoreFailed | EventsGone>
  /**
   * Waits until there may be events after a number: at once where they are logged here, soon where elsewhere. It ends too
   * when the conversation is removed.
   */
  readonly awaitEvents: (id: string, after: number) => Effect.Effect<void>
  /** Fails where the store can't be reached, or can't be written to. It looks at most once in five seconds. */
  readonly check: Effect.Effect<void, StoreFailed>
  /** Whether the store is away, as far as it knows. It logs when it goes and when it is back, so nobody else has to. */
  readonly isAway: () => boolean
}>()("backend/Store") {}
