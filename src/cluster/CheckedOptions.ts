/**
 * Numbers and durations in the options of conversations on a cluster, checked when those are given.
 *
 * @since 0.1.0
 */
import type * as Duration from "effect/Duration"
import { countOf, durationOf } from "../domain/InvalidLimit.ts"

interface Limited {
  readonly keepEvents?: number | undefined
  readonly maxIdleTime?: Duration.Input | undefined
}

/** Checks options, and leaves out a `keepEvents` of `Infinity`. Throws `InvalidLimit`. */
export const checked = <Options extends Limited>(options: Options): Options => {
  const { keepEvents, maxIdleTime } = options
  if (maxIdleTime !== undefined) durationOf("maxIdleTime", maxIdleTime, "from 0 on")
  const kept = keepEvents === undefined ? Infinity : countOf("keepEvents", keepEvents, 0)
  return { ...options, keepEvents: kept === Infinity ? undefined : kept }
}
