/**
 * The services that a run reads from the fiber that it begins in.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import type * as Fiber from "effect/Fiber"
import * as Random from "effect/Random"
import { RecordContent } from "../../model/RecordContent.ts"
import { CurrentObservers, type Observer } from "./Observer.ts"

/** The surroundings of a run, the same for all runs that begin with the same services. */
export class RunServices {
  readonly clock: Clock.Clock
  readonly observers: ReadonlyArray<Observer>
  readonly recordsContent: boolean
  /** Whether there are spans at all. */
  readonly hasSpans: boolean
  /** Whether the program's own tracer gets the spans. */
  readonly isTraced: boolean
  readonly random: typeof Random.Random.Service
  constructor(fiber: Fiber.Fiber<unknown, unknown>) {
    this.clock = fiber.getRef(Clock.Clock)
    this.observers = fiber.getRef(CurrentObservers)
    this.recordsContent = fiber.getRef(RecordContent)
    this.hasSpans = fiber.cache.tracerEnabled
    this.isTraced = this.hasSpans && fiber.cache.tracer !== undefined
    this.random = fiber.getRef(Random.Random)
  }
}
