/**
 * The run of a plan as a stream of its events. A reader that leaves interrupts it.
 *
 * @since 0.1.0
 */
import type * as Cause from "effect/Cause"
import * as Channel from "effect/Channel"
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import * as Stream from "effect/Stream"
import type { PlanEvent } from "./PlanEvent.ts"

/** Runs something that emits events, and streams them. */
export const make = <E, R>(
  run: (emit: (event: PlanEvent) => void) => Effect.Effect<unknown, E, R>
): Stream.Stream<PlanEvent, E, R> =>
  // `Stream.callback` isn't used, because it would give the nodes its own scope instead of the caller's.
  Stream.fromChannel(
    Channel.fromTransform((_, scope) =>
      Effect.gen(function*() {
        const queue = yield* Queue.unbounded<PlanEvent, E | Cause.Done>()
        const running = run((event) => {
          Queue.offerUnsafe(queue, event)
        })
        yield* Effect.forkIn(Queue.into(running, queue), scope, { startImmediately: true })
        return Queue.takeAll(queue)
      })
    )
  )
