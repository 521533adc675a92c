/**
 * Lets the sockets have their turn, however much there is to do.
 *
 * 1. Fibers run for 2 ms at a time, and then the loop comes round. While connections come it is a tenth of that: Node takes one new
 *    connection each time the loop comes round, and hundreds may wait.
 * 2. A fiber yields after 256 operations, and not after 2,048 as by default: what a timer or a promise wakes runs at once, beside those 2 ms,
 *    and many may be woken in one round of the loop.
 */
import { Layer, Scheduler } from "effect"

/** How long fibers run before the sockets are looked at, in milliseconds. */
const slice = { usual: 2, whileConnectionsCome: 0.2 } as const

const maxOperations = 256

/** The fibers' turns: `connected` is called for each new connection. */
export interface Turns {
  readonly connected: () => void
  readonly layer: Layer.Layer<never>
}

/** Makes the turns of a service's fibers. */
export const make = (): Turns => {
  const waiting = new Set<() => void>()
  let isPlanned = false
  let isConnected = false

  const plan = (): void => {
    isPlanned = true
    setImmediate(() => {
      isPlanned = false
      const end = performance.now() + (isConnected ? slice.whileConnectionsCome : slice.usual)
      isConnected = false
      for (const task of waiting) {
        waiting.delete(task)
        task()
        if (performance.now() >= end) break
      }
      if (waiting.size > 0 && !isPlanned) plan()
    })
  }

  const schedule = (task: () => void) => {
    const entry = () => task()
    waiting.add(entry)
    if (!isPlanned) plan()
    return () => void waiting.delete(entry)
  }

  return {
    connected: () => {
      isConnected = true
    },
    layer: Layer.mergeAll(
      Layer.sync(Scheduler.Scheduler, () => new Scheduler.MixedScheduler("async", schedule)),
      Layer.succeed(Scheduler.MaxOpsBeforeYield, maxOperations)
    )
  }
}
