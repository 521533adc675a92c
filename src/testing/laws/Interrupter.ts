/**
 * Interrupts a program at any of its operations.
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

/**
 * Counts the operations of all fibers under it, and interrupts one of them at an operation.
 *
 * If it interrupts at none, `points` are the operations at which an interruption may have another effect than at the operation before. An
 * interruption of a fiber that can't be interrupted waits until it can be, so it has the same effect at all operations until then.
 */
class Interrupter extends Scheduler.MixedScheduler {
  ops = 0
  readonly points: Array<number> = []
  #wasOpen = true
  target: Fiber.Fiber<unknown, unknown> | undefined
  readonly at: number
  constructor(at: number) {
    super("async", atOnceBehindThis)
    this.at = at
  }
  override shouldYield(fiber: Fiber.Fiber<unknown, unknown>): boolean {
    if (++this.ops === this.at) this.target?.interruptUnsafe()
    if (this.at === 0) this.#notePoint()
    return super.shouldYield(fiber)
  }
  #notePoint(): void {
    // A fiber has this field, though its type doesn't.
    const isOpen = (this.target as { readonly interruptible?: boolean } | undefined)?.interruptible !== false
    if (isOpen || this.#wasOpen) this.points.push(this.ops)
    this.#wasOpen = isOpen
  }
}

/** Runs a program to its end, and interrupts it at operation `at`, or at none if that is 0. The scheduler has the number of operations. */
export const interruptAt = Effect.fnUntraced(function*<A, E, R>(self: Effect.Effect<A, E, R>, at: number) {
  const scheduler = new Interrupter(at)
  const fiber = yield* Effect.forkChild(Effect.provideService(self, Scheduler.Scheduler, scheduler))
  scheduler.target = fiber
  return { exit: yield* Fiber.await(fiber), scheduler }
})
