/**
 * A conversation while a runner has it: its journal, its session, and what messages do with them.
 *
 * A conversation that is lost, because another runner has claimed it or the store doesn't answer, is opened anew and its message handled
 * again, unless this runner is to leave: then the message is left for the next one. Who dies at any point leaves nothing else to do.
 *
 * @since 0.1.0
 */
import * as ClusterSchema from "effect/cluster/ClusterSchema"
import type * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as PubSub from "effect/PubSub"
import * as Scope from "effect/Scope"
import * as Semaphore from "effect/Semaphore"
import { rosterOf } from "../agent/definition/Roster.ts"
import * as Session from "../agent/Session.ts"
import type { AgentState } from "../domain/StateSchema.ts"
import type { Any } from "../handoff/Runnable.ts"
import { ConversationError, ConversationUnreadable, DefinitionChanged } from "./ConversationError.ts"
import * as Definition from "./Definition.ts"
import * as Journal from "./Journal.ts"
import type { Service } from "./store/Stored.ts"

/** Changes a state that names what the definition lacks, or gives nothing. */
export type Migrate = (state: AgentState, missing: ReadonlyArray<Definition.Missing>) => AgentState | undefined

/**
 * What a conversation is opened with. `isLeaving` says whether its runner is to hand it over, `patience` is the wait after a loss, and
 * `snapshotAfter` how many characters of entries stand between two snapshots, where that isn't by their size.
 */
export interface Options {
  readonly id: string
  readonly agent: Any
  readonly store: Service
  readonly migrate: Migrate | undefined
  readonly isLeaving: () => boolean
  readonly patience: Duration.Duration
  readonly snapshotAfter?: number | undefined
}

/** A conversation that is open: its session is made when something is to run. */
export interface Live {
  readonly journal: Journal.Journal
  readonly scope: Scope.Closeable
  session: Session.Session<unknown, unknown> | undefined
}

type Failure = Session.SessionError | ConversationError

/** Interrupts a message so that it is left for the next owner of its conversation. */
const abandon: Effect.Effect<never> = Effect.callback<never>(() => {
  const fiber = Fiber.getCurrent()!
  fiber.interruptUnsafe(fiber.id, ClusterSchema.Abandon.annotation)
})

/** Gives the error that the asker gets, or nothing where the conversation was lost. */
const errorOf = (id: string, error: Failure): ConversationError | undefined => {
  if (!Session.isSessionError(error)) return error
  const { reason } = error
  switch (reason._tag) {
    case "ParametersRejected":
      return new ConversationError({ reason })
    case "StoredStateUnreadable":
      return new ConversationError({ reason: new ConversationUnreadable({ id, issue: reason.issue }) })
    default:
      return undefined
  }
}

/** A conversation while a runner has it. */
export class Activation {
  readonly told: PubSub.PubSub<Journal.Told>
  readonly #options: Options
  readonly #context: Context.Context<never>
  readonly #alone = Semaphore.makeUnsafe(1)
  #live: Live | undefined

  constructor(options: Options, context: Context.Context<never>, told: PubSub.PubSub<Journal.Told>) {
    this.#options = options
    this.#context = context
    this.told = told
  }

  /** Does something with the conversation, as often as it is lost. */
  with<A>(f: (live: Live) => Effect.Effect<A, Failure>): Effect.Effect<A, ConversationError> {
    return Effect.catch(Effect.flatMap(this.#open(), f), (error) => {
      const { id, isLeaving, patience } = this.#options
      const told = errorOf(id, error)
      if (told !== undefined) return Effect.fail(told)
      if (isLeaving()) return abandon
      return Effect.delay(this.with(f), patience)
    })
  }

  /** Gives the session, which needs a definition that has all that the state names. */
  session(live: Live): Effect.Effect<Session.Session<unknown, unknown>, Failure> {
    return Effect.gen({ self: this }, function*() {
      if (live.session !== undefined) return live.session
      const { agent, id } = this.#options
      const { journal, scope } = live
      yield* this.#migrate(journal)
      const document = { ...journal.document, restored: journal.kept.state }
      const made = Session.make(agent, { store: { id, open: Effect.succeed(document) } })
      live.session = yield* made.pipe(
        Effect.provideService(Scope.Scope, scope),
        Effect.provideContext(this.#context)
      ) as Effect.Effect<Session.Session<unknown, unknown>>
      return live.session
    })
  }

  /** Lets go of the conversation. Nothing that runs in it is kept any more. */
  close(): Effect.Effect<void> {
    return Effect.suspend(() => {
      const live = this.#live
      this.#live = undefined
      live?.journal.close()
      return live === undefined ? Effect.void : Scope.close(live.scope, Exit.void)
    })
  }

  /** Removes all that is kept of the conversation. */
  remove(): Effect.Effect<void, ConversationError> {
    const { id, store } = this.#options
    const removing = Effect.mapError(store.remove(id), Journal.unavailable(id, "remove"))
    return this.with(() => Effect.andThen(this.close(), removing))
  }

  #open(): Effect.Effect<Live, Failure> {
    const opening = Effect.gen({ self: this }, function*() {
      if (this.#live !== undefined && !this.#live.journal.isClosed) return this.#live
      yield* this.close()
      const journal = yield* Journal.open({ ...this.#options, told: this.told })
      return this.#live = { journal, scope: yield* Scope.make(), session: undefined }
    })
    return this.#alone.withPermit(Effect.uninterruptible(opening))
  }

  #migrate(journal: Journal.Journal): Effect.Effect<void, Failure> {
    const { agent, id, migrate } = this.#options
    const roster = rosterOf(agent)
    const missing = Definition.missing(roster, journal.kept.state)
    if (missing.length === 0) return Effect.void
    const migrated = migrate?.(journal.kept.state, missing)
    const still = migrated === undefined ? missing : Definition.missing(roster, migrated)
    return migrated === undefined || still.length > 0
      ? Effect.fail(new ConversationError({ reason: new DefinitionChanged({ id, missing: still }) }))
      : journal.replace(migrated)
  }
}

/** Lets a runner have a conversation for as long as the scope is open. */
export const make = (options: Options): Effect.Effect<Activation, never, Scope.Scope> =>
  Effect.gen(function*() {
    const context = yield* Effect.context<never>()
    const told = yield* PubSub.unbounded<Journal.Told>()
    const activation = new Activation(options, context, told)
    yield* Effect.addFinalizer(() => activation.close())
    return activation
  })
