/**
 * Takes each event of an operation into the session's state, saves at save points, and passes the event on to a reader.
 *
 * If the state can't be saved, the operation is stopped at once: what it would do next would be lost. Observers and the reader don't see the
 * event whose save failed, nor any later one, except the interruption of a run whose start they have seen.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as PubSub from "effect/PubSub"
import type * as SubscriptionRef from "effect/SubscriptionRef"
import { type AgentEvent, isRunEnd } from "../../domain/AgentEvent.ts"
import { reduceAt } from "../../domain/Reducer.ts"
import type { AgentState } from "../../domain/StateSchema.ts"
import type { Happened, Receiver } from "../journal/Delivery.ts"
import { isSavedFirst, isSavePoint } from "./SavePoints.ts"
import type { SessionError } from "./SessionError.ts"
import type { OpenDocument } from "./Store.ts"

/** Sets the session's state and publishes it. Only the operation under way does so. */
const publish = (ref: SubscriptionRef.SubscriptionRef<AgentState>, state: AgentState): void => {
  ref.value = state
  PubSub.publishUnsafe(ref.pubsub, state)
}

/** Pieces of a stream change no state, so a log leaves them out. */
const isPiece = ({ _tag }: AgentEvent): boolean =>
  _tag === "TextDelta" || _tag === "ReasoningDelta" || _tag === "ToolParamsDelta"

/**
 * What a session knows of earlier events: the id of the last run, the number of events if it has seen all of them, and the events that the
 * store doesn't have yet. `session` is the id that it is stored under, or else the id of its first run. While the last save hasn't succeeded,
 * the session `isBehind`.
 */
export interface Log {
  session: string | undefined
  run: string | undefined
  events: number | undefined
  readonly unsaved: Array<AgentEvent> | undefined
  isBehind: boolean
}

/** The parts of a session that a receiver writes to. */
export interface Target {
  readonly ref: SubscriptionRef.SubscriptionRef<AgentState>
  readonly store: OpenDocument | undefined
  readonly log: Log
}

/** Saves a state and the events that lead to it, if the session is stored. */
export const save = (
  { log, store }: Target,
  state: AgentState,
  first?: AgentEvent
): Effect.Effect<void, SessionError> =>
  Effect.suspend(() => {
    if (store === undefined) return Effect.void
    const { unsaved = [] } = log
    const { length } = unsaved
    const events = first === undefined ? unsaved.slice() : [...unsaved, first]
    log.isBehind = true
    return Effect.map(store.save(state, events), () => {
      log.isBehind = false
      unsaved.splice(0, length)
    })
  })

/** The receiver of one operation. If it has a reader, the reader's queue is unbounded. */
export class SessionReceiver implements Receiver {
  readonly isStreaming: boolean
  readonly log: Log
  failure: SessionError | undefined
  readonly #target: Target
  readonly #reader: Receiver | undefined
  #fiber: Fiber.Fiber<unknown, unknown> | undefined
  /** Whether a run is under way whose start was seen. */
  #isRunShown = false

  constructor(target: Target, reader: Receiver | undefined) {
    this.isStreaming = reader !== undefined
    this.log = target.log
    this.#target = target
    this.#reader = reader
  }

  /** Sets the fiber that is interrupted if a save fails. */
  stopOnFailure(fiber: Fiber.Fiber<unknown, unknown>): void {
    this.#fiber = fiber
  }

  offer(event: AgentEvent, state?: AgentState): boolean {
    if (this.#target.store !== undefined && (this.#isSaveDue(event) || isSavedFirst(event))) return false
    this.#apply(event, state ?? this.#after(event))
    // In a stored session the start and the end of a run never get here, because `take` saves them. So `#isRunShown` isn't set here.
    return this.#reader === undefined || this.failure !== undefined || this.#reader.offer(event)
  }

  /** Takes in an event, and saves it if that is due. Returns whether observers and the reader may see it. */
  take({ event, state: after }: Happened): Effect.Effect<boolean> {
    return Effect.suspend(() => {
      const state = after ?? this.#after(event)
      if (isSavedFirst(event)) {
        return Effect.map(this.#save(state, event), () => {
          if (this.failure === undefined) this.#apply(event, state)
          return this.#isShown(event)
        })
      }
      this.#apply(event, state)
      return this.#isSaveDue(event)
        ? Effect.map(this.#save(state), () => this.#isShown(event))
        : Effect.succeed(this.#isShown(event))
    })
  }

  /** Passes events that were taken in to the reader. */
  offerAll(batch: ReadonlyArray<Happened>): Effect.Effect<void> {
    return this.#reader === undefined ? Effect.void : this.#reader.offerAll(batch)
  }

  /** Checks whether an event may be seen. After a failed save only the interruption of a run may, if the start of the run was seen. */
  #isShown(event: AgentEvent): boolean {
    const { _tag, calls } = event
    if (this.failure !== undefined) return _tag === "RunInterrupted" && calls.length === 0 && this.#isRunShown
    if (calls.length === 0 && (_tag === "RunStarted" || isRunEnd(event))) this.#isRunShown = _tag === "RunStarted"
    return true
  }

  #isSaveDue(event: AgentEvent): boolean {
    return isSavePoint(event) || this.#target.store?.keeps?.(event) === "AtOnce"
  }

  #after(event: AgentEvent): AgentState {
    return reduceAt(this.#target.ref.value, event, 0)
  }

  #apply(event: AgentEvent, state: AgentState): void {
    const { log, ref, store } = this.#target
    log.run = event.run
    log.session ??= event.run
    if (log.events !== undefined && !isPiece(event)) log.events++
    const isChanging = state !== ref.value
    if (log.unsaved !== undefined && !isSavedFirst(event) && (isChanging || store?.keeps?.(event) !== undefined)) {
      log.unsaved.push(event)
    }
    if (!isChanging) return
    publish(ref, state)
  }

  /** Saves a state. An event that must be saved first hasn't changed the session's state yet. */
  #save(state: AgentState, first?: AgentEvent): Effect.Effect<void> {
    return this.failure !== undefined
      ? Effect.void
      : Effect.catch(save(this.#target, state, first), (error) =>
        Effect.sync(() => {
          this.failure = error
          this.#fiber?.interruptUnsafe()
        }))
  }
}
