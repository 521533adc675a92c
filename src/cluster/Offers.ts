/**
 * What is taken in only if nothing is under way in a conversation.
 *
 * 1. What is to begin waits here in memory, until the persisted request to continue it arrives. It is stored with the first entry of its
 *    run, after the guardrails, or not at all. Once it is stored, it is continued even if its runner dies: the request is persisted.
 * 2. A key that was taken before begins nothing.
 *
 * @since 0.1.0
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Semaphore from "effect/Semaphore"
import { pendingApprovals } from "../domain/Approval.ts"
import type { Activation, Live } from "./Activation.ts"
import type { Begun, Kind, View } from "./Beginning.ts"
import { ConversationBusy, ConversationError, NotBegun } from "./ConversationError.ts"
import type { Failure } from "./Held.ts"
import type { Messages } from "./Messages.ts"

interface Offer {
  readonly key: string
  readonly what: Kind
  readonly taken: Deferred.Deferred<number, ConversationError>
}

/** What is taken in by one conversation. `wake` sends the persisted request that continues a key. */
export class Offers {
  readonly #id: string
  readonly #activation: Activation
  readonly #messages: Messages
  readonly #wake: (key: string) => Effect.Effect<void, unknown>
  readonly #alone = Semaphore.makeUnsafe(1)
  #offer: Offer | undefined

  constructor(
    id: string,
    activation: Activation,
    messages: Messages,
    wake: (key: string) => Effect.Effect<void, unknown>
  ) {
    this.#id = id
    this.#activation = activation
    this.#messages = messages
    this.#wake = wake
  }

  /** Begins something, and returns once it is stored. */
  begin(key: string, what: Kind): Effect.Effect<Begun, ConversationError> {
    return this.#activation.with((live) =>
      Effect.gen({ self: this }, function*() {
        const put = yield* this.#alone.withPermit(this.#put(live, key, what))
        if ("cursor" in put) return put
        const { isNew, offer } = put
        if (isNew) {
          yield* this.#wake(key).pipe(
            Effect.orDie,
            Effect.onError((cause) => {
              this.#end(offer)
              return Deferred.failCause(offer.taken, cause)
            })
          )
        }
        return { cursor: yield* Deferred.await(offer.taken), isNew }
      })
    )
  }

  /** Offers something unless its key is known. What comes while another key is looked up waits until that is offered or refused. */
  #put(live: Live, key: string, what: Kind): Effect.Effect<Begun | { offer: Offer; isNew: boolean }, Failure> {
    return Effect.gen({ self: this }, function*() {
      if (this.#offer?.key === key) return { offer: this.#offer, isNew: false }
      const cursor = yield* this.#messages.cursorOf(key)
      if (cursor !== undefined) return { cursor, isNew: false }
      if (this.#isBusy(live)) {
        return yield* Effect.fail(new ConversationError({ reason: new ConversationBusy({ id: this.#id }) }))
      }
      const offer: Offer = { key, what, taken: Deferred.makeUnsafe() }
      this.#offer = offer
      return { offer, isNew: true }
    })
  }

  /** Runs what waits under a key, or continues it if it is in the log already. */
  continue(key: string): Effect.Effect<void, ConversationError> {
    return Effect.suspend(() => {
      const offer = this.#offer?.key === key ? this.#offer : undefined
      if (offer === undefined) return this.#messages.finish(key)
      let before: number | undefined
      const running = this.#messages.take(key, offer.what, (cursor, state) => {
        before = cursor
        // If other calls have to be answered first, nothing runs yet.
        if ("together" in offer.what && offer.what.together === true && pendingApprovals(state).length > 0) return
        this.#end(offer)
        Deferred.doneUnsafe(offer.taken, Exit.succeed(cursor))
      })
      return running.pipe(
        Effect.onExit((exit) => {
          this.#end(offer)
          if (Exit.isFailure(exit)) return Deferred.failCause(offer.taken, exit.cause)
          // One that is resumed though it has ended gets an answer without an event.
          const { cursor, status } = exit.value
          return before === undefined && status === "Cancelled"
            ? Deferred.fail(offer.taken, this.#notBegun)
            : Deferred.succeed(offer.taken, before ?? cursor)
        }),
        Effect.asVoid
      )
    })
  }

  /** Cancels what is under way, and returns once it has stopped. Returns whether there was anything. */
  stop(): Effect.Effect<boolean, ConversationError> {
    return this.#activation.with((live) => {
      const key = this.#offer?.key ?? this.#underWay(live)[0]
      return key === undefined ? Effect.succeed(false) : this.#stopped(key)
    })
  }

  /** Returns how the conversation stands. */
  get view(): Effect.Effect<View, ConversationError> {
    return this.#activation.with((live) =>
      Effect.sync(() => {
        const { events, state } = live.journal.kept
        return { state, cursor: events, isRunning: this.#isBusy(live) }
      })
    )
  }

  /** The messages that are under way: what runs, what waits here, and what has to be continued. */
  #underWay({ journal }: Live): ReadonlyArray<string> {
    return [this.#messages.running, this.#offer?.key, journal.kept.message].filter((key) => key !== undefined)
  }

  #isBusy(live: Live): boolean {
    return this.#underWay(live).length > 0
  }

  #end(offer: Offer): void {
    if (this.#offer === offer) this.#offer = undefined
  }

  get #notBegun(): ConversationError {
    return new ConversationError({ reason: new NotBegun({ id: this.#id, issue: "its key was cancelled" }) })
  }

  /** Waits until something holds, and meanwhile does something again and again. */
  #until(
    holds: (live: Live) => boolean,
    meanwhile: Effect.Effect<unknown, ConversationError> = Effect.void
  ): Effect.Effect<void, ConversationError> {
    const again = Effect.suspend(() => this.#until(holds, meanwhile))
    return Effect.flatMap(
      this.#activation.with((live) => Effect.sync(() => holds(live))),
      (isSo) => isSo ? Effect.void : Effect.andThen(meanwhile, Effect.delay(again, "5 millis"))
    )
  }

  /**
   * Stops a message. One that hasn't begun yet would leave nothing of what was said if its key were cancelled, so it begins first, and what
   * it waits for is cancelled. If what stands around its run holds it back, it is refused instead, and its key can be used again. The messages
   * behind it may be under way when it has ended.
   */
  #stopped(key: string): Effect.Effect<boolean, ConversationError> {
    const hasBegun = (live: Live) => this.#messages.running === key || live.journal.kept.message === key
    const waits = (live: Live) => this.#offer?.key === key && !hasBegun(live)
    const cancelAhead = this.#activation.with((live) => {
      const ahead = waits(live) ? this.#underWay(live).find((other) => other !== key) : undefined
      return ahead === undefined ? Effect.void : this.#messages.cancel(ahead)
    })
    const cancelIt = this.#activation.with((live) => {
      if (this.#offer?.key === key && this.#messages.withdraw(key)) return Effect.void
      return hasBegun(live) ? this.#messages.cancel(key) : Effect.void
    })
    return this.#until((live) => !waits(live), cancelAhead).pipe(
      Effect.andThen(cancelIt),
      Effect.andThen(this.#until((live) => !this.#underWay(live).includes(key))),
      Effect.as(true)
    )
  }
}
