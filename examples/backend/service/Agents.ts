/**
 * Who answers in a conversation: an agent or a group, with tools of its own for each conversation.
 */
import { Context, Effect, Layer, Scope, ScopedCache } from "effect"
import type { LanguageModel } from "effect/ai"
import { KeyValueStore } from "effect/persistence"
import { AgentState, Session } from "troupe"
import * as Desk from "../../desk/agents/desk.ts"

/** A session of whichever agent: what runs may fail with beside `AgentError` is the agent's own affair. */
export type AnySession = Session.Session<unknown, unknown>

export class Agents extends Context.Service<Agents, {
  /** What a conversation begins with. */
  readonly fresh: AgentState.AgentState
  /** Opens a conversation that `states` keeps under its id. */
  readonly open: (
    id: string,
    states: KeyValueStore.KeyValueStore
  ) => Effect.Effect<AnySession, Session.SessionError, Scope.Scope>
  /** Forgets the tools of a conversation that is removed. */
  readonly forget: (id: string) => Effect.Effect<void>
}>()("backend/Agents") {}

/** How many conversations keep their tools in memory. The longest unused lose theirs, and get new ones when they go on. */
const capacity = 1000

/** Conversations of the agent that `open` makes a session of, begun by the agent named `first`. */
export const layer = <Tools, R>(options: {
  readonly first: string
  readonly open: (
    store: Session.Store<Session.SessionError, KeyValueStore.KeyValueStore>
  ) => Effect.Effect<AnySession, Session.SessionError, R>
  readonly tools: Layer.Layer<Tools>
}): Layer.Layer<Agents, never, Exclude<R, Tools | KeyValueStore.KeyValueStore | Scope.Scope>> =>
  Layer.effect(
    Agents,
    Effect.gen(function*() {
      const services = yield* Effect.context<Exclude<R, Tools | KeyValueStore.KeyValueStore | Scope.Scope>>()
      const tools = yield* ScopedCache.make({
        capacity,
        lookup: (_id: string) => Layer.build(Layer.fresh(options.tools))
      })
      return {
        fresh: AgentState.make(options.first),
        open: Effect.fnUntraced(function*(id, states) {
          const here = Context.merge(services, yield* ScopedCache.get(tools, id)).pipe(
            Context.add(KeyValueStore.KeyValueStore, states),
            Context.add(Scope.Scope, yield* Effect.scope)
          )
          // What is excluded from R is what stands in `here` beside it.
          return yield* Effect.provideContext(options.open(Session.store(id)), here as Context.Context<R>)
        }),
        forget: (id) => ScopedCache.invalidate(tools, id)
      }
    })
  )

/**
 * The desk, with a shop of its own for each conversation: the order book and the shelf are in memory.
 *
 * The model is made for each run: the embedded one holds what it was asked for as long as it lives.
 */
export const desk = (model: Layer.Layer<LanguageModel.LanguageModel>) =>
  layer({
    first: Desk.desk.agents.triage.name,
    open: (store) =>
      Effect.flatMap(
        Layer.build(Layer.fresh(model)),
        (made) => Effect.provideContext(Session.make(Desk.desk, { store }), made)
      ),
    tools: Desk.layer
  })
