/**
 * How those who look on get to see a run's events: in order, and before the run goes on.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Semaphore from "effect/Semaphore"
import type { AgentEvent } from "../domain/AgentEvent.ts"
import type { AgentState } from "../domain/StateSchema.ts"
import type { Root } from "./Loop.ts"
import type { Observer } from "./Observer.ts"

/**
 * Who sees the events of a run as they happen, beside the observers. `take` says whether there was room, and is given
 * the state that the event leaves where it changes it; `send` waits; with `isStreaming` the model is asked to stream.
 */
export interface Receiver {
  readonly isStreaming: boolean
  readonly take: (event: AgentEvent, state?: AgentState) => boolean
  readonly send: (events: ReadonlyArray<AgentEvent>) => Effect.Effect<void>
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
): Pick<Root, "deliver" | "flush" | "isBehind" | "isObserved" | "isStreaming"> => {
  if (observers.length === 0 && receiver === undefined) return unseen
  const waiting: Array<AgentEvent> = []
  if (observers.length === 0 && receiver !== undefined) {
    return { ...sendAll(waiting, receiver), isObserved: true, isStreaming: receiver.isStreaming }
  }
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
const unseen: ReturnType<typeof make> = {
  deliver: () => {},
  flush: Effect.void,
  isBehind: () => false,
  isObserved: false,
  isStreaming: false
}

/** Most events need no turn of the runtime: only those behind others that wait for room do, one batch after the other. */
const sendAll = (waiting: Array<AgentEvent>, receiver: Receiver): Pick<Root, "deliver" | "flush" | "isBehind"> => {
  // Few runs have anything to wait for, so that only they have a lock.
  let send: Effect.Effect<void> | undefined
  const makeSend = (): Effect.Effect<void> =>
    Effect.uninterruptible(
      Semaphore.makeUnsafe(1).withPermit(
        Effect.suspend(() => waiting.length === 0 ? Effect.void : receiver.send(waiting.splice(0)))
      )
    )
  return {
    deliver: (event, state) => {
      if (waiting.length > 0 || !receiver.take(event, state)) waiting.push(event)
    },
    flush: Effect.suspend(() => waiting.length === 0 ? Effect.void : send ??= makeSend()),
    isBehind: () => waiting.length > 0
  }
}

const showAll = (
  waiting: Array<AgentEvent>,
  observers: ReadonlyArray<Observer>,
  receiver: Receiver | undefined
): Effect.Effect<void> => {
  const show = (event: AgentEvent): Effect.Effect<void> => {
    const seen = observers.length === 1
      ? observers[0]!(event)
      : Effect.forEach(observers, (observer) => observer(event), { discard: true })
    return receiver === undefined ? seen : Effect.andThen(seen, receiver.send([event]))
  }
  const showNext = Effect.uninterruptible(Effect.suspend(() => show(waiting.shift()!)))
  const lock = Semaphore.makeUnsafe(1)
  return lock.withPermit(
    Effect.whileLoop({ while: () => waiting.length > 0, body: () => showNext, step: () => {} })
  )
}
