/**
 * What a run reads in the services of the fiber that it begins in.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import type * as Fiber from "effect/Fiber"
import * as Random from "effect/Random"
import { CurrentObservers, type Observer } from "./Observer.ts"
import { RecordContent } from "./RecordContent.ts"
import { Recorder } from "./SpanRecorder.ts"

/** What stands around a run: it is the same for all that begin with the same services. */
export class RunServices {
  readonly context: Context.Context<never>
  readonly clock: Clock.Clock
  readonly observers: ReadonlyArray<Observer>
  readonly recordsContent: boolean
  #recorder: Recorder | undefined = undefined
  constructor(fiber: Fiber.Fiber<unknown, unknown>) {
    this.context = fiber.context
    this.clock = fiber.getRef(Clock.Clock)
    this.observers = fiber.getRef(CurrentObservers)
    this.recordsContent = fiber.getRef(RecordContent)
  }
  /** What makes ids here. */
  get random(): typeof Random.Random.Service {
    return Context.get(this.context, Random.Random)
  }
  /** Gives what makes spans here, for a fiber that is here. */
  recorderFor(fiber: Fiber.Fiber<unknown, unknown>): Recorder {
    return this.#recorder ??= new Recorder(fiber)
  }
}
