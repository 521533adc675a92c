/**
 * How long a provider may keep silent.
 *
 * 1. Only waiting for the provider counts towards `first` and `between`: whoever reads slowly loses nothing.
 * 2. What says nothing (a comment, a ping) ends no silence.
 *
 * @since 0.1.0
 */
import * as AiError from "effect/ai/AiError"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"

/**
 * Limits of a request's time. `Infinity` is no limit.
 *
 * **Details**
 *
 * - `first` is the time to the first part of a streamed answer: 5 minutes by default.
 * - `between` is the time between two parts of one: 2 minutes by default.
 * - `total` is the time that a request takes in all, also for an answer that comes whole: 15 minutes by default.
 *
 * @category models
 * @since 0.1.0
 */
export interface Timeouts {
  readonly first?: Duration.Input
  readonly between?: Duration.Input
  readonly total?: Duration.Input
}

/** A request's patience: how many milliseconds of silence are left, and when it ends in any case. */
export interface Patience {
  readonly between: number
  readonly total: number
  readonly endsAt: number
  limit: number
  left: number
}

/** Begins to wait for a provider. */
export const begin = (
  { between = "2 minutes", first = "5 minutes", total = "15 minutes" }: Timeouts = {},
  now: number
): Patience => {
  const limits = {
    first: Duration.toMillis(first),
    between: Duration.toMillis(between),
    total: Duration.toMillis(total)
  }
  return {
    between: limits.between,
    total: limits.total,
    endsAt: now + limits.total,
    limit: limits.first,
    left: limits.first
  }
}

/** Takes in that the provider said something. */
export const heard = (self: Patience): void => {
  self.limit = self.left = self.between
}

const expired = (description: string): AiError.NetworkError =>
  new AiError.NetworkError({ reason: "TransportError", method: "POST", url: "", description })

/** Why nobody waits on, once a limit is reached. */
const reasonOf = ({ endsAt, limit, total }: Patience, now: number): AiError.NetworkError =>
  now >= endsAt
    ? expired(`The answer took longer than ${Duration.format(Duration.millis(total))}`)
    : expired(`The provider said nothing for ${Duration.format(Duration.millis(limit))}`)

/** Waits for something of the provider, as long as patience lasts; `isWhole` if it is all of the answer. */
export const waitFor = <A, E, R>(
  self: Patience,
  effect: Effect.Effect<A, E, R>,
  isWhole = false
): Effect.Effect<A, E | AiError.NetworkError, R> =>
  Clock.clockWith((clock) => {
    const from = clock.currentTimeMillisUnsafe()
    const millis = Math.max(0, Math.min(isWhole ? Infinity : self.left, self.endsAt - from))
    const arriving = Effect.map(effect, (value) => {
      self.left -= clock.currentTimeMillisUnsafe() - from
      return value
    })
    return millis === Infinity ? arriving : Effect.timeoutOrElse(arriving, {
      duration: millis,
      orElse: () => Effect.fail(reasonOf(self, clock.currentTimeMillisUnsafe()))
    })
  })
