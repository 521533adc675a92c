/**
 * What has happened in a run, and what follows from it: the state, what is under way, and the number of the next event.
 *
 * 1. One run has one journal; the agents that are called write in it too. `record` is the only place where a state becomes another.
 * 2. The state after an event is `AgentState.reduce` of it, and what is under way is `Underway.reduce` of it: both are folds.
 * 3. Pieces of a stream change neither, so they are only delivered.
 *
 * docs/decisions/0022 lists what else can change during a run, and why it isn't derived from events. A test compares the list with the
 * code.
 *
 * @since 0.1.0
 */
import type * as Clock from "effect/Clock"
import type * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import type { AgentEvent } from "../../domain/AgentEvent.ts"
import { reduceAt } from "../../domain/Reducer.ts"
import { retold } from "../../domain/Retold.ts"
import type { AgentState } from "../../domain/StateSchema.ts"
import * as TakenIds from "../../domain/TakenIds.ts"
import * as Underway from "../../domain/Underway.ts"
import * as Delivery from "./Delivery.ts"
import * as RunId from "./RunId.ts"
import type { RunServices } from "./RunServices.ts"
import { type Keeping, Slot } from "./Slot.ts"

/** Events that nobody may see yet, and the state before them. */
interface Withheld {
  readonly before: AgentState
  readonly events: Array<Delivery.WaitingEvent>
}

const settledIds = new Slot<TakenIds.SettledIds>()

/** Returns what a conversation keeps of the ids in its settled turns. */
const settledIdsOf = (live: Keeping): TakenIds.SettledIds => {
  const known = settledIds.get(live) ?? new TakenIds.SettledIds()
  settledIds.set(live, known)
  return known
}

/** The journal of a run, including the agents that it calls. */
export class Journal {
  readonly clock: Clock.Clock
  readonly recordsContent: boolean
  readonly hasSpans: boolean
  /** The id of the run. */
  readonly run: string
  /** The id of the session that keeps the conversation, if one does: without a store, the id of its first run. */
  readonly session: string | undefined
  readonly #delivering: Delivery.Delivering
  readonly #receiver: Delivery.Receiver | undefined
  readonly #beside: ReadonlyArray<AgentState> | undefined
  readonly #live: Keeping | undefined
  #state: AgentState
  #underway = Underway.nothing
  #sequence = 0
  #takenIds: TakenIds.TakenIds | undefined = undefined
  #withheld: Withheld | undefined = undefined
  constructor(
    services: RunServices,
    state: AgentState,
    receiver: Delivery.Receiver | undefined,
    run = "",
    beside?: ReadonlyArray<AgentState>,
    live?: Keeping
  ) {
    const { clock, hasSpans, isTraced, observers, recordsContent } = services
    this.#delivering = Delivery.make(observers, receiver)
    // A run that nobody observes needs no id: the id is only in events and spans, so that equal runs have equal states.
    this.run = run !== "" || !(isTraced || this.#delivering.isObserved) ? run : RunId.make(services.random)
    const log = receiver?.log
    this.session = log === undefined ? undefined : log.session ?? this.run
    this.#receiver = receiver
    this.#beside = beside
    this.#live = live
    this.clock = clock
    this.recordsContent = recordsContent
    this.hasSpans = hasSpans
    this.#state = state
  }

  /** The id of the conversation: the session's, or else the run's, if either has one. */
  get conversation(): string | undefined {
    return this.session ?? (this.run === "" ? undefined : this.run)
  }
  /** The state of the outermost agent. */
  get state(): AgentState {
    return this.#state
  }
  get underway(): Underway.Underway {
    return this.#underway
  }
  /** The ids that no new call may have. Code that gives a call an id adds the id here. */
  get takenIds(): TakenIds.TakenIds {
    if (this.#takenIds !== undefined) return this.#takenIds
    const settled = this.#live === undefined ? undefined : settledIdsOf(this.#live)
    this.#takenIds = TakenIds.of(this.#state, undefined, settled)
    for (const state of this.#beside ?? []) TakenIds.of(state, this.#takenIds)
    return this.#takenIds
  }
  /** Returns the next sequence number, and counts it. */
  nextSequence(): number {
    return this.#sequence++
  }
  /** The number that the next event gets. */
  get sequence(): number {
    return this.#sequence
  }
  /** The number of events in the log, if somebody keeps it from its beginning. */
  get logged(): { readonly events: number } | undefined {
    const events = this.#receiver?.log?.events
    return events === undefined ? undefined : { events }
  }
  now(): number {
    return Math.floor(this.clock.currentTimeMillisUnsafe())
  }

  /** Adds an event, and delivers it with the new state. `after` is that state, if it is known. */
  record(event: AgentEvent, by: Delivery.Teller, after = reduceAt(this.#state, event, 0)): void {
    if (this.#takenIds !== undefined && (bringsTurns(event) || forgetsIds(this.#state, after, event))) {
      this.#takenIds = undefined
    }
    this.#state = after
    this.#underway = Underway.reduce(this.#underway, event)
    if (this.#withheld === undefined) this.#delivering.deliver(event, by, after)
    else this.#withheld.events.push({ event, by })
  }

  /** Delivers a piece of a stream, which changes nothing. */
  deliver(event: AgentEvent, by: Delivery.Teller): void {
    if (this.#withheld === undefined) this.#delivering.deliver(event, by)
    else this.#withheld.events.push({ event, by })
  }

  /** Withholds the events that are recorded from now on until `release`. Nothing else may happen in the run meanwhile. */
  withhold(): void {
    if (this.#delivering.isObserved) this.#withheld ??= { before: this.#state, events: [] }
  }

  /** Delivers the withheld events, with the inputs that the state holds now: guardrails may have replaced the original ones. */
  release(): void {
    if (this.#withheld === undefined) return
    const { before, events: waiting } = this.#withheld
    this.#withheld = undefined
    let state = before
    const events = retold(waiting.map(({ event }) => event), this.#state)
    for (const [index, event] of events.entries()) {
      state = reduceAt(state, event, 0)
      this.#delivering.deliver(event, waiting[index]!.by, state)
    }
  }
  /** Waits until everybody has seen all events. It does nothing unless somebody `isBehind`. */
  get flush(): Effect.Effect<void> {
    return this.#delivering.flush
  }
  isBehind(): boolean {
    return this.#delivering.isBehind()
  }
  /** Returns what a fiber is being shown of this run, if the run waits for the fiber. */
  shownIn(fiber: Fiber.Fiber<unknown, unknown>): Delivery.Shown | undefined {
    return this.#delivering.shownIn(fiber)
  }
  /** Whether the run stops because its events can't be stored. */
  get hasFailed(): boolean {
    return this.#receiver?.failure !== undefined
  }
  get isObserved(): boolean {
    return this.#delivering.isObserved
  }
  get isStreaming(): boolean {
    return this.#delivering.isStreaming
  }
}

/** Checks whether an event may add turns with calls whose ids weren't assigned here, so that all ids must be read again. */
const bringsTurns = (event: AgentEvent): boolean =>
  (event._tag === "HandoffCompleted" && event.conversation !== undefined) ||
  event._tag === "ModeExited" || event._tag === "ModeFailed" ||
  (event._tag === "StateAdjusted" && event.adjustment._tag === "ViewChanged")

/** Checks whether an event made a state forget ids that it knew by name, so that all ids must be read again. */
const forgetsIds = (before: AgentState, after: AgentState, event: AgentEvent): boolean =>
  event._tag === "ToolCallSettled" && TakenIds.hasForgotten(before, after, event.calls)
