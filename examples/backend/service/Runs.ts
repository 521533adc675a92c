/**
 * The runs of this process, and how the service ends.
 */
import { Cause, Context, Deferred, Duration, Effect, Exit, Fiber, FiberSet, Layer } from "effect"
import { Agent, AgentEvent, Session } from "troupe"
import type { Conversation } from "troupe/cluster"
import { ConversationNotFound, TooManyRequests, Unavailable } from "../api/Problems.ts"
import { Settings } from "../config.ts"
import { Store, type StoreFailed } from "../store/Store.ts"
import * as Turns from "./Turns.ts"

export class Runs extends Context.Service<Runs, {
  /** Wraps each run: the run is counted and takes turns with others, and its failure is logged. */
  readonly around: (id: string) => <A, E, R>(run: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  /** Takes a tenant's request in, where there is room for it. */
  readonly take: <A, E, R>(
    tenant: string,
    request: Effect.Effect<A, E, R>
  ) => Effect.Effect<A, E | TooManyRequests | Unavailable, R>
  /**
   * Begins something in a tenant's conversation, if there is room for another run. It counts from here on, however long it takes, and goes
   * on even if whoever asked for it leaves. The conversation may have been removed since it was found.
   */
  readonly begin: <E, R>(
    tenant: string,
    id: string,
    request: Effect.Effect<Conversation.Begun, E, R>
  ) => Effect.Effect<Conversation.Begun, E | ConversationNotFound | TooManyRequests | StoreFailed, R>
  /** Fails where new work isn't taken any more. */
  readonly open: Effect.Effect<void, Unavailable>
  /** Ends when streams of events have to. */
  readonly closed: Effect.Effect<void>
  /** Takes no more work, and lets runs end in their time of grace. What runs then is gone on with elsewhere, or by the next service. */
  readonly drain: Effect.Effect<void>
}>()("backend/Runs") {}

/** What stands around each run: whoever measures runs observes them here. */
export const Around = Context.Reference<<A, E, R>(self: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>>(
  "backend/Around",
  { defaultValue: () => (self) => self }
)

/** The service is shutting down: another instance, or the next one, can do it. */
const closing = new Unavailable({ detail: "The service is shutting down", retryAfter: 5 })

/** Whether nothing new has begun, and nothing can begin any more after the caller has left. */
const isRefused = (exit: Exit.Exit<Conversation.Begun, unknown>): boolean =>
  Exit.isSuccess(exit)
    ? !exit.value.isNew
    : !Cause.hasInterrupts(exit.cause) && !(Cause.squash(exit.cause) instanceof Unavailable)

/** How often the count of a run that begins is renewed. */
const renewing = Duration.seconds(10)

/** Logs why a run failed, with the place of a bug. One that is interrupted didn't fail, and what can't be kept is gone on with. */
const tellFailure = (cause: Cause.Cause<unknown>): Effect.Effect<void> => {
  const error = Cause.squash(cause)
  if (Cause.hasInterruptsOnly(cause) || Session.isSessionError(error)) return Effect.void
  const line = `A run failed: ${error instanceof Error ? error.message : String(error)}`
  return Cause.hasDies(cause) ? Effect.logError(line, cause) : Effect.logWarning(line)
}

/** Lets a run wait for its turn before each step. */
export const turning = (turns: Turns.Turns): Agent.Observer => {
  let turn: Turns.Turn | undefined
  // An observer can't be interrupted, but this wait can: a run that is stopped while it waits ends at once, and tells its end.
  const take = Effect.asVoid(Effect.exit(Effect.interruptible(Effect.map(turns.take, (begun) => {
    turn = begun
  }))))
  return (event: AgentEvent.AgentEvent) => {
    if (event.calls.length > 0) return Effect.void
    // Whoever wakes the run, at the end of a turn or at a timer, doesn't do its step for it.
    if (event._tag === "StepStarted") return Effect.andThen(take, Effect.yieldNow)
    if (event._tag === "StepCompleted" || AgentEvent.isRunEnd(event)) turn?.end()
    return Effect.void
  }
}

const make = Effect.gen(function*() {
  const store = yield* Store
  const { grace, limits } = yield* Settings
  const around = yield* Around
  const turns = Turns.make(Duration.toMillis(limits.waiting))
  const running = new Set<object>()
  const beginnings = yield* FiberSet.make()
  const closed = yield* Deferred.make<void>()
  let isClosing = false
  let onIdle = (): void => {}

  /** Refuses work that comes when the service closes. */
  const open = Effect.suspend(() => isClosing ? Effect.fail(closing) : Effect.void)

  /** Waits until the next request of a tenant can be taken in. */
  const enter = (tenant: string) =>
    Effect.catch(turns.enter(tenant), ({ retryAfter }) =>
      Effect.fail(
        new TooManyRequests({ detail: "More is being asked than can be taken in", retryAfter, limit: "waiting" })
      ))

  return Runs.of({
    around: (id) => (run) =>
      Effect.suspend(() => {
        const self = {}
        running.add(self)
        return around(Agent.observe(run, turning(turns))).pipe(
          Effect.tapCause(tellFailure),
          Effect.annotateLogs({ conversation: id }),
          Effect.annotateSpans({ "gen_ai.conversation.id": id }),
          Effect.ensuring(Effect.sync(() => {
            running.delete(self)
            if (running.size === 0) onIdle()
          }))
        )
      }),
    take: (tenant, request) =>
      Effect.andThen(
        open,
        Effect.acquireUseRelease(
          Effect.interruptible(enter(tenant)),
          () => Effect.andThen(open, request),
          (place) => Effect.sync(place.end)
        )
      ),
    begin: Effect.fnUntraced(function*(tenant, id, request) {
      const reserved = yield* store.reserve(tenant, id, limits.runs)
      if (reserved === undefined) return yield* new ConversationNotFound({ conversation: id })
      const { count, others } = reserved
      if (count === undefined) {
        return yield* new TooManyRequests({
          detail: `${others} runs are under way, which is the limit`,
          retryAfter: 1,
          limit: "runs"
        })
      }
      // Guardrails may ask a model for long, and meanwhile nothing else says that there is a run.
      const counting = Effect.forever(Effect.delay(Effect.ignore(count.renew), renewing))
      const beginning = yield* Effect.raceFirst(request, counting).pipe(
        Effect.onExit((exit) => isRefused(exit) ? Effect.ignore(count.end) : Effect.void),
        FiberSet.run(beginnings)
      )
      return yield* Fiber.join(beginning)
    }),
    open,
    closed: Deferred.await(closed),
    drain: Effect.gen(function*() {
      isClosing = true
      const idle = Effect.callback<void>((resume) => {
        onIdle = () => resume(Effect.void)
        if (running.size === 0) onIdle()
      })
      yield* Effect.timeoutOption(idle, grace)
      yield* Deferred.succeed(closed, undefined)
    })
  })
})

export const layer = Layer.effect(Runs, make)
