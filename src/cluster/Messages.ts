/**
 * The handlers of a conversation's messages.
 *
 * A message is taken once: its key is stored with its input. A message that arrives again continues where it stopped, or gets the stored
 * answer. If an earlier message is unfinished because its runner died, that one is finished first.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import { identity } from "effect/Function"
import type * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { failureOf } from "../agent/journal/Failure.ts"
import * as Observer from "../agent/journal/Observer.ts"
import type * as Session from "../agent/Session.ts"
import { isSessionError } from "../agent/session/SessionError.ts"
import type { AgentEvent } from "../domain/AgentEvent.ts"
import { NotAwaitingApproval, pendingApprovals } from "../domain/Approval.ts"
import { NotAwaitingResult } from "../domain/DeferredResult.ts"
import type { AgentState } from "../domain/StateSchema.ts"
import type { Activation, Live } from "./Activation.ts"
import { type Answer, fromText, type RunFailure } from "./Answer.ts"
import type { Kind } from "./Beginning.ts"
import { ConversationError, ConversationExists, NotBegun } from "./ConversationError.ts"
import type { Failure } from "./Held.ts"
import * as Journal from "./Journal.ts"
import * as Kept from "./Kept.ts"
import { unavailable, unreadable } from "./LogWriter.ts"
import * as Protocol from "./Protocol.ts"
import type { ConversationStoreError, Service, Taken } from "./store/Stored.ts"

/** An operation of a session that runs the agent. */
type Running = Stream.Stream<AgentEvent, unknown>

/** Begins the operation of a message, and returns what runs then. */
type Begin = (session: Session.Session<unknown, unknown>) => Effect.Effect<Running, Failure>

/** Wraps each run of a conversation: takes the run, and returns the Effect that runs in its place. */
export type Around = <A, E, R>(run: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

interface Run {
  readonly key: string
  readonly fiber: Fiber.Fiber<unknown, unknown>
  readonly isAnswered: () => boolean
  /** Ends a run that `around` holds back, and returns whether it did. */
  readonly withdraw: () => boolean
}

/** Returns the error of a run that failed and stored no answer, or `undefined` if it didn't fail. */
const notBegun = (exit: Exit.Exit<unknown, unknown>): RunFailure | undefined =>
  Exit.isSuccess(exit) || Cause.hasInterruptsOnly(exit.cause)
    ? undefined
    : failureOf(Cause.map(exit.cause, (error) => isSessionError(error) ? error.reason : error))

/** Checks whether a stored answer says that its message was cancelled in this entry, and doesn't say that it had begun. */
const isCancelledIn = ({ lastEvent }: Taken, text: string | undefined): boolean => {
  if (text === undefined) return false
  const { answer, hasBegun } = fromText(text)
  return answer.status === "Cancelled" && answer.cursor === lastEvent && !hasBegun
}

const refused = (error: NotAwaitingApproval | NotAwaitingResult | Session.SessionError): Failure =>
  error instanceof NotAwaitingApproval || error instanceof NotAwaitingResult
    ? new ConversationError({ reason: error })
    : error

/** Returns what runs after an approval or a denial. With `together`, nothing runs while other calls await approval. */
const answered = (session: Session.Session<unknown, unknown>, together = false): Effect.Effect<Running> =>
  Effect.map(
    session.state,
    (state) => together && pendingApprovals(state).length > 0 ? Stream.empty : session.stream()
  )

/** Begins something, and returns what runs then. */
const beginOf = (what: Kind): Begin => (session) => {
  switch (what._tag) {
    case "Say":
      return Effect.succeed(session.stream(what.input))
    case "Approve":
      return Effect.andThen(
        Effect.mapError(session.approve(what.callId, { params: what.params }), refused),
        answered(session, what.together)
      )
    case "Deny":
      return Effect.andThen(
        Effect.mapError(session.deny(what.callId, what.reason), refused),
        answered(session, what.together)
      )
    case "Resume":
      return Effect.succeed(session.stream())
  }
}

/** The handlers of the messages of a conversation that a runner has. */
export class Messages {
  readonly #activation: Activation
  readonly #store: Service
  readonly #id: string
  readonly #around: Around
  #running: Run | undefined

  constructor(activation: Activation, store: Service, id: string, around: Around = identity) {
    this.#around = around
    this.#activation = activation
    this.#store = store
    this.#id = id
  }

  /** The message whose run is under way and isn't answered yet. */
  get running(): string | undefined {
    return this.#running?.isAnswered() === false ? this.#running.key : undefined
  }

  /**
   * Returns the number of the last event before a message that was taken. If the message's events were removed since, returns a number
   * after which reading fails with `EventsGone`. Returns `undefined` for a message that wasn't taken, or was cancelled before it began.
   */
  cursorOf(key: string): Effect.Effect<number | undefined, Session.SessionError> {
    return Effect.flatMap(this.#reading(this.#store.find(this.#id, key)), ({ answer, taken }) => {
      if (taken === undefined) return Effect.succeed(undefined)
      const isCancelled = isCancelledIn(taken, answer)
      if (taken.text === "") return Effect.succeed(isCancelled ? undefined : Math.max(0, taken.lastEvent - 1))
      return Effect.mapBoth(Effect.fromResult(Kept.entryFromText(taken.text)), {
        onSuccess: ({ events }) => events.length === 0 && isCancelled ? undefined : taken.lastEvent - events.length,
        onFailure: unreadable(this.#id)
      })
    })
  }

  /** Takes in something that is begun, and returns the conversation's status when its run has ended. */
  take(key: string, what: Kind, onTaken: Journal.OnTaken): Effect.Effect<Answer, ConversationError> {
    return this.#take(key, beginOf(what), onTaken)
  }

  /** Continues a message if it was taken and isn't answered. */
  finish(key: string): Effect.Effect<void, ConversationError> {
    return this.#activation.with((live) =>
      live.journal.kept.message === key ? Effect.asVoid(this.#finish(live, key)) : Effect.void
    )
  }

  /** Says something, and returns the conversation's status when its run has ended. */
  say(key: string, input: Schema.Json): Effect.Effect<Answer, ConversationError> {
    return this.#take(key, (session) => beginOf({ _tag: "Say", input: Protocol.inputFromJson(input) })(session))
  }

  /** Approves a call, and continues the run. */
  approve(key: string, callId: string, params: Schema.Json | undefined): Effect.Effect<Answer, ConversationError> {
    return this.#take(key, beginOf({ _tag: "Approve", callId, ...(params === undefined ? undefined : { params }) }))
  }

  /** Denies a call, and continues the run. */
  deny(key: string, callId: string, reason: string): Effect.Effect<Answer, ConversationError> {
    return this.#take(key, beginOf({ _tag: "Deny", callId, reason }))
  }

  /** Gives a call its result, or says that it failed, and continues the run. */
  giveResult(
    key: string,
    callId: string,
    result: Schema.Json,
    failed: boolean
  ): Effect.Effect<Answer, ConversationError> {
    return this.#take(key, (session) => {
      const given = failed ? session.giveFailure(callId, String(result)) : session.giveResult(callId, result)
      return Effect.as(Effect.mapError(given, refused), session.stream())
    })
  }

  /** Continues where the conversation stopped; a failed run is reopened first. */
  resume(key: string): Effect.Effect<Answer, ConversationError> {
    return this.#take(key, beginOf({ _tag: "Resume" }))
  }

  /** Cancels a message permanently, and stops its run. Returns `false` if it was too late. */
  cancel(key: string): Effect.Effect<boolean, ConversationError> {
    return this.#activation.with((live) =>
      Effect.gen({ self: this }, function*() {
        const { journal } = live
        const { answer } = yield* this.#find(key)
        if (answer !== undefined) return answer.status === "Cancelled"
        if (!journal.kept.cancelled.has(key)) yield* journal.cancel(key)
        if (this.#running?.key === key) yield* Fiber.interrupt(this.#running.fiber)
        // The run may have ended while the first look was under way.
        const { answer: last } = yield* this.#find(key)
        return last === undefined || last.status === "Cancelled"
      })
    )
  }

  /** Ends the run of a message if `around` holds it back: nothing is stored of the message then. Returns whether it did. */
  withdraw(key: string): boolean {
    return this.#running?.key === key && this.#running.withdraw()
  }

  /** Returns the stored state. */
  get state(): Effect.Effect<AgentState, ConversationError> {
    return this.#activation.with(({ journal }) => Effect.sync(() => journal.kept.state))
  }

  /** Begins another conversation with the state of this one. */
  fork(key: string, to: string, toId: string): Effect.Effect<void, ConversationError> {
    return this.#activation.with(({ journal }) =>
      Effect.gen({ self: this }, function*() {
        const text = Kept.entryToText({ events: [], state: journal.kept.state })
        const isNew = yield* this.#reading(this.#store.create(toId, `${this.#id}/${key}`, text))
        if (!isNew) return yield* Effect.fail(new ConversationError({ reason: new ConversationExists({ id: to }) }))
      })
    )
  }

  /** Handles a message. */
  #take(key: string, begin: Begin, onTaken?: Journal.OnTaken): Effect.Effect<Answer, ConversationError> {
    return this.#activation.with((live) =>
      Effect.gen({ self: this }, function*() {
        const { journal } = live
        const { answer } = yield* this.#find(key)
        if (answer !== undefined) return answer
        const unfinished = journal.kept.message
        if (unfinished !== undefined) {
          const finished = yield* this.#finish(live, unfinished)
          if (unfinished === key) return finished
        }
        if (journal.kept.cancelled.has(key)) return yield* journal.answer(key)
        const isOffered = onTaken !== undefined
        return yield* this.#opened(live, key, isOffered, (session) => {
          journal.takeNext(key, onTaken)
          const beginning = Effect.onError(
            Effect.suspend(() => begin(session)),
            () => Effect.sync(() => journal.takeNext(undefined))
          )
          return Effect.flatMap(beginning, (running) => this.#run(live, key, isOffered, running))
        })
      })
    )
  }

  /** Continues a message that was taken. */
  #finish(live: Live, key: string): Effect.Effect<Answer, Failure> {
    return live.journal.kept.cancelled.has(key)
      ? live.journal.answer(key)
      : this.#opened(live, key, false, (session) => this.#run(live, key, false, session.stream()))
  }

  /**
   * Does something with the session. If that or opening it ends in a defect, such as that of an input that can't be read, the message is
   * answered with it: otherwise the cluster would handle the message again and again.
   */
  #opened(
    live: Live,
    key: string,
    isOffered: boolean,
    f: (session: Session.Session<unknown, unknown>) => Effect.Effect<Answer, Failure>
  ): Effect.Effect<Answer, Failure> {
    return Effect.catchCauseIf(
      Effect.flatMap(this.#activation.session(live), f),
      (cause) => Cause.hasDies(cause) && !Cause.hasInterrupts(cause),
      (cause) =>
        Effect.andThen(
          Effect.logError("A message to a conversation can't be handled", cause),
          this.#unanswered(live, key, isOffered, Exit.failCause(cause))
        )
    )
  }

  /** Runs something under a key, so that it can be cancelled. If the message itself is interrupted, the next owner handles it. */
  #run(live: Live, key: string, isOffered: boolean, running: Running): Effect.Effect<Answer, Failure> {
    const { journal } = live
    let hasEntered = false
    let isWithdrawn = false
    // An observer sees a piece before anything behind it is stored.
    const told = Observer.observe(Stream.runDrain(running), (event) =>
      Effect.sync(() => {
        if (Journal.isPiece(event)) journal.tellPiece(event)
      }))
    const entering = Effect.suspend(() => {
      hasEntered = true
      return told
    })
    const ending = Effect.uninterruptibleMask((restore) =>
      Effect.gen({ self: this }, function*() {
        // The run may not be interrupted by its parent before the journal is closed.
        const fiber = yield* Effect.forkChild(Effect.suspend(() => this.#around(entering)), { startImmediately: true })
        this.#running = {
          key,
          fiber,
          isAnswered: () => journal.answered?.key === key,
          withdraw: () => {
            if (hasEntered) return false
            isWithdrawn = true
            fiber.interruptUnsafe()
            return true
          }
        }
        const cancelling = journal.kept.cancelled.has(key) ? Fiber.interrupt(fiber) : Effect.void
        const exit = yield* Effect.onInterrupt(
          restore(Effect.andThen(cancelling, Fiber.await(fiber))),
          () => {
            journal.close()
            return Fiber.interrupt(fiber)
          }
        )
        this.#running = undefined
        journal.takeNext(undefined)
        return exit
      })
    )
    return Effect.flatMap(ending, (exit) =>
      journal.answered?.key === key
        ? Effect.succeed(journal.answered.answer)
        : this.#unanswered(live, key, isOffered, exit, isWithdrawn))
  }

  /**
   * Answers a message whose run stored no answer. What was only offered stays out of the log, and its key can be used again, unless it was
   * cancelled.
   */
  #unanswered(
    { journal }: Live,
    key: string,
    isOffered: boolean,
    exit: Exit.Exit<unknown, unknown>,
    isWithdrawn = false
  ): Effect.Effect<Answer, Failure> {
    const error = notBegun(exit)
    const { cancelled, message } = journal.kept
    if (!isOffered || Exit.isSuccess(exit) || journal.isClosed || message === key || cancelled.has(key)) {
      return journal.answer(key, error)
    }
    const issue = isWithdrawn ? "it was stopped before it was stored" : error?.message ?? "its run was interrupted"
    return Effect.fail(new ConversationError({ reason: new NotBegun({ id: this.#id, issue }) }))
  }

  #find(key: string) {
    return Effect.map(this.#reading(this.#store.find(this.#id, key)), ({ answer }) => ({
      answer: answer === undefined ? undefined : fromText(answer).answer
    }))
  }

  #reading<A>(self: Effect.Effect<A, ConversationStoreError>): Effect.Effect<A, Session.SessionError> {
    return Effect.mapError(self, unavailable(this.#id, "read"))
  }
}
