/**
 * A long run as an entity of the cluster, beside the conversations of its agents.
 *
 * @since 0.1.0
 */
import * as Entity from "effect/cluster/Entity"
import * as MessageStorage from "effect/cluster/MessageStorage"
import * as Sharding from "effect/cluster/Sharding"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as PubSub from "effect/PubSub"
import * as Rpc from "effect/rpc/Rpc"
import * as Stream from "effect/Stream"
import { NotAwaitingResult } from "../../domain/DeferredResult.ts"
import type { Any } from "../../handoff/Runnable.ts"
import { checked } from "../CheckedOptions.ts"
import * as Client from "../Client.ts"
import * as Conversation from "../Conversation.ts"
import { ConversationStore } from "../ConversationStore.ts"
import * as EventStream from "../EventStream.ts"
import type { Told } from "../Journal.ts"
import * as Protocol from "../Protocol.ts"
import type { LongRun } from "./LongRun.ts"
import { Messages } from "./Messages.ts"
import * as Steps from "./Steps.ts"

/** The agents of a long run, by their places. */
export type Agents = ReadonlyArray<readonly [place: string, agent: Any]>

/** A long run on a cluster: its entity, those of its agents' conversations, and the layer that serves them all. */
export interface Served {
  readonly entity: Protocol.Named
  readonly entities: ReadonlyMap<string, Protocol.Named>
  readonly layer: Layer.Layer<never, never, unknown>
}

const handlers = <State, Step>(
  name: string,
  entity: Protocol.Named,
  entities: ReadonlyMap<string, Protocol.Named>,
  long: LongRun<State, Step>
) =>
  Effect.gen(function*() {
    const address = yield* Entity.CurrentAddress
    const sharding = yield* Sharding.Sharding
    const messages = yield* MessageStorage.MessageStorage
    const store = yield* ConversationStore
    const clients = new Map<string, (id: string) => Client.Requests>()
    for (const [place, child] of entities) clients.set(place, yield* child.client)
    const told = yield* PubSub.unbounded<Told<Step>>()
    const run = new Messages(long, {
      id: Conversation.idOf(name, address.entityId),
      entityId: address.entityId,
      store,
      childOf: (entityId, { place, suffix }) => {
        const id = `${entityId}${suffix}`
        return Client.make(id, clients.get(place)!(id), Conversation.codec)
      },
      isLeaving: () => !sharding.hasShardId(address.shardId),
      patience: Duration.seconds(1)
    }, told)
    yield* Effect.addFinalizer(() => run.end)
    return entity.of({
      Say: ({ payload: { input, key } }) => run.say(key, input),
      SayAt: ({ payload: { input, key } }) => run.say(key, input),
      Approve: ({ payload: { callId, key, params } }) =>
        run.decide(key, callId, (child, id, options) => child.approve(id, { ...options, params })),
      Deny: ({ payload: { callId, key, reason } }) =>
        run.decide(key, callId, (child, id, options) => child.deny(id, reason, options)),
      GiveResult: ({ payload: { callId, failed, key, result } }) =>
        run.decide(
          key,
          callId,
          (child, id, options) =>
            failed === true ? child.giveFailure(id, String(result), options) : child.giveResult(id, result, options),
          NotAwaitingResult
        ),
      Resume: ({ payload: { key } }) => run.resume(key),
      Fork: ({ payload: { key, to } }) => run.fork(key, { to, toId: Conversation.idOf(name, to) }),
      Cancel: ({ payload: { key } }) => Rpc.fork(run.cancel(key)),
      Remove: () => Effect.andThen(run.remove, Effect.orDie(messages.clearAddress(address))),
      State: () => Rpc.fork(run.state),
      Events: ({ payload: { after } }) =>
        Rpc.fork(
          EventStream.make(run.source, after).pipe(
            Stream.map((told) => EventStream.toJson(told, Steps.stepToJson)),
            Stream.interruptWhen(run.removed)
          )
        )
    })
  })

/**
 * The name of the entity of an agent's conversations. The store and the cluster write a name before an id, with a slash between them, and
 * ids may have slashes. So the name has none, or `write/short` and `1` would be `write` and `short/1`.
 */
const nameOf = (name: string, place: string): string => `${name}.${place.replaceAll("%", "%25").replaceAll("/", "%2F")}`

/** Makes the entities of a long run and its agents, and the layer that serves them. */
export const make = <State, Step>(
  name: string,
  agents: Agents,
  long: LongRun<State, Step>,
  given: Conversation.Options
): Served => {
  // A long run without agents makes no conversation that would check them.
  const options = checked(given)
  const { maxIdleTime } = options
  const entity = Protocol.make(name)
  const conversations = agents.map(([place, agent]) =>
    [place, Conversation.make(nameOf(name, place), agent, options)] as const
  )
  const entities = new Map(conversations.map(([place, { entity }]) => [place, Protocol.named(entity)]))
  const own = entity.toLayer(handlers(name, entity, entities, long), { maxIdleTime })
  const layer = conversations.reduce<Layer.Layer<never, never, unknown>>(
    (layer, [, conversation]) => Layer.merge(layer, conversation.layer),
    own as Layer.Layer<never, never, unknown>
  )
  return { entity, entities, layer }
}
