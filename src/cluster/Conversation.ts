/**
 * Conversations on Effect's cluster: each is an entity, which one runner at a time has, and its messages outlive any runner.
 *
 * 1. A message is a persisted request. Until it is answered, it is in flight; when a runner dies, the next one continues it.
 * 2. What is kept is a log of events, and the state is its fold. Only the runner that claimed a conversation last can append.
 * 3. For each key, a message's input is added to the state once. A call is never run again once its result has been saved.
 * 4. A handler that isn't `idempotent` is started at most once, unless it fails and its tool has a `retry`. If it is unknown how it ended, the call's result and the answer say so.
 *
 * @since 0.1.0
 */
import * as Entity from "effect/cluster/Entity"
import * as MessageStorage from "effect/cluster/MessageStorage"
import * as Sharding from "effect/cluster/Sharding"
import type * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Random from "effect/Random"
import * as Result from "effect/Result"
import * as Rpc from "effect/rpc/Rpc"
import type { RpcClientError } from "effect/rpc/RpcClientError"
import type * as Schema from "effect/Schema"
import type { Scope } from "effect/Scope"
import * as Stream from "effect/Stream"
import { type Input, partsOf } from "../agent/definition/Input.ts"
import { rosterOf } from "../agent/definition/Roster.ts"
import * as RunId from "../agent/journal/RunId.ts"
import type { SessionError } from "../agent/session/SessionError.ts"
import type { AgentError } from "../domain/AgentError.ts"
import type { AgentEvent } from "../domain/AgentEvent.ts"
import type { Failure } from "../domain/AgentStatus.ts"
import * as EventJson from "../domain/EventJson.ts"
import type { Stored } from "../domain/EventJson.ts"
import { lazy } from "../domain/Lazy.ts"
import * as StateJson from "../domain/StateJson.ts"
import type { AgentState } from "../domain/StateSchema.ts"
import type { Any, Runnable } from "../handoff/Runnable.ts"
import * as Activation from "./Activation.ts"
import type { Answer } from "./Answer.ts"
import * as AtOnce from "./AtOnce.ts"
import * as Beginning from "./Beginning.ts"
import { checked } from "./CheckedOptions.ts"
import * as ConversationClient from "./Client.ts"
import type { ClusterError } from "./Client.ts"
import { ConversationStore } from "./ConversationStore.ts"
import * as EventStream from "./EventStream.ts"
import * as Kept from "./Kept.ts"
import { type Around, Messages } from "./Messages.ts"
import { Offers } from "./Offers.ts"
import * as Protocol from "./Protocol.ts"

export type { Migrate } from "./Activation.ts"
export { Answer } from "./Answer.ts"
export { type Beginning, Begun, type View } from "./Beginning.ts"
export type { ClusterError, Keyed } from "./Client.ts"
export {
  ConversationBusy,
  ConversationError,
  ConversationExists,
  ConversationUnreadable,
  DefinitionChanged,
  EventsGone,
  ForkUnfinished,
  NotBegun,
  Reason,
  WaitsForItself
} from "./ConversationError.ts"
export type { Missing } from "./Definition.ts"
export type { Told } from "./Journal.ts"
export type { Around } from "./Messages.ts"
export { sharding } from "./Settings.ts"
export { UnknownCall } from "./UnknownCall.ts"

type TagOf<E> = E extends { readonly _tag: infer Tag extends string } ? Tag : never

/**
 * The answer to a message. The `tag` of its `error` is the tag of the agent's own error, or of the reason why the run failed; `Failure` if
 * that has no tag, `Defect` for a defect.
 *
 * @category models
 * @since 0.1.0
 */
export interface AnswerOf<E> extends Omit<Answer, "error"> {
  readonly error?: Omit<Failure, "tag"> & {
    readonly tag: TagOf<E | AgentError["reason"] | SessionError["reason"]> | "Failure" | "Defect"
  }
}

/**
 * The client of a conversation: `E` is what a run of its agent may fail with, and `X` what the cluster, or the connection to it, can fail
 * with.
 *
 * @category models
 * @since 0.1.0
 */
export interface Client<out E = unknown, out X = ClusterError>
  extends ConversationClient.Client<Input, AnswerOf<E>, AgentState, Stored, X>, AtOnce.Client<X>
{}

/** Options of conversations on a cluster; everything is optional. */
export interface Options<S = never> {
  /** How long a conversation that nobody talks to stays in memory; by default the cluster's `entityMaxIdleTime`, which is 1 minute. */
  readonly maxIdleTime?: Duration.Input | undefined
  /** Changes a stored state that names an agent, a mode or a tool that this version lacks; by default its messages fail. */
  readonly migrate?: Activation.Migrate | undefined
  /** How many of the newest events are kept; all by default. Older ones are removed when the state is stored. */
  readonly keepEvents?: number | undefined
  /**
   * Whether each start of a request or a call is stored before it begins, so that readers see it at once; `false` by default. The start of
   * a call that a handler answers is always stored first, unless its tool is idempotent.
   */
  readonly tellsStarts?: boolean | undefined
  /** Services of a conversation's own, made before its first run on a runner, and released when it leaves the memory; none by default. */
  readonly services?: ((id: string) => Effect.Effect<Context.Context<S>, never, Scope>) | undefined
  /** Wraps each run of a conversation, for example in `Agent.observe`; nothing by default. */
  readonly around?: ((id: string) => Around) | undefined
}

/**
 * The conversations of an agent or a group.
 *
 * `layer` registers them on a runner, and needs what the agent needs. `client` talks to one by its id, and needs only the cluster.
 * `clientOver` does so from outside of the cluster, by a client of `EntityProxy.toRpcGroup(self.entity)`.
 *
 * @category models
 * @since 0.1.0
 */
export interface Conversation<Name extends string, out E, out R> {
  readonly name: Name
  readonly entity: ReturnType<typeof Protocol.makeConversation<Name>>
  readonly layer: Layer.Layer<
    never,
    never,
    Exclude<R, Scope> | ConversationStore | Sharding.Sharding | MessageStorage.MessageStorage
  >
  readonly client: Effect.Effect<(id: string) => Client<E>, never, Sharding.Sharding>
  readonly clientOver: (rpcs: ConversationClient.Rpcs<Name>) => (id: string) => Client<E, ClusterError | RpcClientError>
}

/** Under which id an entity's conversation is kept. */
export const idOf = (name: string, id: string): string => `${name}/${id}`

const eventToJson = (event: Stored): Schema.Json =>
  (EventJson.toJson([event as AgentEvent]) as ReadonlyArray<Schema.Json>)[0]!

/** Options without the type of their services. */
interface Untyped extends Omit<Options, "services"> {
  readonly services?: ((id: string) => Effect.Effect<Context.Context<never>, never, Scope>) | undefined
}

/** Returns what wraps each run, and makes it before the first one. */
const aroundOf = (make: () => Around): Around => {
  const around = lazy(make)
  return (run) => around()(run)
}

const handlers = (name: string, entity: Protocol.NamedConversation, agent: Any, options: Untyped) =>
  Effect.gen(function*() {
    const address = yield* Entity.CurrentAddress
    const sharding = yield* Sharding.Sharding
    const messages = yield* MessageStorage.MessageStorage
    const store = yield* ConversationStore
    const id = idOf(name, address.entityId)
    // The options' functions are called later: what they throw is then the answer. If one threw here, no message would ever be answered.
    const { around, services } = options
    const activation = yield* Activation.make({
      id,
      agent,
      store,
      migrate: options.migrate,
      keepEvents: options.keepEvents,
      tellsStarts: options.tellsStarts,
      services: services === undefined ? undefined : Effect.suspend(() => services(address.entityId)),
      isLeaving: () => !sharding.hasShardId(address.shardId),
      patience: Duration.seconds(1)
    })
    const conversation = new Messages(
      activation,
      store,
      id,
      around === undefined ? undefined : aroundOf(() => around(address.entityId))
    )
    const self = (yield* entity.client)(address.entityId)
    const random = yield* Random.Random
    const offers = new Offers(
      id,
      activation,
      conversation,
      (of) => self.Continue({ key: `${of}/${RunId.make(random)}`, of }, { discard: true })
    )
    const events: EventStream.Source<Stored> = {
      id,
      store,
      eventsOf: (text) => Result.map(Kept.entryFromText(text), ({ events }) => events),
      told: activation.told,
      count: activation.with(({ journal }) => Effect.sync(() => journal.kept.events)),
      pieces: () => activation.written
    }
    return entity.of({
      Say: ({ payload: { input, key } }) => conversation.say(key, input),
      SayAt: ({ payload: { input, key } }) => conversation.say(key, input),
      Approve: ({ payload: { callId, key, params } }) => conversation.approve(key, callId, params),
      Deny: ({ payload: { callId, key, reason } }) => conversation.deny(key, callId, reason),
      GiveResult: ({ payload: { callId, failed, key, result } }) =>
        conversation.giveResult(key, callId, result, failed === true),
      Resume: ({ payload: { key } }) => conversation.resume(key),
      Fork: ({ payload: { key, to } }) => conversation.fork(key, to, idOf(name, to)),
      Cancel: ({ payload: { key } }) => Rpc.fork(conversation.cancel(key)),
      Remove: () => Effect.andThen(activation.remove(), Effect.orDie(messages.clearAddress(address))),
      State: () => Rpc.fork(Effect.map(conversation.state, StateJson.toJson)),
      Events: ({ payload: { after } }) =>
        Rpc.fork(
          EventStream.make(events, after).pipe(
            Stream.map((told) => EventStream.toJson(told, eventToJson)),
            Stream.interruptWhen(activation.removed)
          )
        ),
      Begin: ({ payload: { beginning, key } }) => Rpc.fork(offers.begin(key, Beginning.fromJson(beginning))),
      Continue: ({ payload: { of } }) => offers.continue(of),
      Stop: () => Rpc.fork(offers.stop()),
      View: () => Rpc.fork(Effect.map(offers.view, Beginning.viewToJson))
    })
  })

/** How a conversation's inputs are written as JSON, and how its states and events are read from it. */
export const codec: ConversationClient.Codec<Input, AgentState, Stored> = {
  inputToJson: (input) => Protocol.inputToJson(partsOf(input)),
  stateFromJson: StateJson.fromJson,
  eventFromJson: (json) => Result.map(EventJson.fromJson([json]), ([event]) => event!)
}

/** Talks to a conversation by its requests. */
const clientOn = (id: string, requests: ConversationClient.Requests & AtOnce.Requests, address?: string) => ({
  ...ConversationClient.make(id, requests, codec, address),
  ...AtOnce.make(id, requests)
})

/**
 * Makes the conversations of an agent or a group. The name is their entity's in the cluster, and must never change. Agents in
 * `Handoff.suspend` are checked when the layer is built: what `Agent.make` would throw is then a defect of the layer.
 *
 * Throws `InvalidName` if the name is empty or has a `/`. Throws `InvalidLimit` for a `keepEvents` that is neither a whole number from 0 on
 * nor `Infinity`, and for a `maxIdleTime` that isn't a duration.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = <Name extends string, AgentName extends string, Output, E, R, S = never>(
  name: Name,
  agent: Runnable<AgentName, Output, E, R>,
  given: Options<S> = {}
): Conversation<Name, E, Exclude<R, S>> => {
  const entity = Protocol.makeConversation(name)
  const options = checked(given)
  const { maxIdleTime } = options
  const named = Protocol.namedConversation(entity)
  // The handlers don't know the type of the services that the options make: only the returned type says it.
  const served = named.toLayer(handlers(name, named, agent, options as Untyped), { maxIdleTime })
  // An agent that isn't valid fails here, once. As a conversation opens, it would fail for each message, which would never be answered.
  const layer = Layer.unwrap(Effect.sync(() => (rosterOf(agent), served)))
  return {
    name,
    entity,
    layer: layer as Conversation<Name, E, Exclude<R, S>>["layer"],
    client: Effect.map(
      named.client,
      (clientOf) => (id: string) => clientOn(id, clientOf(id), idOf(name, id))
    ) as Conversation<Name, E, Exclude<R, S>>["client"],
    clientOver: (rpcs) => (id) =>
      clientOn(
        id,
        // A conversation's entity has the requests of `AtOnce` too.
        ConversationClient.requestsOver(rpcs, name, id) as ConversationClient.Requests & AtOnce.Requests
      ) as Client<E>
  }
}
