/**
 * A run as a stream of its events.
 *
 * The run goes on in a fiber of the stream's scope and waits when its reader is 256 events behind. A reader that leaves
 * interrupts it.
 *
 * @since 0.1.0
 */
import type * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Queue from "effect/Queue"
import * as Stream from "effect/Stream"
import type { AgentEvent } from "../domain/AgentEvent.ts"
import type { Definition } from "./Definition.ts"
import type { Receiver } from "./Delivery.ts"
import * as Run from "./Run.ts"

const capacity = 256

/** Runs an agent and streams what happens. */
export const make = (definition: Definition, from: Run.From): Stream.Stream<AgentEvent, unknown, unknown> =>
  Stream.unwrap(
    Effect.gen(function*() {
      const queue = yield* Queue.make<AgentEvent, unknown | Cause.Done>({ capacity })
      const receiver: Receiver = {
        take: (event) => Queue.offerUnsafe(queue, event),
        send: (events) => events.length === 1 ? Queue.offer(queue, events[0]!) : Queue.offerAll(queue, events)
      }
      yield* Run.run(definition, from, receiver, "Fail").pipe(
        Effect.onExit((exit) => Exit.isSuccess(exit) ? Queue.end(queue) : Queue.failCause(queue, exit.cause)),
        Effect.forkScoped
      )
      // Registered last, so it runs first: a run that is interrupted doesn't wait for a reader that has left.
      yield* Effect.addFinalizer(() => Queue.shutdown(queue))
      return Stream.fromQueue(queue)
    })
  )
