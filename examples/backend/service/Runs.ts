/**
 * The runs of this process: each holds the lease on its conversation, and goes on whoever goes away.
 */
import {
  Cause,
  Clock,
  Context,
  Deferred,
  Duration,
  Effect,
  Exit,
  Fiber,
  FiberMap,
  Iterable,
  Layer,
  Schedule,
  type Scope,
  Stream
} from "effect"
import { Agent, AgentState, Session } from "troupe"
import { ConversationBusy, ConversationNotFound, TooManyRequests, Unavailable } from "../api/Problems.ts"
import { Settings } from "../config.ts"
import { type Lease, type Marks, type Saved, Store, StoreFailed } from "../store/Store.ts"
import { Agents, type AnySession } from "./Agents.ts"
import { type Held, observer } from "./Held.ts"
import * as Turns from "./Turns.ts"

/** A conversation under its lease, as `Work` gets it. */
export interface Holding {
  readonly lease: Lease
  readonly saved: Saved
  /** Opens the conversation. With its first save the work is taken in. */
  readonly session: Effect.Effect<AnySession, Session.SessionError, Scope.Scope>
  /** Says that the work is taken in without a save: whoever asked for it is answered. */
  readonly accept: Effect.Effect<void>
  /** Does something that changes the session without a run: what it tells is logged. */
  readonly watch: <A, E>(session: AnySession, change: Effect.Effect<A, E>) => Effect.Effect<A, E | Session.SessionError>
  /** Runs the session, with an input or from where it stopped, to its end. */
  readonly run: (
    session: AnySession,
    marks: Marks,
    input?: string
  ) => Effect.Effect<void, Session.SessionError | StoreFailed>
}

/** Something that is done with a conversation while nobody else can. */
export type Work<E> = (
  holding: Holding
) => Effect.Effect<void, E | Session.SessionError | StoreFailed, Scope.Scope>

/** Why a conversation can't be held. */
export type NotHeld = ConversationBusy | ConversationNotFound | TooManyRequests | Unavailable

export interface StartOptions {
  /** How long to wait, in milliseconds, while somebody else holds the conversation without running it. */
  readonly patience: number
  /** Waits for a run that is under way as well. */
  readonly outlasts?: boolean
  /** Doesn't count against the tenant's limit, and is done at a shutdown too. */
  readonly isExempt?: boolean
}

export class Runs extends Context.Service<Runs, {
  /** What is known of a conversation that is held here. */
  readonly find: (id: string) => Held | undefined
  /** Does something with a conversation in the background, and gives the cursor before it when it is taken in. */
  readonly start: <E>(
    tenant: string,
    id: string,
    work: Work<E>,
    options?: StartOptions
  ) => Effect.Effect<number, E | NotHeld>
  /** Goes on with a conversation from where it stopped. */
  readonly resume: Work<never>
  /** Fails where new work isn't taken any more. */
  readonly open: Effect.Effect<void, Unavailable>
  /** Ends when streams of events have to. */
  readonly closed: Effect.Effect<void>
  /** Takes no more work, lets runs end in their time of grace, breaks off the rest, which stays in flight. */
  readonly drain: Effect.Effect<void>
}>()("backend/Runs") {}

/** What stands around each run: whoever measures runs observes them here. */
export const Around = Context.Reference<<A, E, R>(self: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>>(
  "backend/Around",
  { defaultValue: () => (self) => self }
)

const busy = (conversation: string) => new ConversationBusy({ conversation })

/** The service is shutting down: another instance, or the next one, can do it. */
const closing = new Unavailable({ detail: "The service is shutting down", retryAfter: 5 })

/**
 * The store is out of reach, or can't be read. What is wrong isn't the client's affair; it is logged, unless the store is away,
 * which says so itself.
 */
export const unavailableIn =
  (store: Store["Service"]) => (error: Session.SessionError | StoreFailed): Effect.Effect<never, Unavailable> =>
    Effect.suspend(() => {
      const told = Effect.fail(new Unavailable({ detail: "The store can't be reached", retryAfter: 1 }))
      return store.isAway() ? told : Effect.andThen(Effect.logWarning(error.message, Cause.fail(error)), told)
    })

const defaults: StartOptions = { patience: 2000 }

const make = Effect.gen(function*() {
  const store = yield* Store
  const agents = yield* Agents
  const settings = yield* Settings
  const around = yield* Around
  const unavailable = unavailableIn(store)
  /** Logs what follows from the store's being away only where it isn't. */
  const warn = (message: string) => Effect.suspend(() => store.isAway() ? Effect.void : Effect.logWarning(message))
  const turns = Turns.make(Duration.toMillis(settings.limits.waiting))
  const all = new Map<string, Held>()
  const fibers = yield* FiberMap.make<string, void, never>()
  const closed = yield* Deferred.make<void>()
  let isClosing = false

  const take = Effect.fnUntraced(function*(tenant: string, id: string, { outlasts, patience }: StartOptions) {
    const until = (yield* Clock.currentTimeMillis) + patience
    while (true) {
      const lease = yield* store.lease(id)
      const saved = yield* store.read(tenant, id)
      if (saved === undefined) return yield* new ConversationNotFound({ conversation: id })
      if (lease !== undefined) return { lease, saved }
      const isRunning = saved.row.isInFlight && outlasts !== true
      if (isRunning || (yield* Clock.currentTimeMillis) >= until) return yield* busy(id)
      yield* Effect.sleep("20 millis")
    }
  })

  /** Logs what is told of a conversation that goes on from a state. */
  const logging = (held: Held, { row }: Saved, lease: Lease, state: AgentState.AgentState) =>
    Agent.observe(observer(held, lease, turns, state, row.changes, row.title !== ""))

  /** Runs a session until it ends, the lease is lost, or somebody cancels it. What runs is stopped then, with its requests. */
  const runIn = (held: Held, saved: Saved, lease: Lease): Holding["run"] =>
    Effect.fnUntraced(function*(session, marks, input) {
      const { row } = saved
      Deferred.doneUnsafe(held.begun, Effect.void)
      lease.mark({ ...marks, isInFlight: true })
      const state = AgentState.reopen(yield* session.state)
      yield* Stream.runDrain(session.stream(input)).pipe(
        logging(held, saved, lease, input === undefined ? state : yield* session.state),
        around,
        Effect.catch((error) =>
          Session.isSessionError(error)
            ? Effect.fail(error)
            : Effect.logWarning(`A run failed: ${error instanceof Error ? error.message : String(error)}`)
        ),
        Effect.raceFirst(Effect.andThen(lease.lost, warn("The lease was lost"))),
        Effect.raceFirst(Effect.andThen(lease.cancelled, Effect.sync(() => void (held.isCancelled = true)))),
        Effect.annotateLogs({ conversation: row.id }),
        Effect.annotateSpans({ "gen_ai.conversation.id": row.id })
      )
      if (!held.isCancelled) return
      // A run that was cancelled before it had begun told no end.
      held.isOver = true
      lease.mark({ isInFlight: false })
      yield* lease.flush
    })

  /** What can't be gone on with is taken out of flight: a defect would meet whoever goes on again. */
  const giveUp = (id: string, lease: Lease) => <E>(cause: Cause.Cause<E>): Effect.Effect<void> => {
    const isUnreadable = cause.reasons.some((reason) =>
      Cause.isFailReason(reason) && Session.isSessionError(reason.error) &&
      reason.error.reason._tag === "StoredStateUnreadable"
    )
    if (!Cause.hasDies(cause) && !isUnreadable) return Effect.void
    lease.mark({ isInFlight: false })
    return Effect.andThen(
      Effect.logError("A conversation can't go on", cause),
      Effect.ignore(lease.flush)
    ).pipe(Effect.annotateLogs({ conversation: id }))
  }

  const isStoreFailure = (error: unknown): error is Session.SessionError | StoreFailed =>
    Session.isSessionError(error) || error instanceof StoreFailed

  /** Refuses a tenant's work that goes beyond its runs, or comes when the service closes. */
  const mayRun = (tenant: string): Effect.Effect<void, TooManyRequests | Unavailable> => {
    if (isClosing) return Effect.fail(closing)
    const running = Iterable.countBy(all.values(), (held) => held.tenant === tenant)
    return running < settings.limits.runs ? Effect.void : Effect.fail(
      new TooManyRequests({
        detail: `${running} runs are under way, which is the limit`,
        retryAfter: 1,
        limit: "runs"
      })
    )
  }

  /** Waits until the next request of a tenant can be taken in. */
  const enter = (tenant: string) =>
    Effect.catch(turns.enter(tenant), ({ retryAfter }) =>
      Effect.fail(
        new TooManyRequests({ detail: "More is being asked than can be taken in", retryAfter, limit: "waiting" })
      ))

  const start: Runs["Service"]["start"] = <E>(tenant: string, id: string, work: Work<E>, options = defaults) =>
    options.isExempt === true
      ? begin(tenant, id, work, options)
      : Effect.andThen(
        Effect.suspend(() => mayRun(tenant)),
        Effect.acquireUseRelease(
          Effect.interruptible(enter(tenant)),
          () => begin(tenant, id, work, options),
          ({ end }) => Effect.sync(end)
        )
      )

  const begin = <E>(
    tenant: string,
    id: string,
    work: Work<E>,
    options: StartOptions
  ): Effect.Effect<number, E | NotHeld> =>
    Effect.gen(function*() {
      for (let before = all.get(id); before !== undefined; before = all.get(id)) {
        if (before.isOver || options.outlasts === true) yield* awaitEnd(id)
        else if (Deferred.isDoneUnsafe(before.begun)) return yield* busy(id)
        else yield* Effect.raceFirst(awaitEnd(id), Deferred.await(before.begun))
      }
      if (options.isExempt !== true) yield* mayRun(tenant)
      const accepted = Deferred.makeUnsafe<number, E | NotHeld>()
      const held: Held = {
        tenant,
        seen: undefined,
        begun: Deferred.makeUnsafe(),
        isOver: false,
        isCancelled: false
      }
      all.set(id, held)
      const holding = Effect.gen(function*() {
        const { lease, saved } = yield* take(tenant, id, options)
        const accept = Effect.asVoid(Deferred.succeed(accepted, saved.cursor))
        yield* work({
          lease,
          saved,
          // What is saved is taken in.
          session: agents.open(id, {
            ...lease.states,
            set: (key, value) => Effect.tap(lease.states.set(key, value), accept)
          }),
          accept,
          watch: (session, change) =>
            Effect.flatMap(session.state, (state) => logging(held, saved, lease, state)(change)),
          run: runIn(held, saved, lease)
        }).pipe(Effect.tapCause(giveUp(id, lease)))
        yield* accept
      })
      const taking = FiberMap.run(
        fibers,
        id,
        Effect.scoped(holding).pipe(
          Effect.catchIf(isStoreFailure, unavailable),
          Effect.onExit((exit) =>
            Effect.sync(() => {
              all.delete(id)
              if (Exit.isSuccess(exit)) return
              Deferred.doneUnsafe(accepted, Cause.hasInterruptsOnly(exit.cause) ? closing : Exit.failCause(exit.cause))
            })
          ),
          Effect.catchCause(() => Effect.void)
        )
      )
      return yield* Effect.andThen(taking, Deferred.await(accepted))
    })

  const awaitEnd = (id: string): Effect.Effect<void> =>
    Effect.suspend(() => {
      const fiber = FiberMap.getUnsafe(fibers, id)
      return fiber._tag === "None" ? Effect.yieldNow : Effect.asVoid(Fiber.await(fiber.value))
    })

  const resume: Work<never> = Effect.fnUntraced(function*({ run, session }) {
    yield* run(yield* session, {})
  })

  /** Goes on with what is in flight and nobody runs: after a restart, and where another instance died. */
  const recover = Effect.gen(function*() {
    const waiting = (yield* store.inFlight).filter(({ id }) => !all.has(id))
    yield* Effect.forEach(
      waiting,
      ({ id, tenant }) =>
        Effect.suspend(() =>
          isClosing || all.has(id) ? Effect.void : start(tenant, id, resume, { patience: 0, isExempt: true })
        ).pipe(
          Effect.catchTag(["ConversationBusy", "ConversationNotFound"], () => Effect.void),
          Effect.annotateLogs({ conversation: id })
        ),
      { concurrency: 10, discard: true }
    )
  }).pipe(
    Effect.catch((error) => warn(`Conversations in flight can't be gone on with: ${error.message}`)),
    Effect.repeat(Schedule.spaced(settings.recovery))
  )
  yield* Effect.forkScoped(recover)

  return Runs.of({
    find: (id) => all.get(id),
    start,
    resume,
    open: Effect.suspend(() => isClosing ? Effect.fail(closing) : Effect.void),
    closed: Deferred.await(closed),
    drain: Effect.gen(function*() {
      isClosing = true
      yield* Effect.timeoutOption(FiberMap.awaitEmpty(fibers), settings.grace)
      yield* FiberMap.clear(fibers)
      yield* Deferred.succeed(closed, undefined)
    })
  })
})

export const layer = Layer.effect(Runs, make)
