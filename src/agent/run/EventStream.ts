/**
 * A run as a stream of its events.
 *
 * The run continues in a fiber of the stream's scope. It pauses while its reader is 256 events behind, and is interrupted if the reader
 * leaves.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { AgentEvent } from "../../domain/AgentEvent.ts"
import type { Roster } from "../definition/AgentDefinition.ts"
import * as EventQueue from "../journal/EventQueue.ts"
import * as Run from "./Run.ts"
import type { From } from "./RunStart.ts"

const capacity = 256

/** Runs what a roster describes and streams its events. */
export const make = (roster: Roster, from: From): Stream.Stream<AgentEvent, unknown, unknown> =>
  Stream.unwrap(
    Effect.gen(function*() {
      const queue = EventQueue.make(capacity)
      yield* Run.run(roster, from, queue, "Fail").pipe(Effect.onExit(queue.end), Effect.forkScoped)
      // This finalizer is registered last, so it runs first: an interrupted run doesn't wait for a reader that has left.
      yield* Effect.addFinalizer(() => queue.shutdown)
      return Stream.fromPull(Effect.succeed(queue.pull))
    })
  )
