/**
 * Who answers in a conversation: an agent or a group, with tools of its own for each conversation.
 */
import { Context, Effect, Layer, type Scope, ScopedCache } from "effect"
import type { LanguageModel } from "effect/ai"
import type { Conversation } from "troupe/cluster"
import * as Desk from "../../desk/agents/desk.ts"

/** Whoever can answer. What its runs may fail with is its own affair. */
export type Runnable<R> = Parameters<typeof Conversation.make<string, string, unknown, unknown, R>>[1]

export class Agents extends Context.Service<Agents, {
  /** The name of who begins. */
  readonly first: string
  /** Who answers, and all that it needs, made for each conversation that is opened. */
  readonly agent: Runnable<unknown>
  readonly services: (id: string) => Effect.Effect<Context.Context<unknown>, never, Scope.Scope>
  /** Forgets the tools of a conversation that is removed. */
  readonly forget: (id: string) => Effect.Effect<void>
}>()("backend/Agents") {}

/** How many conversations keep their tools in memory. The longest unused lose theirs, and get new ones when they go on. */
const capacity = 1000

/**
 * Conversations with an agent, or with the group that begins with the one named `first`. `own` is made anew each time a conversation is opened, and the tools
 * once for each conversation.
 */
export const layer = <Tools, Own = never, R = never>(options: {
  readonly first: string
  readonly agent: Runnable<R>
  readonly tools: Layer.Layer<Tools>
  readonly own?: Layer.Layer<Own>
}): Layer.Layer<Agents, never, Exclude<R, Tools | Own | Scope.Scope>> =>
  Layer.effect(
    Agents,
    Effect.gen(function*() {
      const services = yield* Effect.context<Exclude<R, Tools | Own | Scope.Scope>>()
      const tools = yield* ScopedCache.make({
        capacity,
        lookup: (_id: string) => Layer.build(Layer.fresh(options.tools))
      })
      const own = options.own === undefined ? Effect.succeed(Context.empty()) : Layer.build(Layer.fresh(options.own))
      return {
        first: options.first,
        // What is in R is in the services, whatever it is.
        agent: options.agent as Runnable<unknown>,
        services: (id: string) =>
          Effect.map(
            Effect.all([ScopedCache.get(tools, id), own]),
            ([tools, own]) =>
              Context.merge(Context.merge(services, tools), own as Context.Context<never>) as Context.Context<unknown>
          ),
        forget: (id: string) => ScopedCache.invalidate(tools, id)
      }
    })
  )

/**
 * The desk, with a shop of its own for each conversation: the order book and the shelf are in memory.
 *
 * The model is made for each conversation that is opened: the embedded one holds what it was asked for as long as it lives.
 */
export const desk = (model: Layer.Layer<LanguageModel.LanguageModel>) =>
  layer({ first: Desk.desk.agents.triage.name, agent: Desk.desk, tools: Desk.layer, own: model })
