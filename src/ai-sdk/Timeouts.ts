/**
 * How long a provider may be silent.
 *
 * 1. Only time spent waiting for the provider counts towards `first` and `between`, so a slow reader doesn't reach them. All time counts
 *    towards `total`.
 * 2. A comment or a ping doesn't end a silence.
 *
 * @since 0.1.0
 */
import * as AiError from "effect/ai/AiError"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"

/**
 * Time limits of a request. `Infinity` means no limit. A request that takes longer is aborted, and fails with a `NetworkError`, which is
 * retryable.
 *
 * @category models
 * @since 0.1.0
 */
export interface Timeouts {
  /** How long to wait for the first part of a streamed answer; 5 minutes by default. */
  readonly first?: Duration.Input
  /** How long to wait for the next part of a streamed answer; 2 minutes by default. */
  readonly between?: Duration.Input
  /** How long the whole request may take, streamed or not; 15 minutes by default. */
  readonly total?: Duration.Input
}

/**
 * The time that a request has left: how many milliseconds of silence, and when it ends in any case.
 *
 * With the clock of the process, one timer watches over a whole request, because a time-out for each piece would cost more than the piece:
 * `isUp` ends the current wait once `dueAt` has come.
 */
export interface Patience {
  readonly clock: Clock.Clock
  readonly between: number
  readonly total: number
  readonly endsAt: number
  limit: number
  left: number
  dueAt: number
  isUp: (() => void) | undefined
  timer: { readonly id: ReturnType<typeof setTimeout>; readonly dueAt: number } | undefined
}

/** Limits in milliseconds. */
const limitsOf = ({ between = "2 minutes", first = "5 minutes", total = "15 minutes" }: Timeouts) => ({
  between: Duration.toMillis(between),
  first: Duration.toMillis(first),
  total: Duration.toMillis(total)
})

const defaults = limitsOf({})

/** Begins to wait for a provider. */
export const begin = (timeouts: Timeouts | undefined, clock: Clock.Clock): Patience => {
  const { between, first, total } = timeouts === undefined ? defaults : limitsOf(timeouts)
  return {
    clock,
    between,
    total,
    endsAt: clock.currentTimeMillisUnsafe() + total,
    limit: first,
    left: first,
    dueAt: Infinity,
    isUp: undefined,
    timer: undefined
  }
}

/** Notes that the provider sent something. */
export const heard = (self: Patience): void => {
  self.limit = self.left = self.between
}

/** Stops watching over a request that has ended. */
export const end = (self: Patience): void => {
  clearTimeout(self.timer?.id)
  self.timer = undefined
}

const expired = (description: string): AiError.NetworkError =>
  new AiError.NetworkError({ reason: "TransportError", method: "POST", url: "", description })

/** Returns the error of a limit that is reached. */
const reasonOf = ({ clock, endsAt, limit, total }: Patience): AiError.NetworkError =>
  clock.currentTimeMillisUnsafe() >= endsAt
    ? expired(`The answer took longer than ${Duration.format(Duration.millis(total))}`)
    : expired(`The provider said nothing for ${Duration.format(Duration.millis(limit))}`)

/** The longest time that a timer can be set to. */
const longest = 2 ** 31 - 1

/** Watches over the current wait. A timer that is set for an earlier time stays, because most waits are over long before it fires. */
const watch = (self: Patience): void => {
  const { clock, dueAt, timer } = self
  if (dueAt === Infinity || (timer !== undefined && timer.dueAt <= dueAt)) return
  end(self)
  const goOff = () => {
    self.timer = undefined
    if (self.isUp === undefined) return
    if (clock.currentTimeMillisUnsafe() >= self.dueAt) self.isUp()
    else watch(self)
  }
  const millis = Math.min(longest, Math.max(0, dueAt - clock.currentTimeMillisUnsafe()))
  self.timer = { id: setTimeout(goOff, millis), dueAt }
}

const ofProcess = Context.get(Context.empty(), Clock.Clock)

/** What is waited for: with `isWhole` the whole answer. `letGo` is called if the wait is given up. */
export interface Waiting {
  readonly isWhole?: boolean
  readonly letGo?: () => void
}

/** Waits for a provider's promise, within the request's limits. */
export const waitFor = <A>(
  self: Patience,
  run: () => PromiseLike<A>,
  { isWhole = false, letGo }: Waiting = {}
): Effect.Effect<A, AiError.NetworkError | Thrown> =>
  Effect.suspend(() => {
    const { clock, endsAt, left } = self
    const from = clock.currentTimeMillisUnsafe()
    const dueAt = isWhole ? endsAt : Math.min(from + left, endsAt)
    const isTimed = clock === ofProcess
    const arriving = Effect.callback<A, AiError.NetworkError | Thrown>((resume) => {
      const settle = () => {
        self.isUp = undefined
        self.left -= clock.currentTimeMillisUnsafe() - from
        if (isWhole) end(self)
      }
      const leave = () => {
        settle()
        letGo?.()
      }
      const fail = (error: unknown) => {
        settle()
        resume(Effect.fail({ _tag: "Thrown", error }))
      }
      try {
        Promise.resolve(run()).then((value) => {
          settle()
          resume(Effect.succeed(value))
        }, fail)
      } catch (error) {
        return fail(error)
      }
      if (isTimed) {
        self.dueAt = dueAt
        self.isUp = () => {
          leave()
          resume(Effect.fail(reasonOf(self)))
        }
        watch(self)
      }
      return Effect.sync(leave)
    })
    return isTimed || dueAt === Infinity ? arriving : Effect.timeoutOrElse(arriving, {
      duration: Math.max(0, dueAt - from),
      orElse: () => Effect.fail(reasonOf(self))
    })
  })

/** How many pieces are taken in a row before other fibers get their turn. */
const turn = 256

/**
 * Waits for one piece after the other, within the request's limits. Once `each` returns an effect for a piece, that effect runs, and its
 * result is returned.
 *
 * Pieces that have already arrived cost no turn of the runtime.
 */
export const waitForEach = <A, B, E>(
  self: Patience,
  next: () => PromiseLike<A>,
  each: (piece: A) => Effect.Effect<B, E> | undefined
): Effect.Effect<B, E | AiError.NetworkError | Thrown> => {
  const goOn: Effect.Effect<B, E | AiError.NetworkError | Thrown> = Effect.suspend(() =>
    self.clock === ofProcess
      ? Effect.flatten(timed(self, next, each, goOn))
      : Effect.flatMap(waitFor(self, next), (piece) => each(piece) ?? goOn)
  )
  return goOn
}

const timed = <A, B, E>(
  self: Patience,
  next: () => PromiseLike<A>,
  each: (piece: A) => Effect.Effect<B, E> | undefined,
  goOn: Effect.Effect<B, E | AiError.NetworkError | Thrown>
) =>
  Effect.callback<Effect.Effect<B, E | AiError.NetworkError | Thrown>>((resume) => {
    const { clock, endsAt } = self
    let left = turn
    let from = clock.currentTimeMillisUnsafe()
    let isOver = false
    const stop = (comesTo: Effect.Effect<B, E | AiError.NetworkError | Thrown>): void => {
      isOver = true
      self.isUp = undefined
      resume(Effect.succeed(comesTo))
    }
    const isUp = (): void => stop(Effect.fail(reasonOf(self)))
    const settle = (): void => {
      const now = clock.currentTimeMillisUnsafe()
      self.left -= now - from
      from = now
    }
    const fail = (error: unknown): void => {
      if (isOver) return
      settle()
      stop(Effect.fail({ _tag: "Thrown", error }))
    }
    const arrive = (piece: A): void => {
      if (isOver) return
      settle()
      let comesTo
      try {
        comesTo = each(piece)
      } catch (defect) {
        return stop(Effect.die(defect))
      }
      if (comesTo !== undefined) return stop(comesTo)
      if (--left === 0) return stop(Effect.andThen(Effect.yieldNow, goOn))
      wait()
    }
    const wait = (): void => {
      self.dueAt = Math.min(from + self.left, endsAt)
      try {
        Promise.resolve(next()).then(arrive, fail)
      } catch (error) {
        return fail(error)
      }
      watch(self)
    }
    self.isUp = isUp
    wait()
    return Effect.sync(() => {
      isOver = true
      self.isUp = undefined
    })
  })

/** The error that a provider threw, or that its promise was rejected with. */
export interface Thrown {
  readonly _tag: "Thrown"
  readonly error: unknown
}
