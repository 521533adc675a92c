/**
 * The queue of a run's events for the one reader of its stream.
 *
 * An event wakes a waiting reader directly. A queue of `effect` supports any number of readers and wakes them through a scheduler, which
 * costs more than everything else that a delta needs.
 *
 * @since 0.1.0
 */
import * as Arr from "effect/Array"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { AgentEvent } from "../../domain/AgentEvent.ts"
import type { Receiver } from "./Delivery.ts"

/** What a reader gets next: the events that wait, or how they ended. */
type Batch = Effect.Effect<Arr.NonEmptyReadonlyArray<AgentEvent>, unknown>

/**
 * The two sides of a stream of events.
 *
 * The run calls `offer` and `offerAll`, and `end` when it has ended. The reader calls `pull`, and `shutdown` when it stops reading: waiting
 * events are dropped then, and the run never waits again.
 */
export interface EventQueue extends Receiver {
  readonly end: (exit: Exit.Exit<unknown, unknown>) => Effect.Effect<void>
  readonly pull: Batch
  readonly shutdown: Effect.Effect<void>
}

/** Makes a queue with room for `capacity` events. */
export const make = (capacity: number): EventQueue => {
  let events: Array<AgentEvent> = []
  let ended: Effect.Effect<never, unknown> | undefined
  let hasLeft = false
  let wakeReader: ((batch: Batch) => void) | undefined
  const senders: Array<() => void> = []

  const next = (): Batch | undefined => {
    if (!Arr.isArrayNonEmpty(events)) return ended
    const batch = events
    events = []
    for (const send of senders.splice(0)) send()
    return Effect.succeed(batch)
  }
  const tellReader = (): void => {
    const wake = wakeReader
    const batch = wake === undefined ? undefined : next()
    if (wake === undefined || batch === undefined) return
    wakeReader = undefined
    wake(batch)
  }
  const offer = (event: AgentEvent): boolean => {
    if (hasLeft) return true
    if (events.length >= capacity) return false
    events.push(event)
    tellReader()
    return true
  }
  return {
    isStreaming: true,
    log: undefined,
    offer,
    offerAll: (batch) =>
      Effect.callback<void>((resume) => {
        let sent = 0
        const goOn = (): void => {
          while (sent < batch.length && offer(batch[sent]!.event)) sent++
          if (sent < batch.length) senders.push(goOn)
          else resume(Effect.void)
        }
        goOn()
      }),
    end: (exit) =>
      Effect.sync(() => {
        ended = Exit.isSuccess(exit) ? Cause.done() : Effect.failCause(exit.cause)
        tellReader()
      }),
    pull: Effect.callback((resume) => {
      const batch = next()
      if (batch !== undefined) return resume(batch)
      wakeReader = resume
      return Effect.sync(() => {
        wakeReader = undefined
      })
    }),
    shutdown: Effect.sync(() => {
      hasLeft = true
      events = []
      for (const send of senders.splice(0)) send()
    })
  }
}
