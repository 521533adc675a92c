/**
 * How long a provider may keep silent.
 *
 * 1. Only waiting for the provider counts towards `first` and `between`: a slow reader loses nothing.
 * 2. What says nothing (a comment, a ping) ends no silence.
 *
 * @since 0.1.0
 */
import * as AiError from "effect/ai/AiError"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
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

/**
 * A request's patience: how many milliseconds of silence are left, and when it ends in any case.
 *
 * By the clock of the process one timer watches over a request, since a time-out of its own for each piece would cost more than the piece:
 * `isUp` ends the wait that is under way once `dueAt` has come.
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

/** Takes in that the provider said something. */
export const heard = (self: Patience): void => {
  self.limit = self.left = self.between
}

/** Stops watching over a request, which has ended. */
export const end = (self: Patience): void => {
  clearTimeout(self.timer?.id)
  self.timer = undefined
}

const expired = (description: string): AiError.NetworkError =>
  new AiError.NetworkError({ reason: "TransportError", method: "POST", url: "", description })

/** Why nobody waits on, once a limit is reached. */
const reasonOf = ({ clock, endsAt, limit, total }: Patience): AiError.NetworkError =>
  clock.currentTimeMillisUnsafe() >= endsAt
    ? expired(`The answer took longer than ${Duration.format(Duration.millis(total))}`)
    : expired(`The provider said nothing for ${Duration.format(Duration.millis(limit))}`)

/** The longest time that a timer can be set to. */
const longest = 2 ** 31 - 1

/** Watches over the wait that is under way. A timer that is set for an earlier time stays: most waits are over long before it goes off. */
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

/** What is waited for: by `isWhole` it is all of the answer, and `letGo` is called if nobody waits on. */
export interface Waiting {
  readonly isWhole?: boolean
  readonly letGo?: () => void
}

/** Waits for what a provider promises, as long as patience lasts. */
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

/** Pieces that are taken one after the other before others get their turn. */
const turn = 256

/**
 * Waits for one piece after the other, as long as patience lasts, until `each` gives an effect of one: that is what it comes to.
 *
 * Pieces that nobody has to wait for cost no turn of the runtime.
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

/** What a provider threw, or what its promise was rejected with. */
export interface Thrown {
  readonly _tag: "Thrown"
  readonly error: unknown
}
