/**
 * The client of a conversation: its methods, and how they become requests, over the cluster or from outside of it.
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
import type { Entity as EntityOf } from "effect/cluster/Entity"
import type * as EntityProxy from "effect/cluster/EntityProxy"
import type * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import { identity } from "effect/Function"
import * as Hash from "effect/Hash"
import * as Random from "effect/Random"
import type * as Result from "effect/Result"
import type * as RpcClient from "effect/rpc/RpcClient"
import type { RpcClientError } from "effect/rpc/RpcClientError"
import type * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as RunId from "../agent/journal/RunId.ts"
import { paramsGiven } from "../domain/Approval.ts"
import { successOf } from "../domain/DeferredResult.ts"
import type { Answer } from "./Answer.ts"
import { ConversationError, ConversationUnreadable } from "./ConversationError.ts"
import * as EventStream from "./EventStream.ts"
import type { Told } from "./Journal.ts"
import type * as Protocol from "./Protocol.ts"
import { notWithin } from "./Within.ts"

/** What the cluster can fail with, besides the `ConversationError` of a conversation. */
export type ClusterError = MailboxFull | AlreadyProcessingMessage | PersistenceError | EntityNotAssignedToRunner

/** Options of a message. */
export interface Keyed {
  /**
   * The name of the message: of several messages with one key, only the first counts, and all get its answer.
   *
   * By default `say`, `post`, `resume` and `begin` make a random key. The others make one from the call's id and what is given for it (its
   * parameters, its result, or why it failed), `deny` from the call's id alone, `fork` from its target. So the same message counts once.
   */
  readonly key?: string | undefined
}

/**
 * The client of one conversation: `In` is what users can say, `Out` the answer, `State` the stored state, and `Event` the events. `X` are
 * the errors of the cluster or of the connection to it.
 *
 * If the caller of a message is interrupted, the run continues. If the run fails, the answer says so. A method fails with
 * `ConversationError` if nothing could be done. Its `reason` is one that the method names, `WaitsForItself` if the conversation's own run
 * would wait for itself, or `ConversationUnreadable` or `DefinitionChanged` if what is stored can't be continued. While a `fork` makes
 * a plan or a dialogue, the methods of the new one fail with `ForkUnfinished`, except `remove`, and `post`, which only stores its message.
 *
 * @category models
 * @since 0.1.0
 */
export interface Client<in In, out Out, out State, Event, out X = ClusterError> {
  /** Says something, and returns the answer once the run has ended, or waits for approvals or results. */
  readonly say: (input: In, options?: Keyed) => Effect.Effect<Out, ConversationError | X>

  /** Says something, and returns once the message is stored. With `at`, it is delivered at that time. */
  readonly post: (
    input: In,
    options?: Keyed & { readonly at?: DateTime.Utc | undefined }
  ) => Effect.Effect<void, ConversationError | X>

  /**
   * Approves a call, with other `params` if some are given, and continues the run. Returns the answer as `say` does. Fails with
   * `NotAwaitingApproval`, or with `ParametersRejected` if the tool can't read the `params` or a guardrail refuses them.
   */
  readonly approve: (
    callId: string,
    options?: Keyed & { readonly params?: Schema.Json | undefined }
  ) => Effect.Effect<Out, ConversationError | X>

  /**
   * Denies a call that awaits approval, and continues the run. The model reads the reason. Returns the answer as `say` does. Fails with
   * `NotAwaitingApproval`.
   */
  readonly deny: (callId: string, reason: string, options?: Keyed) => Effect.Effect<Out, ConversationError | X>

  /**
   * Gives a call the result that it awaits, as JSON, and continues the run. The same result counts once. Returns the answer as `say` does.
   * Fails with `NotAwaitingResult`, or with `ResultRejected` if the tool can't read the result; the call then still waits.
   */
  readonly giveResult: (
    callId: string,
    result: Schema.Json,
    options?: Keyed
  ) => Effect.Effect<Out, ConversationError | X>

  /**
   * Says that a call failed instead of giving its result, and continues the run. The model reads the reason. Returns the answer as `say`
   * does. Fails with `NotAwaitingResult`.
   */
  readonly giveFailure: (callId: string, reason: string, options?: Keyed) => Effect.Effect<Out, ConversationError | X>

  /**
   * Continues where it stopped, after a failure or an interruption, and returns the answer as `say` does. The cluster keeps the state for
   * you, so a failed run is reopened first; if it met a limit, it meets the limit again. If the conversation has its answer, returns that
   * again and asks no model; if calls still wait, the answer is `Waiting`.
   */
  readonly resume: (options?: Keyed) => Effect.Effect<Out, ConversationError | X>

  /** Cancels the message of a key for good, even before it arrives. Its run stops at once. Returns `false` if the message has another answer already. */
  readonly cancel: (key: string) => Effect.Effect<boolean, ConversationError | X>

  /**
   * Begins the conversation `to` with the state of this one, once earlier messages are answered. Fails with `ConversationExists`. To fork
   * into `to` again, after a failure or after `to` was removed, use another key.
   */
  readonly fork: (to: string, options?: Keyed) => Effect.Effect<void, ConversationError | X>

  /** Removes the conversation, its messages and their answers. It waits for a run that is under way, so `cancel` that run first. */
  readonly remove: Effect.Effect<void, ConversationError | X>

  /** Returns the stored state, without waiting for a run that is under way. */
  readonly state: Effect.Effect<State, ConversationError | X>

  /**
   * Emits the events after a cursor, by default all, and then each new one once it is stored. Ends when the conversation is removed.
   *
   * Pieces (`TextDelta`, `ReasoningDelta`, `ToolParamsDelta` and `ToolCallProgressed`) are emitted at once and never stored: a new reader
   * first gets those since the last event, unless their runner died. Fails with `EventsGone` if events after the cursor were removed
   * (`keepEvents`).
   */
  readonly events: (
    options?: { readonly after?: number | undefined }
  ) => Stream.Stream<Told<Event>, ConversationError | X>
}

/** How inputs are written as JSON, and how states and events are read from it. */
export interface Codec<In, State, Event> {
  readonly inputToJson: (input: In) => Schema.Json
  readonly stateFromJson: (json: Schema.Json) => Result.Result<State, { readonly message: string }>
  readonly eventFromJson: (json: unknown) => Result.Result<Event, string>
}

/** The requests of an entity to one of its ids, over the cluster or another way. */
export type Requests = ReturnType<Effect.Success<Protocol.Named["client"]>>

type Proxied<Type extends string> = EntityProxy.ConvertRpcs<
  Protocol.Named extends EntityOf<string, infer Rpcs> ? Rpcs : never,
  Type
>

/** A client of `EntityProxy.toRpcGroup` for the entity of a name. */
export type Rpcs<Name extends string> = RpcClient.RpcClient<Proxied<Name>, RpcClientError>

/** Returns the requests to one id of an entity, as a client from outside of the cluster sends them. */
export const requestsOver = <Name extends string>(client: Rpcs<Name>, name: Name, id: string): Requests => {
  // What `EntityProxy` makes of an entity has the id beside each payload. Its type is computed from the entity's and the name's, so
  // TypeScript can't look up a request in it by a tag that is put together here.
  const proxied = client as unknown as Readonly<Record<string, Send>>
  const request = (tag: string) => (payload: unknown, options?: { readonly discard?: boolean }) =>
    proxied[`${name}.${tag}${options?.discard === true ? "Discard" : ""}`]!({ entityId: id, payload })
  const tags = [
    "Say",
    "SayAt",
    "Approve",
    "Deny",
    "GiveResult",
    "Resume",
    "Fork",
    "Cancel",
    "Remove",
    "State",
    "Events",
    "Begin",
    "Stop",
    "View"
  ] satisfies ReadonlyArray<keyof ReturnType<Effect.Success<Protocol.NamedConversation["client"]>>>
  // `fromEntries` knows neither that all requests are there nor which function belongs to which tag.
  return Object.fromEntries(tags.map((tag) => [tag, request(tag)])) as unknown as Requests
}

type Send = (payload: { readonly entityId: string; readonly payload: unknown }) => unknown

const newKey = Effect.map(Random.Random, RunId.make)

const keyOf = (options: Keyed | undefined): Effect.Effect<string> =>
  options?.key === undefined ? newKey : Effect.succeed(options.key)

/** Returns the key of a result or a failure. By default it depends on what is given, so that a corrected result is a new message. */
const givenKey = (callId: string, given: Schema.Json, options: Keyed | undefined): string =>
  options?.key ?? `result/${callId}/${Hash.string(JSON.stringify(given))}`

/**
 * How long a reader of events hears nothing before it asks again for what comes after the last one. A message between runners may be lost
 * when one of them is killed, and the cluster doesn't repeat those of a stream.
 */
const silence = "30 seconds"

/** How often a request is sent again if its runner leaves, each time after a tenth of a second. */
const moves = 100

/** Sends a request again if its runner leaves and interrupts it: the next one answers. Only for requests that may be sent twice. */
export const wherever = <A, E, R>(request: Effect.Effect<A, E, R>, left: number = moves): Effect.Effect<A, E, R> =>
  left === 0 ? request : Effect.catchCauseIf(
    request,
    Cause.hasInterruptsOnly,
    () => Effect.delay(Effect.suspend(() => wherever(request, left - 1)), "100 millis")
  )

/** Makes the client of a conversation from its requests. With `address`, a caller within that conversation never waits for it. */
export const make = <In, State, Event>(
  id: string,
  requests: Requests,
  { eventFromJson, inputToJson, stateFromJson }: Codec<In, State, Event>,
  address?: string
): Client<In, Answer, State, Event> => {
  const waiting: <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.Effect<A, E | ConversationError, R> =
    address === undefined ? identity : notWithin(address)
  return {
    say: (input, options) =>
      waiting(Effect.flatMap(keyOf(options), (key) => requests.Say({ key, input: inputToJson(input) }))),
    post: (input, options) =>
      Effect.flatMap(keyOf(options), (key) => {
        const said = { key, input: inputToJson(input) }
        return options?.at === undefined
          ? requests.Say(said, { discard: true })
          : requests.SayAt({ ...said, at: options.at }, { discard: true })
      }),
    approve: (callId, { key, params } = {}) => {
      const given = params === undefined ? undefined : paramsGiven(params)
      const changed = given === undefined ? "" : `/${Hash.string(JSON.stringify(given))}`
      return waiting(requests.Approve({
        key: key ?? `approve/${callId}${changed}`,
        callId,
        ...(given === undefined ? undefined : { params: given })
      }))
    },
    deny: (callId, reason, options) =>
      waiting(requests.Deny({ key: options?.key ?? `deny/${callId}`, callId, reason })),
    giveResult: (callId, result, options) => {
      const given = successOf(result).result
      return waiting(requests.GiveResult({ key: givenKey(callId, given, options), callId, result: given }))
    },
    giveFailure: (callId, reason, options) =>
      waiting(
        requests.GiveResult({ key: givenKey(callId, { reason }, options), callId, result: reason, failed: true })
      ),
    resume: (options) => waiting(Effect.flatMap(keyOf(options), (key) => requests.Resume({ key }))),
    cancel: (key) => requests.Cancel({ key }),
    fork: (to, options) => waiting(requests.Fork({ key: options?.key ?? `fork/${to}`, to })),
    remove: waiting(Effect.suspend(() => requests.Remove())),
    state: Effect.flatMap(
      wherever(Effect.suspend(() => requests.State())),
      (json) =>
        Effect.mapError(
          Effect.fromResult(stateFromJson(json)),
          ({ message: issue }) => new ConversationError({ reason: new ConversationUnreadable({ id, issue }) })
        )
    ),
    events: ({ after = 0 } = {}) =>
      Stream.suspend(() => {
        let seen = Math.max(0, after)
        let last: Told<Event>["piece"]
        let isOver = false
        const told = Stream.suspend(() => requests.Events({ after: seen })).pipe(
          Stream.onEnd(Effect.sync(() => void (isOver = true))),
          Stream.timeout(silence),
          // A runner that leaves interrupts its streams, and the next one continues them.
          Stream.catchCauseIf(Cause.hasInterruptsOnly, () => Stream.fromEffectDrain(Effect.sleep("100 millis")))
        )
        return Stream.unfold(told, () => Effect.sync(() => isOver ? undefined : [told, told] as const)).pipe(
          Stream.flatten(),
          Stream.mapEffect((json) => EventStream.fromJson(id, json, eventFromJson)),
          // If the request is sent again, the pieces so far come again; if it is sent to another runner, so do the events.
          Stream.filter(({ cursor, piece }) => {
            if (piece !== undefined) {
              const isNew = last === undefined || piece.epoch !== last.epoch || piece.number > last.number
              if (isNew) last = piece
              return isNew
            }
            const isNew = cursor > seen
            if (isNew) seen = cursor
            return isNew
          })
        )
      })
  }
}
