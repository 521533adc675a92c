/**
 * Lets the sockets have their turn, however much there is to do: Node takes one new connection each time its loop comes round,
 * and a loop that first did all that waits would take seconds for that with hundreds of runs.
 */
import { Layer, Scheduler } from "effect"

/** How long fibers run before the sockets are looked at, in milliseconds. */
const slice = 2

const make = (): Scheduler.Scheduler => {
  const waiting = new Set<() => void>()
  let isPlanned = false

  const plan = (): void => {
    isPlanned = true
    setImmediate(() => {
      isPlanned = false
      const end = performance.now() + slice
      for (const task of waiting) {
        waiting.delete(task)
        task()
        if (performance.now() >= end) break
      }
      if (waiting.size > 0 && !isPlanned) plan()
    })
  }

  return new Scheduler.MixedScheduler("async", (task) => {
    const entry = () => task()
    waiting.add(entry)
    if (!isPlanned) plan()
    return () => void waiting.delete(entry)
  })
}

/** Schedules the fibers of a service. */
export const layer = Layer.sync(Scheduler.Scheduler, make)
