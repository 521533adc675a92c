/**
 * Delivers a run's events to observers, stores and streams: in order, and before the run continues.
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
 * What a session knows of earlier events: the id of the last run, and their number, without pieces of streams. `session` is the id that it is
 * stored under, or else the id of its first run.
 */
interface Log {
  readonly session?: string | undefined
  readonly run?: string | undefined
  readonly events?: number | undefined
}

/** An event, and the state after it if the event changed that. */
export interface Happened {
  readonly event: AgentEvent
  readonly state?: AgentState | undefined
}

/**
 * A receiver of a run's events as they happen, besides the observers: a stream or a session. `offer` returns whether there was room, and
 * gets the new state if the event changed it; `offerAll` waits for room. With `isStreaming` the model is asked to stream. A receiver with a
 * `failure` has interrupted the run because of it.
 *
 * If `offer` had no room for an event, the event goes to `take`, if there is one, before observers and `offerAll` get it. A session saves
 * events in `take` that nobody may see before they are saved. `take` returns whether the event may be seen now.
 */
export interface Receiver {
  readonly isStreaming: boolean
  readonly log: Log | undefined
  readonly failure?: unknown
  readonly offer: (event: AgentEvent, state?: AgentState) => boolean
  readonly take?: (happened: Happened) => Effect.Effect<boolean>
  readonly offerAll: (batch: ReadonlyArray<Happened>) => Effect.Effect<void>
}

/** The source of an event: the loop of an agent, and the conversation that its observers may change. */
export interface Teller {
  readonly host: Enterable
}

/**
 * How a run delivers its events. `flush` waits until everybody has seen all events; it does nothing if there are no observers and no
 * receiver, and needn't be run unless somebody `isBehind`.
 *
 * An observer may cause another event while it is shown one. The new event is shown after those that already wait, and `flush` in the
 * observer doesn't wait for it, because it would wait for its own end. `shownIn` returns what a fiber is being shown, if the run waits for
 * the fiber.
 */
export interface Delivering {
  readonly deliver: (event: AgentEvent, by: Teller, state?: AgentState) => void
  readonly flush: Effect.Effect<void>
  readonly isBehind: () => boolean
  readonly shownIn: (fiber: Fiber.Fiber<unknown, unknown>) => Shown | undefined
  readonly isObserved: boolean
  readonly isStreaming: boolean
}

/** What is shown to somebody that the run waits for: an event to an observer, or a state to the store. */
export type Shown = AgentEvent["_tag"] | typeof saved

/** Marks that a store is shown a state. */
const saved = "State"

/**
 * Delivers events in their order to observers and to the receiver.
 *
 * If the run or a time-out interrupts a delivery, the current event is still shown to everybody, and later ones wait for the next flush. So
 * everybody sees each event exactly once, unless it can't be saved.
 */
export const make = (
  observers: ReadonlyArray<Observer>,
  receiver: Receiver | undefined
): Delivering => {
  if (observers.length === 0 && receiver === undefined) return unseen
  if (observers.length === 0 && receiver !== undefined) return new ToReceiver(receiver)
  const waiting: Array<WaitingEvent> = []
  return {
    deliver: (event, by, state) => {
      waiting.push({ event, by, state })
    },
    flush: unlessShown(waiting, showAll(waiting, observers, receiver)),
    // An event that no longer waits may still be being shown.
    isBehind: () => true,
    shownIn: (fiber) => shownIn(fiber, waiting),
    isObserved: true,
    isStreaming: receiver?.isStreaming === true
  }
}

/** An event that waits to be shown, and its source. */
export interface WaitingEvent extends Happened {
  readonly by: Teller
}

const shownIn = (fiber: Fiber.Fiber<unknown, unknown>, waiting: object): Shown | undefined =>
  // Operations in this queue are named by what they show.
  findAround(fiber, waiting)?.name as Shown | undefined

/** Waits until everything is shown, unless the caller itself is being shown something. */
const unlessShown = (waiting: object, flush: Effect.Effect<void>): Effect.Effect<void> =>
  Effect.withFiber((fiber) => shownIn(fiber, waiting) === undefined ? flush : Effect.void)

/** The delivery of a run without observers and receiver. */
const unseen: Delivering = {
  deliver: () => {},
  flush: Effect.void,
  isBehind: () => false,
  shownIn: () => undefined,
  isObserved: false,
  isStreaming: false
}

/** Most events need no turn of the runtime. Only events behind others that wait for room do, batch by batch. */
class ToReceiver implements Delivering {
  readonly isObserved = true
  readonly isStreaming: boolean
  readonly #receiver: Receiver
  // Few runs have anybody to wait for, so only these have a list and a lock.
  #waiting: Array<Happened> = none
  #flush: Effect.Effect<void> | undefined = undefined
  #delivery: Effect.Effect<void> | undefined = undefined
  constructor(receiver: Receiver) {
    this.#receiver = receiver
    this.isStreaming = receiver.isStreaming
  }
  deliver(event: AgentEvent, _: Teller, state?: AgentState): void {
    if (this.#waiting.length === 0 && this.#receiver.offer(event, state)) return
    if (this.#waiting === none) this.#waiting = []
    this.#waiting.push({ event, state })
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
        : passAll(this, this.#receiver, this.#waiting.splice(0))
    )
    return unlessShown(this, Effect.uninterruptible(Semaphore.makeUnsafe(1).withPermit(taken)))
  }
}

const none: Array<never> = []

/** Passes an event on, after `seen` has shown it to observers. If there is `take`, it gets the event before observers do. */
const pass = (
  waiting: object,
  receiver: Receiver,
  happened: Happened,
  seen: Effect.Effect<void>
): Effect.Effect<void> =>
  receiver.take === undefined
    ? Effect.andThen(seen, within(waiting, saved, receiver.offerAll([happened])))
    : Effect.flatMap(
      within(waiting, saved, receiver.take(happened)),
      // A session's reader has room for all, so nothing of the program runs in this.
      (isSeen) => isSeen ? Effect.andThen(seen, receiver.offerAll([happened])) : Effect.void
    )

const passAll = (waiting: object, receiver: Receiver, batch: ReadonlyArray<Happened>): Effect.Effect<void> =>
  receiver.take === undefined
    ? within(waiting, saved, receiver.offerAll(batch))
    : Effect.forEach(batch, (happened) => pass(waiting, receiver, happened, Effect.void), { discard: true })

const showAll = (
  waiting: Array<WaitingEvent>,
  observers: ReadonlyArray<Observer>,
  receiver: Receiver | undefined
): Effect.Effect<void> => {
  const show = ({ by: { host }, event, state }: WaitingEvent): Effect.Effect<void> => {
    const seeing = observers.length === 1
      ? Effect.suspend(() => observers[0]!(event))
      : Effect.forEach(observers, (observer) => observer(event), { discard: true })
    const seen = within(waiting, event._tag, seeing, Context.add(Host, host))
    return receiver === undefined ? seen : pass(waiting, receiver, { event, state }, seen)
  }
  const showNext = Effect.uninterruptible(Effect.suspend(() => show(waiting.shift()!)))
  const lock = Semaphore.makeUnsafe(1)
  return lock.withPermit(
    Effect.whileLoop({ while: () => waiting.length > 0, body: () => showNext, step: () => {} })
  )
}
