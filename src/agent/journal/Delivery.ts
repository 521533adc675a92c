/**
 * How those who look on get to see a run's events: in order, and before the run goes on.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as Semaphore from "effect/Semaphore"
import type { AgentEvent } from "../../domain/AgentEvent.ts"
import type { AgentState } from "../../domain/StateSchema.ts"
import { type Enterable, Host } from "../../modes/Host.ts"
import type { Observer } from "./Observer.ts"
import { findAround, within } from "./OperationsUnderWay.ts"

/**
 * What is known of the events that were told before: the id of the last run, and how many there were, pieces of streams aside. What a
 * session tells belongs to that: its id is the one that it is stored under, or else that of its first run.
 */
interface Log {
  readonly session?: string | undefined
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

/** Who tells an event: the loop of an agent, and the conversation that its observers may change. */
export interface Teller {
  readonly host: Enterable
}

/**
 * How a run delivers its events. `flush` waits until everybody has seen what was told; it does nothing when nobody looks, and needn't
 * be run unless somebody `isBehind`.
 *
 * An observer that is shown an event may cause another one. That is shown next, and `flush` doesn't wait for it there: it would wait for
 * its own end. `shownIn` says what a fiber is shown, if the run waits for it.
 */
export interface Delivering {
  readonly deliver: (event: AgentEvent, by: Teller, state?: AgentState) => void
  readonly flush: Effect.Effect<void>
  readonly isBehind: () => boolean
  readonly shownIn: (fiber: Fiber.Fiber<unknown, unknown>) => Shown | undefined
  readonly isObserved: boolean
  readonly isStreaming: boolean
}

/** What somebody is shown for whom the run waits: an event for an observer, or a state for the store. */
export type Shown = AgentEvent["_tag"] | typeof saved

/** What a store is shown. */
const saved = "State"

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
  const waiting: Array<Told> = []
  return {
    deliver: (event, by) => {
      waiting.push({ event, by })
    },
    flush: unlessShown(waiting, showAll(waiting, observers, receiver)),
    // What doesn't wait any more may still be being shown.
    isBehind: () => true,
    shownIn: (fiber) => shownIn(fiber, waiting),
    isObserved: true,
    isStreaming: receiver?.isStreaming === true
  }
}

/** An event that waits to be shown, and who told it. */
export interface Told {
  readonly event: AgentEvent
  readonly by: Teller
}

const shownIn = (fiber: Fiber.Fiber<unknown, unknown>, waiting: object): Shown | undefined =>
  findAround(fiber, waiting)?.name as Shown | undefined

/** Waits for what is shown, unless it is asked for by somebody for whom that waits. */
const unlessShown = (waiting: object, flush: Effect.Effect<void>): Effect.Effect<void> =>
  Effect.withFiber((fiber) => shownIn(fiber, waiting) === undefined ? flush : Effect.void)

/** Where nobody looks. */
const unseen: Delivering = {
  deliver: () => {},
  flush: Effect.void,
  isBehind: () => false,
  shownIn: () => undefined,
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
  deliver(event: AgentEvent, _: Teller, state?: AgentState): void {
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
  shownIn(fiber: Fiber.Fiber<unknown, unknown>): Shown | undefined {
    return shownIn(fiber, this)
  }
  #makeDelivery(): Effect.Effect<void> {
    const taken = Effect.suspend(() =>
      this.#waiting.length === 0
        ? Effect.void
        : within(this, saved, this.#receiver.offerAll(this.#waiting.splice(0)))
    )
    return unlessShown(this, Effect.uninterruptible(Semaphore.makeUnsafe(1).withPermit(taken)))
  }
}

const none: Array<never> = []

const showAll = (
  waiting: Array<Told>,
  observers: ReadonlyArray<Observer>,
  receiver: Receiver | undefined
): Effect.Effect<void> => {
  const show = ({ by: { host }, event }: Told): Effect.Effect<void> => {
    const seeing = observers.length === 1
      ? Effect.suspend(() => observers[0]!(event))
      : Effect.forEach(observers, (observer) => observer(event), { discard: true })
    const seen = within(waiting, event._tag, seeing, Context.add(Host, host))
    return receiver === undefined ? seen : Effect.andThen(seen, within(waiting, saved, receiver.offerAll([event])))
  }
  const showNext = Effect.uninterruptible(Effect.suspend(() => show(waiting.shift()!)))
  const lock = Semaphore.makeUnsafe(1)
  return lock.withPermit(
    Effect.whileLoop({ while: () => waiting.length > 0, body: () => showNext, step: () => {} })
  )
}
