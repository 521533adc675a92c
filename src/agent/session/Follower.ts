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
export const publish = (ref: SubscriptionRef.SubscriptionRef<AgentState>, state: AgentState): void => {
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

/** Follows one operation, from the state that `begin` is given. Its reader, if it has one, has room for any number of events. */
export class Follower implements Receiver {
  readonly isStreaming: boolean
  failure: SessionError | undefined
  readonly #ref: SubscriptionRef.SubscriptionRef<AgentState>
  readonly #store: Opened | undefined
  readonly #reader: Receiver | undefined
  #fiber: Fiber.Fiber<unknown, unknown> | undefined
  #from: AgentState | undefined

  constructor(
    ref: SubscriptionRef.SubscriptionRef<AgentState>,
    store: Opened | undefined,
    reader: Receiver | undefined
  ) {
    this.isStreaming = reader !== undefined
    this.#ref = ref
    this.#store = store
    this.#reader = reader
  }

  /** Makes ready for a run from a state, which is stopped with its fiber. */
  begin(from: AgentState, fiber: Fiber.Fiber<unknown, unknown>): AgentState {
    this.#from = from
    this.#fiber = fiber
    return from
  }

  take(event: AgentEvent, state?: AgentState): boolean {
    if (this.#store !== undefined && isMilestone(event)) return false
    this.#follow(event, state)
    return this.#reader === undefined || this.#reader.take(event)
  }

  send(events: ReadonlyArray<AgentEvent>): Effect.Effect<void> {
    return Effect.forEach(events, (event) => this.#show(event), { discard: true })
  }

  #show(event: AgentEvent): Effect.Effect<void> {
    return Effect.suspend(() => {
      this.#follow(event)
      const seen = this.#reader === undefined ? Effect.void : this.#reader.send([event])
      return isMilestone(event) ? Effect.andThen(this.#save(), seen) : seen
    })
  }

  /** The run that is followed has folded the same events from the same state: what it made of them isn't made again. */
  #follow(event: AgentEvent, state?: AgentState): void {
    const before = this.#from ?? this.#ref.value
    this.#from = undefined
    publish(this.#ref, state ?? reduceAt(before, event, 0))
  }

  #save(): Effect.Effect<void> {
    return this.#store === undefined || this.failure !== undefined
      ? Effect.void
      : Effect.catch(this.#store.save(this.#ref.value), (error) =>
        Effect.sync(() => {
          this.failure = error
          this.#fiber?.interruptUnsafe()
        }))
  }
}
