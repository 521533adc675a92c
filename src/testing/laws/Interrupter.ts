/**
 * Interruptions at any operation of a program.
 *
 * @since 0.1.0
 */
import type * as Fiber from "effect/Fiber"
import * as Scheduler from "effect/Scheduler"

const atOnceBehindThis = (task: () => void) => {
  let isCancelled = false
  queueMicrotask(() => isCancelled || task())
  return () => {
    isCancelled = true
  }
}

/** Counts the operations of all fibers under it, and interrupts one of them at an operation. */
export class Interrupter extends Scheduler.MixedScheduler {
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
