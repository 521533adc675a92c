/**
 * Conversations on Effect's cluster: each is an entity, which one runner at a time has, and what it is told outlives any runner.
 *
 * 1. A message is a persisted request. Until it is answered, it is in flight; when a runner dies, the next one goes on with it.
 * 2. What is kept is a log of events, and the state is its fold. Only the runner that claimed a conversation last can append.
 * 3. A message's input is in the state once for each key, and a call's result that was told is never computed again.
 * 4. A handler that isn't `idempotent` is started at most once. If nobody knows how it ended, the call says so, and so does the answer.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import type {
  AlreadyProcessingMessage,
  EntityNotAssignedToRunner,
  MailboxFull,
  PersistenceError
} from "effect/cluster/ClusterError"
import * as Entity from "effect/cluster/Entity"
import * as MessageStorage from "effect/cluster/MessageStorage"
import * as Sharding from "effect/cluster/Sharding"
import type * as DateTime from "effect/DateTime"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Hash from "effect/Hash"
import type * as Layer from "effect/Layer"
import * as Random from "effect/Random"
import * as Rpc from "effect/rpc/Rpc"
import type * as Schema from "effect/Schema"
import type { Scope } from "effect/Scope"
import * as Stream from "effect/Stream"
import { type Input, partsOf } from "../agent/definition/Input.ts"
import * as RunId from "../agent/journal/RunId.ts"
import type { SessionError } from "../agent/session/SessionError.ts"
import type { AgentError } from "../domain/AgentError.ts"
import type { Failure } from "../domain/AgentStatus.ts"
import * as StateJson from "../domain/StateJson.ts"
import type { AgentState } from "../domain/StateSchema.ts"
import type { Any, Runnable } from "../handoff/Runnable.ts"
import * as Activation from "./Activation.ts"
import type { Answer } from "./Answer.ts"
import { ConversationError, ConversationUnreadable } from "./ConversationError.ts"
import { ConversationStore } from "./ConversationStore.ts"
import * as EventStream from "./EventStream.ts"
import type { Told } from "./Journal.ts"
import { Messages } from "./Messages.ts"
import * as Protocol from "./Protocol.ts"

export type { Migrate } from "./Activation.ts"
export { Answer } from "./Answer.ts"
export {
  ConversationError,
  ConversationExists,
  ConversationUnreadable,
  DefinitionChanged,
  Reason
} from "./ConversationError.ts"
export type { Missing } from "./Definition.ts"
export type { Told } from "./Journal.ts"
export { sharding } from "./Settings.ts"
export { UnknownCall } from "./UnknownCall.ts"

/** What the cluster can fail with beside. */
export type ClusterError = MailboxFull | AlreadyProcessingMessage | PersistenceError | EntityNotAssignedToRunner

type TagOf<E> = E extends { readonly _tag: infer Tag extends string } ? Tag : never

/**
 * The answer to a message. The `tag` of its `error` is that of the agent's own error, or of the reason why the run failed.
 *
 * @category models
 * @since 0.1.0
 */
export interface AnswerOf<E> extends Omit<Answer, "error"> {
  readonly error?: Omit<Failure, "tag"> & {
    readonly tag: TagOf<E | AgentError["reason"] | SessionError["reason"]> | "Failure" | "Defect"
  }
}

/** The key of a message: of one key, a message counts once. Without one it gets its own. */
export interface Keyed {
  readonly key?: string | undefined
}

/**
 * A conversation as it is talked to from anywhere in the cluster: `E` is what a run of its agent may fail with.
 *
 * Whoever waits for an answer may go away: the run goes on.
 *
 * @category models
 * @since 0.1.0
 */
export interface Client<E = unknown> {
  /** Says something, and gives how the conversation stands when the run has ended. */
  readonly say: (input: Input, options?: Keyed) => Effect.Effect<AnswerOf<E>, ConversationError | ClusterError>

  /** Says something, and returns once that is kept. With `at` it is said then. */
  readonly post: (
    input: Input,
    options?: Keyed & { readonly at?: DateTime.Utc | undefined }
  ) => Effect.Effect<void, ConversationError | ClusterError>

  /** Lets a call run that awaits approval, with other `params` if some are given, and goes on. */
  readonly approve: (
    callId: string,
    options?: Keyed & { readonly params?: Schema.Json | undefined }
  ) => Effect.Effect<AnswerOf<E>, ConversationError | ClusterError>

  /** Keeps a call from running that awaits approval, and goes on. The model reads the reason. */
  readonly deny: (
    callId: string,
    reason: string,
    options?: Keyed
  ) => Effect.Effect<AnswerOf<E>, ConversationError | ClusterError>

  /** Goes on where the conversation stopped: after a failure, or a limit. */
  readonly resume: (options?: Keyed) => Effect.Effect<AnswerOf<E>, ConversationError | ClusterError>

  /** Cancels the message of a key for good, also before it comes. Its run stops at once. Says whether that was in time. */
  readonly cancel: (key: string) => Effect.Effect<boolean, ConversationError | ClusterError>

  /** Begins another conversation with the state that this one has after the messages before. */
  readonly fork: (to: string, options?: Keyed) => Effect.Effect<void, ConversationError | ClusterError>

  /** Removes the conversation, its messages and their answers. It waits for a run that is under way: `cancel` that first. */
  readonly remove: Effect.Effect<void, ConversationError | ClusterError>

  /** The state that is kept. It doesn't wait for a run that is under way. */
  readonly state: Effect.Effect<AgentState, ConversationError | ClusterError>

  /**
   * The events behind a cursor, from the first by default, and then each that comes. An event is told once it is kept. Pieces of streams
   * are told at once, and are lost where a reader or a runner is.
   */
  readonly events: (
    options?: { readonly after?: number | undefined }
  ) => Stream.Stream<Told, ConversationError | ClusterError>
}

/** How conversations of an agent are held: how long one stays in memory that nobody talks to, and what changes a state of an old version. */
export interface Options {
  readonly maxIdleTime?: Duration.Input | undefined
  readonly migrate?: Activation.Migrate | undefined
}

/**
 * The conversations of an agent or a group.
 *
 * `layer` lets a runner have them: it needs what the agent needs. `client` talks to one by its id, and needs the cluster alone.
 *
 * @category models
 * @since 0.1.0
 */
export interface Conversation<Name extends string, out E, out R> {
  readonly name: Name
  readonly entity: ReturnType<typeof Protocol.make<Name>>
  readonly layer: Layer.Layer<
    never,
    never,
    Exclude<R, Scope> | ConversationStore | Sharding.Sharding | MessageStorage.MessageStorage
  >
  readonly client: Effect.Effect<(id: string) => Client<E>, never, Sharding.Sharding>
}

/** What is kept under an id of an entity. */
const idOf = (name: string, id: string): string => `${name}/${id}`

const handlers = (name: string, entity: ReturnType<typeof Protocol.make>, agent: Any, options: Options) =>
  Effect.gen(function*() {
    const address = yield* Entity.CurrentAddress
    const sharding = yield* Sharding.Sharding
    const messages = yield* MessageStorage.MessageStorage
    const store = yield* ConversationStore
    const id = idOf(name, address.entityId)
    const activation = yield* Activation.make({
      id,
      agent,
      store,
      migrate: options.migrate,
      isLeaving: () => !sharding.hasShardId(address.shardId),
      patience: Duration.seconds(1)
    })
    const conversation = new Messages(activation, store, id)
    return entity.of({
      Say: ({ payload: { input, key } }) => conversation.say(key, Protocol.inputFromJson(input)),
      SayAt: ({ payload: { input, key } }) => conversation.say(key, Protocol.inputFromJson(input)),
      Approve: ({ payload: { callId, key, params } }) => conversation.approve(key, callId, params),
      Deny: ({ payload: { callId, key, reason } }) => conversation.deny(key, callId, reason),
      Resume: ({ payload: { key } }) => conversation.resume(key),
      Fork: ({ payload: { key, to } }) => conversation.fork(key, to, idOf(name, to)),
      Cancel: ({ payload: { key } }) => Rpc.fork(conversation.cancel(key)),
      Remove: () => Effect.andThen(activation.remove(), Effect.orDie(messages.clearAddress(address))),
      State: () => Rpc.fork(Effect.map(conversation.state, StateJson.toJson)),
      Events: ({ payload: { after } }) =>
        Rpc.fork(Stream.map(EventStream.make(activation, store, id, after), EventStream.toJson))
    })
  })

const newKey = Effect.map(Random.Random, RunId.make)

const keyOf = (options: Keyed | undefined): Effect.Effect<string> =>
  options?.key === undefined ? newKey : Effect.succeed(options.key)

const makeClient = (entity: ReturnType<typeof Protocol.make>) =>
  Effect.map(entity.client, (clientOf) => (id: string): Client => {
    const client = clientOf(id)
    const answering = (self: Effect.Effect<Answer, ConversationError | ClusterError>) =>
      self as Effect.Effect<AnswerOf<unknown>, ConversationError | ClusterError>
    return {
      say: (input, options) =>
        answering(
          Effect.flatMap(keyOf(options), (key) => client.Say({ key, input: Protocol.inputToJson(partsOf(input)) }))
        ),
      post: (input, options) =>
        Effect.flatMap(keyOf(options), (key) => {
          const said = { key, input: Protocol.inputToJson(partsOf(input)) }
          return options?.at === undefined
            ? client.Say(said, { discard: true })
            : client.SayAt({ ...said, at: options.at }, { discard: true })
        }),
      approve: (callId, { key, params } = {}) => {
        const changed = params === undefined ? "" : `/${Hash.string(JSON.stringify(params))}`
        return answering(client.Approve({
          key: key ?? `approve/${callId}${changed}`,
          callId,
          ...(params === undefined ? undefined : { params })
        }))
      },
      deny: (callId, reason, options) =>
        answering(client.Deny({ key: options?.key ?? `deny/${callId}`, callId, reason })),
      resume: (options) => answering(Effect.flatMap(keyOf(options), (key) => client.Resume({ key }))),
      cancel: (key) => client.Cancel({ key }),
      fork: (to, options) => client.Fork({ key: options?.key ?? `fork/${to}`, to }),
      remove: client.Remove(),
      state: Effect.flatMap(
        client.State(),
        (json) =>
          Effect.mapError(
            Effect.fromResult(StateJson.fromJson(json)),
            ({ message: issue }) => new ConversationError({ reason: new ConversationUnreadable({ id, issue }) })
          )
      ),
      events: ({ after = 0 } = {}) =>
        Stream.suspend(() => {
          let seen = after
          // A runner that leaves interrupts its streams, and the next one goes on with them.
          const told = (): Stream.Stream<Schema.Json, ConversationError | ClusterError> =>
            client.Events({ after: seen }).pipe(
              Stream.catchCauseIf(
                Cause.hasInterruptsOnly,
                () => Stream.unwrap(Effect.delay(Effect.sync(told), "100 millis"))
              )
            )
          return told().pipe(
            Stream.mapEffect((json) => EventStream.fromJson(id, json)),
            // A stream that was attached to another runner tells the events anew.
            Stream.filter(({ cursor, piece }) => {
              if (piece !== undefined) return true
              const isNew = cursor > seen
              if (isNew) seen = cursor
              return isNew
            })
          )
        })
    }
  })

/**
 * Makes the conversations of an agent or a group. The name is that of their entity in the cluster, and must stay.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = <Name extends string, AgentName extends string, Output, E, R>(
  name: Name,
  agent: Runnable<AgentName, Output, E, R>,
  options: Options = {}
): Conversation<Name, E, R> => {
  const entity = Protocol.make(name)
  const { maxIdleTime } = options
  const untyped = entity as unknown as ReturnType<typeof Protocol.make>
  const layer = untyped.toLayer(handlers(name, untyped, agent, options), { maxIdleTime })
  return {
    name,
    entity,
    layer: layer as Conversation<Name, E, R>["layer"],
    client: makeClient(untyped) as Conversation<Name, E, R>["client"]
  }
}
