/**
 * What a runner has of an entity: its log, for as long as the log is the runner's.
 *
 * A log that is lost, because another runner has claimed it or the store doesn't answer, is opened anew and its message handled again,
 * unless this runner is to leave: then the message is left for the next one. If a runner dies, the next one does just the same.
 *
 * A log in which nothing is stored is held only as long as it is used: a fork may begin it.
 *
 * @since 0.1.0
 */
import * as ClusterSchema from "effect/cluster/ClusterSchema"
import * as Deferred from "effect/Deferred"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Semaphore from "effect/Semaphore"
import { isSessionError, type SessionError } from "../agent/session/SessionError.ts"
import { ConversationError, ConversationUnreadable } from "./ConversationError.ts"

/** Which entity it is. `isLeaving` says whether its runner is to hand it over, and `patience` is the wait after a loss. */
export interface Options {
  readonly id: string
  readonly isLeaving: () => boolean
  readonly patience: Duration.Duration
}

/** What is open: its log can be closed, and then nothing more is stored. */
export interface Open {
  readonly journal: {
    readonly isClosed: boolean
    readonly isEmpty: boolean
    readonly close: () => void
    readonly end: Effect.Effect<void>
  }
}

/** Why a message can't be handled. A session's error means that the log is lost, unless the message or the stored state is at fault. */
export type Failure = SessionError | ConversationError

/** Interrupts a message so that it is left for the next owner of its entity. */
const abandon: Effect.Effect<never> = Effect.callback<never>(() => {
  const fiber = Fiber.getCurrent()!
  fiber.interruptUnsafe(fiber.id, ClusterSchema.Abandon.annotation)
})

/** Returns the error that the asker gets, or nothing if the log was lost. */
const errorOf = (id: string, error: Failure): ConversationError | undefined => {
  if (!isSessionError(error)) return error
  const { reason } = error
  switch (reason._tag) {
    case "ParametersRejected":
    case "ResultRejected":
      return new ConversationError({ reason })
    case "StoredStateUnreadable":
      return new ConversationError({ reason: new ConversationUnreadable({ id, issue: reason.issue }) })
    default:
      return undefined
  }
}

/** What a runner has of an entity. */
export class Held<Live extends Open> {
  readonly #options: Options
  readonly #opening: Effect.Effect<Live, Failure>
  readonly #closing: (live: Live) => Effect.Effect<void>
  readonly #alone = Semaphore.makeUnsafe(1)
  #live: Live | undefined
  #users = 0
  #removed = Deferred.makeUnsafe<void>()

  constructor(options: Options, opening: Effect.Effect<Live, Failure>, closing: (live: Live) => Effect.Effect<void>) {
    this.#options = options
    this.#opening = opening
    this.#closing = closing
  }

  /** What is open now, if anything is. */
  get live(): Live | undefined {
    return this.#live
  }

  /** Does something with the log, and does it again each time the log is lost. */
  with<A>(f: (live: Live) => Effect.Effect<A, Failure>): Effect.Effect<A, ConversationError> {
    return Effect.catch(this.#using(Effect.flatMap(this.#open(), f)), (error) => {
      const { id, isLeaving, patience } = this.#options
      const told = errorOf(id, error)
      if (told !== undefined) return Effect.fail(told)
      if (isLeaving()) return abandon
      return Effect.delay(this.with(f), patience)
    })
  }

  /** Lets go of the log. Nothing that runs in it is kept any more. */
  close(): Effect.Effect<void> {
    return Effect.suspend(() => {
      const live = this.#live
      this.#live = undefined
      live?.journal.close()
      return live === undefined ? Effect.void : this.#closing(live)
    })
  }

  /** Lets go of a log in which nothing runs, and first stores its state if that is due. */
  end(): Effect.Effect<void> {
    return Effect.andThen(Effect.suspend(() => this.#live?.journal.end ?? Effect.void), this.close())
  }

  /** Removes what is kept by running `f`, which also has to let go of the log. Readers of events end then. */
  removeBy(f: (live: Live) => Effect.Effect<void, Failure>): Effect.Effect<void, ConversationError> {
    return Effect.tap(this.with(f), () => {
      const removed = this.#removed
      this.#removed = Deferred.makeUnsafe()
      return Deferred.succeed(removed, undefined)
    })
  }

  /** Ends when what is kept is removed. */
  get removed(): Effect.Effect<void> {
    return Effect.suspend(() => Deferred.await(this.#removed))
  }

  /** Does something with the log, and lets go of one that is empty when nobody else does anything with it. */
  #using<A, E>(self: Effect.Effect<A, E>): Effect.Effect<A, E> {
    const leaving = Effect.suspend(() =>
      --this.#users === 0 && this.#live?.journal.isEmpty === true ? this.close() : Effect.void
    )
    return Effect.acquireUseRelease(Effect.sync(() => void this.#users++), () => self, () => leaving)
  }

  #open(): Effect.Effect<Live, Failure> {
    const opening = Effect.suspend(() => {
      if (this.#live !== undefined && !this.#live.journal.isClosed) return Effect.succeed(this.#live)
      const opened = Effect.map(this.#opening, (live) => this.#live = live)
      return Effect.andThen(this.close(), opened)
    })
    return this.#alone.withPermit(Effect.uninterruptible(opening))
  }
}
