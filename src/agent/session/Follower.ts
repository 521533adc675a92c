/**
 * How a session follows a run: each event is taken into its state, and each step is saved before the run goes on.
 *
 * A run that can't be saved is stopped at once: what it would do next would be lost.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as PubSub from "effect/PubSub"
import type * as SubscriptionRef from "effect/SubscriptionRef"
import type { AgentEvent } from "../../domain/AgentEvent.ts"
import { isRunEnd } from "../../domain/AgentEvent.ts"
import { reduceAt } from "../../domain/Reducer.ts"
import type { AgentState } from "../../domain/StateSchema.ts"
import type { Receiver } from "../journal/Delivery.ts"
import type { SessionError } from "./SessionError.ts"
import type { Opened } from "./Store.ts"

/** Puts a state in place and tells those who look on. Whoever does has the line to itself. */
const publish = (ref: SubscriptionRef.SubscriptionRef<AgentState>, state: AgentState): void => {
  if (state === ref.value) return
  ref.value = state
  PubSub.publishUnsafe(ref.pubsub, state)
}

/**
 * Checks whether a state is worth saving: a run began, a model asked for calls, a call has its result, a step is done, or the run
 * has ended. So no handler runs for a call that isn't kept, and none runs again once its result is told.
 */
const isMilestone = (event: AgentEvent): boolean => {
  switch (event._tag) {
    case "RunStarted":
      return event.calls.length === 0
    case "ModelResponded":
      return event.parts.some((part) => part._tag === "Call")
    case "StepCompleted":
    case "ToolCallSettled":
      return true
    default:
      return isRunEnd(event)
  }
}

/** Pieces of a stream change no state: a log does without them. */
const isPiece = ({ _tag }: AgentEvent): boolean =>
  _tag === "TextDelta" || _tag === "ReasoningDelta" || _tag === "ToolParamsDelta"

/** What somebody decides is saved before it happens: what can't be saved doesn't. */
const isDecision = ({ _tag }: AgentEvent): boolean => _tag === "CallApproved" || _tag === "CallDenied"

/** What a session knows of the events before: the id of the last run, and their number if it holds the log from its beginning. */
export interface Log {
  run: string | undefined
  events: number | undefined
}

/** What a session follows its operations with. */
export interface Followed {
  readonly ref: SubscriptionRef.SubscriptionRef<AgentState>
  readonly store: Opened | undefined
  readonly log: Log
}

/** Follows one operation, from the state that `begin` is given. Its reader, if it has one, has room for any number of events. */
export class Follower implements Receiver {
  readonly isStreaming: boolean
  readonly log: Log
  failure: SessionError | undefined
  readonly #ref: SubscriptionRef.SubscriptionRef<AgentState>
  readonly #store: Opened | undefined
  readonly #reader: Receiver | undefined
  #fiber: Fiber.Fiber<unknown, unknown> | undefined

  constructor({ log, ref, store }: Followed, reader: Receiver | undefined) {
    this.isStreaming = reader !== undefined
    this.log = log
    this.#ref = ref
    this.#store = store
    this.#reader = reader
  }

  /** Makes ready for an operation, which is stopped with its fiber. */
  begin(fiber: Fiber.Fiber<unknown, unknown>): void {
    this.#fiber = fiber
  }

  take(event: AgentEvent, state?: AgentState): boolean {
    if (this.#store !== undefined && (isMilestone(event) || isDecision(event))) return false
    this.#follow(event, state ?? this.#after(event))
    return this.#reader === undefined || this.#reader.take(event)
  }

  send(events: ReadonlyArray<AgentEvent>): Effect.Effect<void> {
    return Effect.forEach(events, (event) => this.#show(event), { discard: true })
  }

  #show(event: AgentEvent): Effect.Effect<void> {
    return Effect.suspend(() => {
      const state = this.#after(event)
      if (isDecision(event)) {
        return Effect.andThen(
          this.#save(state),
          Effect.suspend(() => this.failure === undefined ? this.#tell(event, state) : Effect.void)
        )
      }
      const seen = this.#tell(event, state)
      return isMilestone(event) ? Effect.andThen(this.#save(state), seen) : seen
    })
  }

  #tell(event: AgentEvent, state: AgentState): Effect.Effect<void> {
    this.#follow(event, state)
    return this.#reader === undefined ? Effect.void : this.#reader.send([event])
  }

  #after(event: AgentEvent): AgentState {
    return reduceAt(this.#ref.value, event, 0)
  }

  #follow(event: AgentEvent, state: AgentState): void {
    const { log } = this
    log.run = event.run
    if (log.events !== undefined && !isPiece(event)) log.events++
    publish(this.#ref, state)
  }

  #save(state: AgentState): Effect.Effect<void> {
    return this.#store === undefined || this.failure !== undefined
      ? Effect.void
      : Effect.catch(this.#store.save(state), (error) =>
        Effect.sync(() => {
          this.failure = error
          this.#fiber?.interruptUnsafe()
        }))
  }
}
