/**
 * A conversation on the runner that has it: its journal, its session, and the operations of messages on them.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as PubSub from "effect/PubSub"
import * as Scope from "effect/Scope"
import { rosterOf } from "../agent/definition/Roster.ts"
import * as Session from "../agent/Session.ts"
import type { AgentState } from "../domain/StateSchema.ts"
import type { Any } from "../handoff/Runnable.ts"
import { ConversationError, DefinitionChanged } from "./ConversationError.ts"
import * as Definition from "./Definition.ts"
import * as Held from "./Held.ts"
import * as Journal from "./Journal.ts"
import { unavailable } from "./LogWriter.ts"
import type { Service } from "./store/Stored.ts"
import { Within } from "./Within.ts"

/**
 * Changes a stored state that names agents, modes or tools that the definition lacks (`missing`) into one that names none of these. If it
 * returns `undefined`, or the new state still names something that is missing, the message fails with the reason `DefinitionChanged`.
 */
export type Migrate = (state: AgentState, missing: ReadonlyArray<Definition.Missing>) => AgentState | undefined

/**
 * What a conversation is opened with. `snapshotAfter` is how many characters of entries there are between two snapshots; by default that
 * depends on their length. `keepEvents` is how many of the newest events are kept; all by default.
 */
export interface Options extends Held.Options {
  readonly agent: Any
  readonly store: Service
  readonly migrate: Migrate | undefined
  readonly snapshotAfter?: number | undefined
  readonly keepEvents?: number | undefined
  readonly tellsStarts?: boolean | undefined
  /** Makes the services that only this conversation has. */
  readonly services?: Effect.Effect<Context.Context<never>, never, Scope.Scope> | undefined
}

/** An open conversation. Its session is made when something first runs in it. */
export interface Live {
  readonly journal: Journal.Journal
  readonly scope: Scope.Closeable
  session: Session.Session<unknown, unknown> | undefined
}

/** A conversation on the runner that has it. */
export class Activation extends Held.Held<Live> {
  readonly told: PubSub.PubSub<Journal.Told>
  readonly #options: Options
  readonly #context: Context.Context<never>

  constructor(options: Options, context: Context.Context<never>, told: PubSub.PubSub<Journal.Told>) {
    const opening = Effect.gen(function*(): Effect.fn.Return<Live, Held.Failure> {
      const journal = yield* Journal.open({ ...options, told })
      return { journal, scope: yield* Scope.make(), session: undefined }
    })
    super(options, opening, ({ scope }) => Scope.close(scope, Exit.void))
    this.#options = options
    this.#context = context
    this.told = told
  }

  /** Returns the session. Its definition must have everything that the state names. */
  session(live: Live): Effect.Effect<Session.Session<unknown, unknown>, Held.Failure> {
    return Effect.gen({ self: this }, function*() {
      if (live.session !== undefined) return live.session
      const { agent, id } = this.#options
      const { journal, scope } = live
      yield* this.#migrate(journal)
      const document = { ...journal.document, restored: journal.kept.state }
      const made = Session.make(agent, { store: { id, open: Effect.succeed(document) } })
      const own = yield* Effect.provideService(
        this.#options.services ?? Effect.succeed(Context.empty()),
        Scope.Scope,
        scope
      )
      live.session = yield* made.pipe(
        Effect.provideService(Scope.Scope, scope),
        Effect.provideContext(Context.add(Context.merge(this.#context, own), Within, id))
      ) as Effect.Effect<Session.Session<unknown, unknown>>
      return live.session
    })
  }

  /** Removes everything that is kept of the conversation. */
  remove(): Effect.Effect<void, ConversationError> {
    const { id, store } = this.#options
    const removing = Effect.mapError(store.remove(id), unavailable(id, "remove"))
    return this.removeBy(() => Effect.andThen(this.close(), removing))
  }

  /** The pieces since the last event that was stored. */
  get written(): ReadonlyArray<Journal.Told> {
    return this.live?.journal.written ?? []
  }

  #migrate(journal: Journal.Journal): Effect.Effect<void, Held.Failure> {
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

/** Gives a runner a conversation for as long as the scope is open. */
export const make = (options: Options): Effect.Effect<Activation, never, Scope.Scope> =>
  Effect.gen(function*() {
    const context = yield* Effect.context<never>()
    const told = yield* PubSub.unbounded<Journal.Told>()
    const activation = new Activation(options, context, told)
    yield* Effect.addFinalizer(() => activation.end())
    return activation
  })
