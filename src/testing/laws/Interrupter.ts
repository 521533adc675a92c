/**
 * Interruptions at any operation of a program.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Scheduler from "effect/Scheduler"

const atOnceBehindThis = (task: () => void) => {
  let isCancelled = false
  queueMicrotask(() => isCancelled || task())
  return () => {
    isCancelled = true
  }
}

/** Counts the operations of all fibers under it, and interrupts one of them at an operation. */
class Interrupter extends Scheduler.MixedScheduler {
  ops = 0
  target: Fiber.Fiber<unknown, unknown> | undefined
  readonly at: number
  constructor(at: number) {
    super("async", atOnceBehindThis)
    this.at = at
  }
  override shouldYield(fiber: Fiber.Fiber<unknown, unknown>): boolean {
    if (++this.ops === this.at) this.target?.interruptUnsafe()
    return super.shouldYield(fiber)
  }
}

/** Runs a program to its end, and interrupts it at an operation: at none where that is 0. The scheduler has counted operations. */
export const interruptAt = Effect.fnUntraced(function*<A, E, R>(self: Effect.Effect<A, E, R>, at: number) {
  const scheduler = new Interrupter(at)
  const fiber = yield* Effect.forkChild(Effect.provideService(self, Scheduler.Scheduler, scheduler))
  scheduler.target = fiber
  return { exit: yield* Fiber.await(fiber), scheduler }
})
