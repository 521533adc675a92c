/**
 * How those who look on get to see a run's events: in order, each batch before the run goes on.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Semaphore from "effect/Semaphore"
import type { AgentEvent } from "../domain/AgentEvent.ts"
import type { Root } from "./Loop.ts"
import type { Observer } from "./Observer.ts"

/** Who sees the events of a run as they happen, beside the observers. `send` waits for room. */
export interface Receiver {
  readonly send: (events: ReadonlyArray<AgentEvent>) => Effect.Effect<void>
}

/** Delivers events in their order, one batch after the other, to observers and to the receiver of a stream. */
export const make = (
  observers: ReadonlyArray<Observer>,
  receiver: Receiver | undefined
): Pick<Root, "deliver" | "flush" | "isObserved" | "isStreaming"> => {
  if (observers.length === 0 && receiver === undefined) {
    return { deliver: () => {}, flush: Effect.void, isObserved: false, isStreaming: false }
  }
  let waiting: Array<AgentEvent> = []
  const pass = (events: ReadonlyArray<AgentEvent>): Effect.Effect<void> => {
    const seen = observers.length === 0
      ? undefined
      : Effect.forEach(events, (event) => Effect.forEach(observers, (observer) => observer(event), { discard: true }), {
        discard: true
      })
    if (receiver === undefined) return seen ?? Effect.void
    return seen === undefined ? receiver.send(events) : Effect.andThen(seen, receiver.send(events))
  }
  const lock = observers.length === 0 ? undefined : Semaphore.makeUnsafe(1)
  const drain = Effect.suspend(() => {
    if (waiting.length === 0) return Effect.void
    const events = waiting
    waiting = []
    return pass(events)
  })
  return {
    deliver: (event) => {
      waiting.push(event)
    },
    flush: lock === undefined ? drain : lock.withPermit(drain),
    isObserved: true,
    isStreaming: receiver !== undefined
  }
}
