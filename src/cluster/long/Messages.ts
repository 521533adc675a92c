/**
 * How the messages of a long run on a cluster are taken and answered.
 *
 * 1. A message is taken once for each key. One that comes again continues where it stopped, or gets the answer that was kept.
 * 2. An approval or a result goes to the conversation of the agent whose call it is, and is taken once that conversation has answered it.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import type * as PubSub from "effect/PubSub"
import * as Result from "effect/Result"
import type * as Schema from "effect/Schema"
import { ResultRejected, SessionClosed, SessionError } from "../../agent/session/SessionError.ts"
import { NotAwaitingApproval, pendingApprovals } from "../../domain/Approval.ts"
import { NotAwaitingResult, pendingResults } from "../../domain/DeferredResult.ts"
import { messageOf } from "../../domain/Described.ts"
import { type Answer, fromText } from "../Answer.ts"
import { ConversationError, ForkUnfinished } from "../ConversationError.ts"
import type * as EventStream from "../EventStream.ts"
import * as Held from "../Held.ts"
import type { Told } from "../Journal.ts"
import { unavailable } from "../LogWriter.ts"
import { Within } from "../Within.ts"
import { persist } from "./Asking.ts"
import * as Fork from "./Fork.ts"
import { callIn, callsIn, type Child, type LongRun, type Outcome, type Place } from "./LongRun.ts"
import * as StepLog from "./StepLog.ts"
import * as Steps from "./Steps.ts"

/** A long run that is open. */
interface Live<State, Step> {
  readonly journal: StepLog.StepLog<State, Step>
}

/** Where a long run is held, and how its agents' conversations are reached. */
export interface Options extends Held.Options, Fork.Options {}

/** How often an owner looks whether it is to leave. */
const look = Duration.millis(500)

const defect = (message: string): Outcome => ({
  status: "Failed",
  text: "",
  pending: [],
  error: { tag: "Defect", message, agent: "", step: 0 }
})

const cancelled: Outcome = { status: "Cancelled", text: "", pending: [] }

/** The messages of a long run that a runner has. */
export class Messages<State, Step> {
  readonly told: PubSub.PubSub<Told<Step>>
  readonly #long: LongRun<State, Step>
  readonly #options: Options
  readonly #held: Held.Held<Live<State, Step>>
  #running: { readonly key: string; readonly fiber: Fiber.Fiber<unknown, unknown> } | undefined

  constructor(long: LongRun<State, Step>, options: Options, told: PubSub.PubSub<Told<Step>>) {
    const opening = Effect.map(StepLog.open(long.kind, { ...options, told }), (journal) => ({ journal }))
    this.#long = long
    this.#options = options
    this.#held = new Held.Held(options, opening, () => Effect.void)
    this.told = told
  }

  /** Says something, and returns how the long run stands when it ends, fails or waits. */
  say(key: string, input: Schema.Json): Effect.Effect<Answer, ConversationError> {
    return this.#take(key, () => Effect.succeed({ steps: [this.#long.said(input)] }))
  }

  /** Continues where it stopped, also after a failure. Effects of a plan whose end is unknown are started again. */
  resume(key: string): Effect.Effect<Answer, ConversationError> {
    return this.#take(key, () => Effect.succeed({ steps: [this.#long.resumed] }))
  }

  /** Answers a call that awaits approval or a result, in the conversation of its agent, and continues. */
  decide(
    key: string,
    callId: string,
    send: (child: Child, callId: string, options: { readonly key: string }) => ReturnType<Child["approve"]>,
    Refusal: typeof NotAwaitingApproval | typeof NotAwaitingResult = NotAwaitingApproval
  ): Effect.Effect<Answer, ConversationError> {
    return this.#take(key, (state) => {
      // An agent that isn't there any more can't be asked: the play says which one.
      if (this.#long.isMismatched(state)) return Effect.succeed({ steps: [], unknown: [] })
      const places = this.#long.waiting(state)
      const place = places.find((place) => callId.startsWith(callIn(place, "")))
      if (place === undefined) {
        const waiting = Refusal === NotAwaitingApproval ? pendingApprovals : pendingResults
        // If a conversation can't be read, its calls aren't listed: the call with this id isn't there either way.
        const awaiting = Effect.forEach(places, (place) =>
          persist(this.#child(place).state).pipe(
            Effect.map((state) => waiting(state).map(({ callId }) => callIn(place, callId))),
            Effect.orElseSucceed((): ReadonlyArray<string> => [])
          ))
        return Effect.flatMap(awaiting, (ids) =>
          Effect.fail(
            new ConversationError({ reason: new Refusal({ callId, found: "Unknown", awaiting: ids.flat() }) })
          ))
      }
      const ownId = callId.slice(callIn(place, "").length)
      return persist(send(this.#child(place), ownId, { key: `decide/${key}` })).pipe(
        Effect.map(({ error, unknown }) => ({
          steps: [this.#long.decided({ place: place.place, message: key, error })],
          unknown: callsIn(place, unknown)
        })),
        Effect.mapError((error) => inPlace(place, error))
      )
    })
  }

  /** Cancels a message for good, and stops what runs for it. Returns `false` if it was too late. */
  cancel(key: string): Effect.Effect<boolean, ConversationError> {
    return this.#with(({ journal }) =>
      Effect.gen({ self: this }, function*() {
        const answer = yield* this.#answerOf(key)
        if (answer !== undefined) return answer.status === "Cancelled"
        if (!journal.kept.cancelled.includes(key)) yield* journal.append({ steps: [], cancelled: key })
        if (this.#running?.key === key) yield* Fiber.interrupt(this.#running.fiber)
        // What ran may have ended while the first look was under way.
        const last = yield* this.#answerOf(key)
        return last === undefined || last.status === "Cancelled"
      })
    )
  }

  /** Begins another long run with the state of this one, and its agents' conversations with theirs. */
  fork(key: string, target: Fork.Target): Effect.Effect<void, ConversationError> {
    return this.#with(({ journal }) =>
      Fork.make(this.#long, this.#options, this.told, { ...target, key, state: journal.kept.state })
    )
  }

  /** Removes all that is kept of the long run, and the conversations of its agents. */
  get remove(): Effect.Effect<void, ConversationError> {
    const { id, store } = this.#options
    return this.#held.removeBy(({ journal }) =>
      Effect.forEach(this.#long.conversations(journal.kept.state), (place) => persist(this.#child(place).remove), {
        discard: true
      }).pipe(
        Effect.andThen(this.#held.close()),
        Effect.andThen(Effect.mapError(store.remove(id), unavailable(id, "remove")))
      )
    )
  }

  /** Returns what is shown of the state. */
  get state(): Effect.Effect<Schema.Json, ConversationError> {
    return this.#with(({ journal }) => persist(this.#long.show(journal.kept.state, (place) => this.#child(place))))
  }

  /** Where its steps come from, for readers. */
  get source(): EventStream.Source<Step> {
    const { id, store } = this.#options
    return {
      id,
      store,
      told: this.told,
      eventsOf: (text) => Result.map(Steps.entryFromText(this.#long.kind, text), ({ steps }) => steps),
      count: this.#with(({ journal }) => Effect.sync(() => journal.kept.steps))
    }
  }

  /** Ends when the long run is removed. */
  get removed(): Effect.Effect<void> {
    return this.#held.removed
  }

  /** Lets go of the long run. */
  get end(): Effect.Effect<void> {
    return this.#held.end()
  }

  #child(place: Place): Child {
    return this.#options.childOf(this.#options.entityId, place)
  }

  /** Does something with the log, unless a fork into it isn't done yet. */
  #with<A>(f: (live: Live<State, Step>) => Effect.Effect<A, Held.Failure>): Effect.Effect<A, ConversationError> {
    return this.#held.with((live) => {
      const { forkOf: from } = live.journal.kept
      if (from === undefined) return f(live)
      // Who forks it says in the log when that is done, so the log is to be read anew then.
      const reason = new ForkUnfinished({ id: this.#options.id, from })
      return Effect.andThen(this.#held.close(), Effect.fail(new ConversationError({ reason })))
    })
  }

  /** Handles a message, which begins with a step. */
  #take(
    key: string,
    begin: (state: State) => Effect.Effect<Pick<Steps.Entry<State, Step>, "steps" | "unknown">, Held.Failure>
  ): Effect.Effect<Answer, ConversationError> {
    return this.#with((live) =>
      Effect.gen({ self: this }, function*() {
        const { journal } = live
        const answer = yield* this.#answerOf(key)
        if (answer !== undefined) return answer
        const unfinished = journal.kept.message
        if (unfinished !== undefined) {
          const finished = yield* this.#run(live, unfinished)
          if (unfinished === key) return finished
        }
        if (!journal.kept.cancelled.includes(key)) {
          yield* journal.append({ ...(yield* begin(journal.kept.state)), taken: key })
        }
        return yield* this.#run(live, key)
      })
    )
  }

  /** Plays until the message is answered. If it is interrupted, it is left for the next owner. */
  #run({ journal }: Live<State, Step>, key: string): Effect.Effect<Answer, Held.Failure> {
    const isCancelled = () => journal.kept.cancelled.includes(key)
    return Effect.gen({ self: this }, function*() {
      if (isCancelled()) return yield* this.#answer(journal, key, cancelled)
      const playing = this.#long.play({
        state: journal.kept.state,
        message: key,
        keep: (steps, unknown) => journal.keep(steps, unknown),
        isClosed: () => journal.isClosed,
        child: (place) => this.#child(place)
      }).pipe(Effect.provideService(Within, this.#options.id))
      const exit = yield* Effect.uninterruptibleMask((restore) =>
        Effect.gen({ self: this }, function*() {
          // What plays may not be interrupted by its parent before the journal is closed.
          const fiber = yield* Effect.forkChild(playing, { startImmediately: true })
          this.#running = { key, fiber }
          const cancelling = isCancelled() ? Fiber.interrupt(fiber) : Effect.void
          const leaving = Effect.andThen(this.#leaving(journal), this.#giveUp(journal, fiber))
          return yield* restore(Effect.andThen(cancelling, Effect.raceFirst(Fiber.await(fiber), leaving))).pipe(
            Effect.onInterrupt(() => this.#giveUp(journal, fiber))
          )
        })
      )
      this.#running = undefined
      if (Exit.isSuccess(exit)) return yield* this.#answer(journal, key, exit.value)
      if (journal.isClosed) return yield* closed(this.#options.id)
      return yield* this.#answer(journal, key, defect(messageOf(Cause.squash(exit.cause))))
    })
  }

  /** Stops what runs so that nothing of that is kept, as if the process had died. */
  #giveUp(
    journal: StepLog.StepLog<State, Step>,
    fiber: Fiber.Fiber<Outcome, unknown>
  ): Effect.Effect<Exit.Exit<Outcome, unknown>> {
    return Effect.suspend(() => {
      journal.close()
      return Effect.andThen(Fiber.interrupt(fiber), Fiber.await(fiber))
    })
  }

  /** Ends when the owner is to leave and nothing runs whose end would then be unknown. */
  #leaving(journal: StepLog.StepLog<State, Step>): Effect.Effect<void> {
    return Effect.suspend(() =>
      this.#options.isLeaving() && this.#long.unknown(journal.kept.state).length === 0
        ? Effect.void
        : Effect.delay(this.#leaving(journal), look)
    )
  }

  #answer(
    journal: StepLog.StepLog<State, Step>,
    key: string,
    outcome: Outcome
  ): Effect.Effect<Answer, SessionError> {
    return journal.answer(key, (kept) => {
      const calls = kept.message === key ? kept.unknown : []
      const unknown = [...calls, ...this.#long.unknown(kept.state)]
      const ended = kept.cancelled.includes(key) ? cancelled : outcome
      return { ...ended, unknown, cursor: kept.steps }
    })
  }

  #answerOf(key: string): Effect.Effect<Answer | undefined, SessionError> {
    const { id, store } = this.#options
    return Effect.mapBoth(store.find(id, key), {
      onFailure: unavailable(id, "read"),
      onSuccess: ({ answer }) => answer === undefined ? undefined : fromText(answer).answer
    })
  }
}

const closed = (id: string): Effect.Effect<never, SessionError> =>
  Effect.fail(new SessionError({ reason: new SessionClosed({ agent: id, operation: "run" }) }))

/** Names the calls of an error by the place of their agent. */
const inPlace = (place: Place, error: ConversationError): ConversationError => {
  const { reason } = error
  const named = (callId: string) => callIn(place, callId)
  switch (reason._tag) {
    case "NotAwaitingApproval": {
      const { awaiting, callId, found } = reason
      return new ConversationError({
        reason: new NotAwaitingApproval({ callId: named(callId), found, awaiting: awaiting.map(named) })
      })
    }
    case "NotAwaitingResult": {
      const { awaiting, callId, found } = reason
      return new ConversationError({
        reason: new NotAwaitingResult({ callId: named(callId), found, awaiting: awaiting.map(named) })
      })
    }
    case "ResultRejected": {
      const { callId, issue, tool } = reason
      return new ConversationError({ reason: new ResultRejected({ callId: named(callId), issue, tool }) })
    }
    default:
      return error
  }
}
