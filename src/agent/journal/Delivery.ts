/**
 * How those who look on get to see a run's events: in order, and before the run goes on.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Semaphore from "effect/Semaphore"
import type { AgentEvent } from "../../domain/AgentEvent.ts"
import type { AgentState } from "../../domain/StateSchema.ts"
import type { Observer } from "./Observer.ts"

/**
 * What is known of the events that were told before: the id of the last run, and how many there were, pieces of streams aside.
 */
interface Log {
  readonly run?: string | undefined
  readonly events?: number | undefined
}

/**
 * Who sees the events of a run as they happen, beside the observers. `offer` says whether there was room, and is given
 * the state that the event leaves where it changes it; `offerAll` waits; with `isStreaming` the model is asked to stream. One with a
 * `failure` has interrupted the run for that.
 */
export interface Receiver {
  readonly isStreaming: boolean
  readonly log: Log
  readonly failure?: unknown
  readonly offer: (event: AgentEvent, state?: AgentState) => boolean
  readonly offerAll: (events: ReadonlyArray<AgentEvent>) => Effect.Effect<void>
}

/**
 * How a run delivers its events. `flush` waits until everybody has seen what was told; it does nothing when nobody looks, and needn't
 * be run unless somebody `isBehind`.
 */
export interface Delivering {
  readonly deliver: (event: AgentEvent, state?: AgentState) => void
  readonly flush: Effect.Effect<void>
  readonly isBehind: () => boolean
  readonly isObserved: boolean
  readonly isStreaming: boolean
}

/**
 * Delivers events in their order to observers and to the receiver of a stream.
 *
 * An event that is being shown is shown to the end, and those behind it go on waiting for the next flush: whatever is
 * interrupted, a time-out or the run itself, each event is seen once by everybody.
 */
export const make = (
  observers: ReadonlyArray<Observer>,
  receiver: Receiver | undefined
): Delivering => {
  if (observers.length === 0 && receiver === undefined) return unseen
  if (observers.length === 0 && receiver !== undefined) return new ToReceiver(receiver)
  const waiting: Array<AgentEvent> = []
  return {
    deliver: (event) => {
      waiting.push(event)
    },
    flush: showAll(waiting, observers, receiver),
    // What doesn't wait any more may still be being shown.
    isBehind: () => true,
    isObserved: true,
    isStreaming: receiver?.isStreaming === true
  }
}

/** Where nobody looks. */
const unseen: Delivering = {
  deliver: () => {},
  flush: Effect.void,
  isBehind: () => false,
  isObserved: false,
  isStreaming: false
}

/** Most events need no turn of the runtime: only those behind others that wait for room do, one batch after the other. */
class ToReceiver implements Delivering {
  readonly isObserved = true
  readonly isStreaming: boolean
  readonly #receiver: Receiver
  // Few runs have anything to wait for, so that only they have a list and a lock.
  #waiting: Array<AgentEvent> = none
  #flush: Effect.Effect<void> | undefined = undefined
  #delivery: Effect.Effect<void> | undefined = undefined
  constructor(receiver: Receiver) {
    this.#receiver = receiver
    this.isStreaming = receiver.isStreaming
  }
  deliver(event: AgentEvent, state?: AgentState): void {
    if (this.#waiting.length === 0 && this.#receiver.offer(event, state)) return
    if (this.#waiting === none) this.#waiting = []
    this.#waiting.push(event)
  }
  get flush(): Effect.Effect<void> {
    return this.#flush ??= Effect.suspend(() =>
      this.#waiting.length === 0 ? Effect.void : this.#delivery ??= this.#makeDelivery()
    )
  }
  isBehind(): boolean {
    return this.#waiting.length > 0
  }
  #makeDelivery(): Effect.Effect<void> {
    return Effect.uninterruptible(
      Semaphore.makeUnsafe(1).withPermit(
        Effect.suspend(() =>
          this.#waiting.length === 0 ? Effect.void : this.#receiver.offerAll(this.#waiting.splice(0))
        )
      )
    )
  }
}

const none: Array<never> = []

const showAll = (
  waiting: Array<AgentEvent>,
  observers: ReadonlyArray<Observer>,
  receiver: Receiver | undefined
): Effect.Effect<void> => {
  const show = (event: AgentEvent): Effect.Effect<void> => {
    const seen = observers.length === 1
      ? observers[0]!(event)
      : Effect.forEach(observers, (observer) => observer(event), { discard: true })
    return receiver === undefined ? seen : Effect.andThen(seen, receiver.offerAll([event]))
  }
  const showNext = Effect.uninterruptible(Effect.suspend(() => show(waiting.shift()!)))
  const lock = Semaphore.makeUnsafe(1)
  return lock.withPermit(
    Effect.whileLoop({ while: () => waiting.length > 0, body: () => showNext, step: () => {} })
  )
}
