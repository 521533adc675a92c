/**
 * A session: the current state of a conversation with an agent or a group, and the operations that change it.
 *
 * The agent itself is a value without state. A session holds the state, and lives as long as its scope.
 *
 * 1. One operation runs at a time. Others wait, and run in the order in which they came; interrupting a waiting one doesn't affect the
 *    others.
 * 2. The state is always legal. It follows a run event by event. A failed run leaves its `Failed` state, an interrupted run the state of
 *    its `RunInterrupted` event, and the next call continues from there.
 * 3. The services of a run are those that the session was made with, so its methods need none. Clock, spans, loggers and observers are
 *    those of the code that calls a method.
 * 4. Code that a session runs can't call the session: it would wait for its own end, so it fails with `ReentrantOperation`. Only the set-up
 *    and the clean-up of a mode may `call`, `invoke`, `enterMode`, `schedule` and `configure`, since nothing else runs then.
 * 5. When its scope closes, the current run is interrupted, its last state is saved, and all waiting and later operations fail with
 *    `SessionClosed`. Then modes are left, the innermost first. In a stored session they stay entered in the stored state, and only their
 *    finalizers run. But a mode that neither the agent nor the session lists (a program entered it by `Mode.enter`) is left, and so are the
 *    modes above it.
 *
 * **Example** (Two calls, one conversation)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Agent, AgentState, Session } from "troupe"
 * import { MockModel } from "troupe/testing"
 *
 * const assistant = Agent.make("assistant")
 *
 * const program = Effect.gen(function*() {
 *   const session = yield* Session.Session
 *   yield* session.call("My name is Ada.")
 *   return AgentState.text(yield* session.call("What is my name?"))
 * }).pipe(
 *   Effect.provide(Session.layer(assistant)),
 *   Effect.provide(MockModel.layer(MockModel.queue("Hello, Ada.", "Ada.")))
 * )
 *
 * await Effect.runPromise(program) // => "Ada."
 * ```
 *
 * @since 0.1.0
 */
import type * as Tool from "effect/ai/Tool"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as PubSub from "effect/PubSub"
import type * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as SubscriptionRef from "effect/SubscriptionRef"
import { type AgentError, isAgentError } from "../domain/AgentError.ts"
import type { AgentEvent } from "../domain/AgentEvent.ts"
import * as AgentState from "../domain/AgentState.ts"
import type { ModeTransition } from "../domain/ModeTransition.ts"
import { OwnError } from "../domain/OwnError.ts"
import type { SettingsChange } from "../domain/Settings.ts"
import type { Any, Runnable } from "../handoff/Runnable.ts"
import { TypeId as HostTypeId } from "../modes/Host.ts"
import * as Mode from "../modes/Mode.ts"
import { isModeError, type ModeError } from "../modes/ModeError.ts"
import type { Roster } from "./definition/AgentDefinition.ts"
import type { Input } from "./definition/Input.ts"
import { extend, rosterOf } from "./definition/Roster.ts"
import * as LiveModes from "./journal/LiveModes.ts"
import type { Loop } from "./journal/Loop.ts"
import { stateGiven } from "./run/RunStart.ts"
import * as InvokeTool from "./session/InvokeTool.ts"
import { nestedOrAlone, type OpenSession, runAlone } from "./session/OpenSession.ts"
import * as OperationQueue from "./session/OperationQueue.ts"
import * as SessionApprovals from "./session/SessionApprovals.ts"
import { isSessionError, type SessionError } from "./session/SessionError.ts"
import * as SessionModes from "./session/SessionModes.ts"
import * as SessionPins from "./session/SessionPins.ts"
import * as SessionRuns from "./session/SessionRuns.ts"
import type { CallOptions } from "./session/SessionRuns.ts"
import * as SessionServices from "./session/SessionServices.ts"
import type { OpenDocument, Store } from "./session/Store.ts"

export { OwnError } from "../domain/OwnError.ts"
export {
  CallsOpen,
  CallUnanswered,
  isSessionError,
  ParametersRejected,
  Reason,
  ReentrantOperation,
  ResultPending,
  ResultRejected,
  SessionClosed,
  SessionError,
  StoreConflict,
  StoredStateUnreadable,
  StoreUnavailable,
  ToolNotFound
} from "./session/SessionError.ts"
export type { CallOptions } from "./session/SessionRuns.ts"
export { layerStoreFileSystem, layerStoreSql, load, remove, type Store, store } from "./session/Store.ts"
export { showsState } from "./session/StoredLog.ts"

/**
 * A session: `Output` is what the agent's answers decode to, `E` what a run may fail with besides `AgentError`.
 *
 * The type of the service `Session.Session` doesn't know the agent, so its methods wrap an agent's own error in an `OwnError`.
 *
 * Every method fails with a `SessionError` if the session is closed (`SessionClosed`), or if code that the session runs calls it
 * (`ReentrantOperation`). In a stored session it fails with one if the store does (`StoreConflict`, `StoreUnavailable`,
 * `StoredStateUnreadable`).
 *
 * @category models
 * @since 0.1.0
 */
export interface Session<out Output = unknown, out E = OwnError>
  extends AgentState.GivesOutput<Output>, Mode.Enterable
{
  /** The current state, without waiting: during a run it is the state after the last event. */
  readonly state: Effect.Effect<AgentState.AgentState>

  /**
   * The current state, then each new one. Every event that changes the state emits one; pieces of text don't. It ends when the session is
   * closed, and a slow reader misses nothing. These are states of the session, as `state` is, so the store may not have one yet. If an event is
   * saved at once, `stream` and observers show it only after its save.
   */
  readonly changes: Stream.Stream<AgentState.AgentState>

  /**
   * Says something, and returns the state with the answer, or with calls that await approval or results.
   *
   * It continues from any state, also after a failure and while calls wait, as `Agent.continueConversation` does. Fails with `AgentError`
   * or an agent's own error if the run fails.
   */
  readonly call: (
    input: Input,
    options?: CallOptions
  ) => Effect.Effect<AgentState.AgentState, AgentError | E | SessionError>

  /**
   * Says something, and streams every event. Without an input it continues as `resume` does.
   *
   * The session's state is updated before the reader gets the event. A reader that leaves interrupts the run. The run doesn't wait for its
   * reader, so a reader may be slow, or call the session while it reads. The stream fails as `call` does.
   */
  readonly stream: (
    input?: Input | undefined,
    options?: CallOptions
  ) => Stream.Stream<AgentEvent, AgentError | E | SessionError>

  /**
   * Continues where the state stopped: after approvals, results that were given, an interruption, a failure, or a restart. The session keeps
   * the state for you, so a failed run is reopened first; if it met a limit, it meets the limit again. Does nothing if the run has its
   * answer, with the exceptions of `Agent.resume`. Fails as `call` does.
   */
  readonly resume: Effect.Effect<AgentState.AgentState, AgentError | E | SessionError>

  /**
   * Approves a call. Nothing runs until `resume`, so that several calls can be answered first. Approving it again with the same parameters
   * changes nothing.
   *
   * With `params`, which are JSON, the call runs with those instead of the model's. The guardrails on calls judge them first, and may
   * replace them. If the tool can't read them, or a guardrail refuses them, `approve` fails with a `SessionError` (`ParametersRejected`)
   * and changes nothing.
   *
   * Fails with `NotAwaitingApproval` if the call doesn't await approval, or if the provider runs it and `params` differ from the model's.
   */
  readonly approve: (
    callId: string,
    options?: { readonly params?: Schema.Json | undefined }
  ) => Effect.Effect<AgentState.AgentState, AgentState.NotAwaitingApproval | SessionError>

  /**
   * Denies a call; the model reads the reason. Nothing runs until `resume`. Denying it again changes nothing: the first reason stays.
   *
   * Fails with `NotAwaitingApproval` if the call doesn't await approval.
   */
  readonly deny: (
    callId: string,
    reason: string
  ) => Effect.Effect<AgentState.AgentState, AgentState.NotAwaitingApproval | SessionError>

  /**
   * Gives a call the result that it awaits, as JSON. Nothing runs until `resume`. Giving the same result again changes nothing.
   *
   * If the result doesn't fit the tool's success schema, `giveResult` fails with a `SessionError` (`ResultRejected`) and changes nothing.
   * The agent's guardrails on results judge it first, and only what passed is kept.
   *
   * Fails with `NotAwaitingResult` if the call doesn't await a result.
   */
  readonly giveResult: (
    callId: string,
    result: Schema.Json
  ) => Effect.Effect<AgentState.AgentState, AgentState.NotAwaitingResult | SessionError>

  /**
   * Says that a call that awaits its result failed; the model reads the reason. Nothing runs until `resume`. The run doesn't end, even if
   * the tool is in `fatal`.
   *
   * Fails with `NotAwaitingResult` if the call doesn't await a result.
   */
  readonly giveFailure: (
    callId: string,
    reason: string
  ) => Effect.Effect<AgentState.AgentState, AgentState.NotAwaitingResult | SessionError>

  /**
   * Runs a tool of the agent in control as if its model had called it, and returns the handler's result.
   *
   * The call and its result are recorded as an assistant turn without usage, and the call's metadata marks it as invoked. The call runs
   * under the tool's policy and the agent's guardrails. It asks no model, starts no run and needs no approval. Afterwards `resume` lets the
   * model answer the result, and `call` adds more words first.
   *
   * If the handler fails, `invoke` fails with its error, even for a tool in `fatal`; no run fails. Fails with a `SessionError` of these
   * reasons: `ToolNotFound` if the agent doesn't offer the tool, `CallsOpen` if the state has open calls, `ParametersRejected` if `params`
   * don't fit, `ResultPending` if the handler leaves its result for later, and `CallUnanswered` if there is neither a result nor a failure.
   */
  readonly invoke: <T extends Tool.Any>(
    tool: T,
    params: Tool.Parameters<T>
  ) => Effect.Effect<Tool.Success<T>, Tool.Failure<T> | SessionError>

  /**
   * Returns another session that begins with the state of this one, and shares nothing else. It waits for earlier operations, so that no
   * call runs in both. The new session isn't stored, and is closed with the scope that it is made in.
   */
  readonly fork: Effect.Effect<Session<Output, E>, SessionError, Scope.Scope>

  /**
   * Enters a mode of the agent in control, or of the session, by its name, on top of the others. `params` are JSON; `{}` by default. The mode stays entered
   * until it is left: by `exitMode`, by the model, by a move to another mode, by a handoff without `carryModes`, or at the end of a session
   * without a store.
   *
   * Fails with a `ModeError` if there is no such mode, its parameters are wrong, or it can't be entered here, and with the error of its
   * set-up. Then the mode isn't entered.
   */
  readonly enterMode: (
    name: string,
    params?: Schema.Json
  ) => Effect.Effect<AgentState.AgentState, E | ModeError | SessionError>

  /**
   * Leaves the innermost mode. If a name is given, that must be the mode's. The mode's clean-up may return a move that keeps the mode entered.
   *
   * Fails with a `ModeError` if no mode is entered, another one is on top, or the agent lacks an entered mode; then none is left. If the
   * clean-up fails, `exitMode` fails with its error, and the mode is left all the same. After a restart, entered modes may have to be set
   * up again first. If that fails, `exitMode` runs the clean-up, but no finalizers, leaves the mode, and succeeds.
   */
  readonly exitMode: (name?: string) => Effect.Effect<AgentState.AgentState, E | ModeError | SessionError>

  /**
   * Requests a move between modes, which is carried out before the agent's model is asked next. The latest request wins. Fails with a
   * `ModeError` if the move isn't possible.
   */
  readonly schedule: (
    transition: ModeTransition
  ) => Effect.Effect<AgentState.AgentState, ModeError | SessionError>

  /**
   * Changes conversation settings: which tools the agent in control offers, which of them its model must or may use, which model is asked.
   * What isn't given stays as it is; what is `undefined` returns to the agent's own. All are dropped when another agent takes
   * over. When a mode of isolation `config` or `fork` is left, those from before it return. A choice that forces a call holds only for the
   * first request after an input.
   *
   * Fails with a `ModeError` if the agent doesn't have a tool or a model that is named (`UnknownSetting`).
   */
  readonly configure: (settings: SettingsChange) => Effect.Effect<AgentState.AgentState, ModeError | SessionError>

  /**
   * Pins a turn of the conversation, counted from 0: a context window never leaves it out. If there is no such turn, nothing is pinned.
   *
   * In a mode that has cut or edited its view, `turn` counts the turns of the view. When the mode is left, the turns from before that
   * change return as they were, so pins set on them in the view are lost.
   */
  readonly pin: (turn: number) => Effect.Effect<AgentState.AgentState, SessionError>

  /** Takes the pin off a turn, counted from 0. */
  readonly unpin: (turn: number) => Effect.Effect<AgentState.AgentState, SessionError>
}

/** The type of the session of an agent or a group. */
export type Of<A> = A extends Runnable<infer _Name, infer Output, infer E, infer _R> ? Session<Output, E> : never

/**
 * The service of a program's session.
 *
 * One service serves any agent. A program with several sessions, or one that needs the types of its agent's errors, makes its own service:
 * `class Desk extends Context.Service<Desk, Session.Of<typeof desk>>()("app/Desk")`, provided by `Layer.effect(Desk, Session.make(desk))`.
 *
 * @category services
 * @since 0.1.0
 */
export const Session: Context.Service<Session, Session> = Context.Service("troupe/agent/Session")

/** Options of a session; everything is optional. */
export interface Options<E = never, R = never, Modes extends ReadonlyArray<Mode.Any> = []> {
  /** The state to begin with if the `store` holds none; an empty one by default. */
  readonly state?: AgentState.AgentState | undefined
  /** Where the state is stored, such as `Session.store(id)`; nowhere by default. */
  readonly store?: Store<E, R> | undefined
  /** Modes for every agent in the session, besides the agent's own; none by default. */
  readonly modes?: Modes | undefined
}

/** All errors of sessions. The type of a session names those that it can really fail with. */
type Untyped = Session<unknown, unknown>

const open = (
  agent: Any,
  roster: Roster,
  services: SessionServices.MergeServices,
  state: AgentState.AgentState,
  store: OpenDocument | undefined,
  id?: string
): Effect.Effect<Untyped, never, Scope.Scope> =>
  Effect.gen(function*() {
    const ref = yield* SubscriptionRef.make(state)
    // Marks the end of the stream of states. It is recognized by identity and never emitted.
    const end = { ...state }
    yield* Effect.addFinalizer(() => PubSub.end(ref.pubsub, end))
    const live = LiveModes.make(() => made)
    // The queue closes first, so that modes are left when nothing runs any more.
    yield* Effect.addFinalizer((exit) => SessionModes.end(session, exit))
    const queue = yield* OperationQueue.make(agent.name)
    const isNew = state.steps === 0 && state.conversation.turns.length === 0
    const unsaved = store === undefined ? undefined : []
    const log = { session: id, run: undefined, events: isNew ? 0 : undefined, unsaved, isBehind: false }
    const session: OpenSession = { agent, roster, services, queue, ref, store, live, log }
    const made: Untyped = fromOpen(session, end)
    yield* SessionModes.resume(session)
    return made
  })

const fromOpen = (session: OpenSession, end: AgentState.AgentState): Untyped => {
  const { agent, queue, ref, roster, services } = session
  const call = (input: Input, options?: CallOptions) => SessionRuns.call(session, input, options)
  return {
    [AgentState.ReadOutput]: agent[AgentState.ReadOutput],
    [HostTypeId]: SessionModes.operations(session, call),
    state: SubscriptionRef.get(ref),
    changes: Stream.takeWhile(SubscriptionRef.changes(ref), (state) => state !== end),
    call,
    stream: (input, options) => SessionRuns.stream(session, input, options),
    resume: SessionRuns.resume(session),
    approve: (callId, options) => SessionApprovals.approve(session, callId, options?.params),
    deny: (callId, reason) => SessionApprovals.deny(session, callId, reason),
    giveResult: (callId, result) => SessionApprovals.giveResult(session, callId, result),
    giveFailure: (callId, reason) => SessionApprovals.giveFailure(session, callId, reason),
    invoke: (tool, params) => {
      const invoked = (loop: Loop) => InvokeTool.run(loop, tool, params)
      // `InvokeTool` doesn't keep the types of tools; the type of the session names them.
      return nestedOrAlone(session, invoked, runAlone(session, "invoke", invoked)) as Effect.Effect<never>
    },
    fork: Effect.flatMap(
      OperationQueue.run(queue, () => ({ name: "fork", task: SubscriptionRef.get(ref) })),
      (state) => open(agent, roster, services, state, undefined)
    ),
    enterMode: (name, params) => SessionModes.enter(session, name, params),
    exitMode: (name) => SessionModes.exit(session, name),
    // `SessionModes` and `SessionPins` don't keep the types of errors; the type of the session names them.
    schedule: (transition) => SessionModes.schedule(session, transition) as Effect.Effect<never>,
    configure: (settings) => SessionModes.configure(session, settings) as Effect.Effect<never>,
    pin: (turn) => SessionPins.pin(session, turn, true) as Effect.Effect<never>,
    unpin: (turn) => SessionPins.pin(session, turn, false) as Effect.Effect<never>
  }
}

/**
 * Makes a session that is closed with its scope. Its runs use the services of this effect.
 *
 * It begins with the stored state if there is a `store` that holds one, or else with `state`, or else with an empty one. Use `resume` to
 * continue a state in the middle of a run.
 *
 * Fails with the error of the `store`: for `Session.store`, a `SessionError` if what is stored can't be read. Dies with `DuplicateMode`,
 * `DuplicateTool` or `AmbiguousTool` if a name of `modes` or of their tools is taken.
 *
 * **Example** (The errors of an agent keep their types)
 *
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Tool, Toolkit } from "effect/ai"
 * import { Agent, Session } from "troupe"
 * import { MockModel, MockResponse } from "troupe/testing"
 *
 * class Refused extends Schema.TaggedError<Refused>()("Refused", { order: Schema.String }) {}
 * const Refund = Tool.make("refund", { parameters: Schema.Struct({ order: Schema.String }), failure: Refused })
 * const Refunds = Toolkit.make(Refund)
 * const clerk = Agent.make("clerk", { toolkit: Refunds, fatal: ["refund"] })
 *
 * const program = Effect.gen(function*() {
 *   const session = yield* Session.make(clerk)
 *   return yield* session.call("Refund order 7").pipe(
 *     Effect.as("refunded"),
 *     Effect.catchTag("Refused", (error) => Effect.succeed(`order ${error.order} can't be refunded`))
 *   )
 * }).pipe(
 *   Effect.scoped,
 *   Effect.provide(Refunds.toLayer({ refund: ({ order }) => Effect.fail(new Refused({ order })) })),
 *   Effect.provide(MockModel.layer(MockModel.queue(MockResponse.toolCall("refund", { order: "7" }))))
 * )
 *
 * await Effect.runPromise(program) // => "order 7 can't be refunded"
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = <
  Name extends string,
  Output,
  E,
  R,
  StoreE = never,
  StoreR = never,
  const Modes extends ReadonlyArray<Mode.Any> = []
>(
  agent: Runnable<Name, Output, E, R>,
  options?: Options<StoreE, StoreR, Modes>
): Effect.Effect<
  Session<Output, E | Mode.Error<Modes[number]>>,
  StoreE,
  R | StoreR | Mode.Services<Modes[number]> | Scope.Scope
> =>
  Effect.gen(function*() {
    const services = yield* SessionServices.capture
    const roster = extend(rosterOf(agent), options?.modes ?? [])
    const store = options?.store === undefined ? undefined : yield* options.store.open
    const state = store?.restored ?? stateGiven("A session", options?.state ?? roster.initial)
    // `open` knows agents without their types.
    return (yield* open(agent, roster, services, state, store, options?.store?.id)) as Session<Output, E>
  })

/**
 * Provides the session of an agent or a group, closed with the layer, and the session's conversation as `Mode.Host`.
 *
 * Fails and dies as `make` does. The methods of the session fail with `OwnError` in place of the agent's own errors.
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = <
  Name extends string,
  Output,
  E,
  R,
  StoreE = never,
  StoreR = never,
  const Modes extends ReadonlyArray<Mode.Any> = []
>(
  agent: Runnable<Name, Output, E, R>,
  options?: Options<StoreE, StoreR, Modes>
): Layer.Layer<
  Session | Mode.Host,
  StoreE,
  Exclude<R | StoreR | Mode.Services<Modes[number]>, Scope.Scope>
> =>
  Layer.effectContext(Effect.map(make(agent, options), (made) => {
    const session = withOwnErrors(agent.name, made)
    return Context.make(Session, session).pipe(Context.add(Mode.Host, session))
  }))

/** Wraps an agent's own errors in `OwnError`, which every session may fail with. */
const withOwnErrors = (agent: string, self: Untyped): Session => {
  const wrap = (error: unknown): AgentError | SessionError | OwnError =>
    isAgentError(error) || isSessionError(error) ? error : new OwnError({ agent, error })
  const wrapOfModes = (error: unknown) => isModeError(error) ? error : wrap(error)
  return {
    ...self,
    call: (input, options) => Effect.mapError(self.call(input, options), wrap),
    stream: (input, options) => Stream.mapError(self.stream(input, options), wrap),
    resume: Effect.mapError(self.resume, wrap),
    fork: Effect.map(self.fork, (forked) => withOwnErrors(agent, forked)),
    // `OwnError` stands for the agent's own errors, which the type of `self` doesn't list.
    enterMode: (name, params) => Effect.mapError(self.enterMode(name, params), wrapOfModes) as Effect.Effect<never>,
    exitMode: (name) => Effect.mapError(self.exitMode(name), wrapOfModes) as Effect.Effect<never>
  }
}
