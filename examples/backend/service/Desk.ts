/**
 * The conversations as entities of the cluster: on one machine there is one runner, and all of them are here.
 */
import { Context, Duration, Effect, Layer, References } from "effect"
import type { Sharding } from "effect/cluster"
import { Conversation } from "troupe/cluster"
import { Settings } from "../config.ts"
import { entity } from "../store/Store.ts"
import { Agents } from "./Agents.ts"
import { Runs } from "./Runs.ts"

/** Talks to a conversation, whichever instance has it. */
export class Desk extends Context.Service<Desk, (id: string) => Conversation.Client>()("backend/Desk") {}

/** How long a conversation stays in memory that nobody talks to or reads. */
const maxIdleTime = Duration.minutes(1)

/** Holds conversations in this process, and talks to all of them. */
export const layer = Layer.unwrap(Effect.gen(function*() {
  const { agent, services } = yield* Agents
  const { around } = yield* Runs
  const { keepEvents } = yield* Settings
  const level = yield* References.MinimumLogLevel
  const conversation = Conversation.make(entity, agent, {
    services,
    around,
    keepEvents,
    maxIdleTime,
    tellsStarts: true
  })
  return Layer.effect(Desk, conversation.client as Effect.Effect<Desk["Service"], never, Sharding.Sharding>).pipe(
    Layer.provideMerge(Layer.provide(conversation.layer, Layer.succeed(References.MinimumLogLevel, level)))
  )
}))
