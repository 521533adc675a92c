/**
 * A conversation that is held for you: the current state of an agent or a group, and the runs that change it.
 *
 * The agent stays a value without state. A session is the small stateful front of it, and lives as long as its scope.
 *
 * 1. One operation is under way at a time. Others wait, and go on in the order they came; one that is interrupted while it
 *    waits leaves the others as they are.
 * 2. The state is always legal. It follows a run event by event; a run that fails leaves its `Failed` state, one that is
 *    interrupted the state that `RunInterrupted` tells, and the next call goes on from there.
 * 3. The services of a run are those that the session was made with, so its methods need none.
 * 4. What a session runs can't call it back: it would wait for its own end, and fails with `ReentrantOperation`. Only the
 *    set-up and the clean-up of a mode may `call` and `invoke`: nothing else is under way then.
 * 5. When its scope closes, what runs is interrupted, its last state is saved, and everything that waits or comes later
 *    fails with `SessionClosed`. Modes are left then, the innermost first; those of a session that is stored stay entered in
 *    what is stored, and only their finalizers run.
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
import type { Settings } from "../domain/Settings.ts"
import type { Any, Runnable } from "../handoff/Runnable.ts"
import { TypeId as HostTypeId } from "../modes/Host.ts"
import * as Mode from "../modes/Mode.ts"
import { isModeError, type ModeError } from "../modes/ModeError.ts"
import type { Roster } from "./definition/AgentDefinition.ts"
import type { Input } from "./definition/Input.ts"
import { extend, rosterOf } from "./definition/Roster.ts"
import * as LiveModes from "./journal/LiveModes.ts"
import type { Loop } from "./journal/Loop.ts"
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
 * A session: `Output` is what the agent's answers decode to, `E` what a run may fail with beside `AgentError`.
 *
 * As a service it doesn't know its agent, so an error of the agent's own stands in an `OwnError` there.
 *
 * @category models
 * @since 0.1.0
 */
export interface Session<out Output = unknown, out E = OwnError>
  extends AgentState.GivesOutput<Output>, Mode.Enterable
{
  /** The current state. It doesn't wait: while a run is under way it is the one after its last event. */
  readonly state: Effect.Effect<AgentState.AgentState>

  /**
   * The current state, then each one that comes: every event of a run that changes the state gives one, so pieces of text
   * don't. It ends when the session is closed, and a slow reader misses nothing.
   */
  readonly changes: Stream.Stream<AgentState.AgentState>

  /**
   * Says something, and gives the state with the answer, or with what awaits approval.
   *
   * It goes on from any state: after a failure, and while approvals are pending, as `Agent.continueConversation` does.
   */
  readonly call: (
    input: Input,
    options?: CallOptions
  ) => Effect.Effect<AgentState.AgentState, AgentError | E | SessionError>

  /**
   * Says something, and streams every event. Without an input it goes on as `resume` does.
   *
   * The session's state has an event before the reader does. A reader that leaves interrupts the run. The run doesn't wait
   * for its reader: a reader that is slow, or calls the session while it reads, holds up nobody.
   */
  readonly stream: (
    input?: Input | undefined,
    options?: CallOptions
  ) => Stream.Stream<AgentEvent, AgentError | E | SessionError>

  /**
   * Goes on where the state stopped: after approvals, an interruption, a failure, or a restart. Needs nothing where the run
   * has its answer. A run that failed is reopened, so one that met a limit meets it again.
   */
  readonly resume: Effect.Effect<AgentState.AgentState, AgentError | E | SessionError>

  /**
   * Lets a call run that awaits approval. Nothing runs until `resume`, so that several can be answered first.
   *
   * With `params`, which are JSON, it runs with those in the place of what the model wrote. What its tool can't read fails with
   * `ParametersRejected`, and changes nothing.
   */
  readonly approve: (
    callId: string,
    options?: { readonly params?: Schema.Json | undefined }
  ) => Effect.Effect<AgentState.AgentState, AgentState.NotAwaitingApproval | SessionError>

  /** Keeps a call from running that awaits approval; the model reads the reason. Nothing runs until `resume`. */
  readonly deny: (
    callId: string,
    reason: string
  ) => Effect.Effect<AgentState.AgentState, AgentState.NotAwaitingApproval | SessionError>

  /**
   * Runs a tool of the agent in control as if its model had called it, and gives what its handler gave.
   *
   * The call is recorded as an assistant turn that used nothing, with its result, and marked in its metadata. It runs under
   * the tool's policy, takes no model, and starts no run. Invoking is approving. A failure is the caller's, also of a tool
   * in `fatal`; a state with open calls takes none. The model speaks next: `resume` lets it go on from the result, `call`
   * with more words.
   */
  readonly invoke: <T extends Tool.Any>(
    tool: T,
    params: Tool.Parameters<T>
  ) => Effect.Effect<Tool.Success<T>, Tool.Failure<T> | SessionError>

  /**
   * Gives another session that begins with the state of this one, and shares nothing else. It waits for the operations before it, so that
   * no call is under way in both, is stored nowhere, and is closed with the scope that it is made in.
   */
  readonly fork: Effect.Effect<Session<Output, E>, SessionError, Scope.Scope>

  /**
   * Enters a mode of the agent in control by its name, on top of the others. `params` are JSON. It stays entered until
   * `exitMode`, a move to another, or the end of the session.
   *
   * Fails with a `ModeError` where there is no such mode, its parameters are wrong, or it can't be entered here.
   */
  readonly enterMode: (
    name: string,
    params?: Schema.Json
  ) => Effect.Effect<AgentState.AgentState, E | ModeError | SessionError>

  /**
   * Leaves the innermost mode, which must be of that name if one is given. Its clean-up may keep it.
   *
   * Fails with a `ModeError` where none is entered, or another is on top.
   */
  readonly exitMode: (name?: string) => Effect.Effect<AgentState.AgentState, E | ModeError | SessionError>

  /** Asks for a move between modes: it is taken before the agent's model is asked next. The latest wins. */
  readonly schedule: (
    transition: ModeTransition
  ) => Effect.Effect<AgentState.AgentState, ModeError | SessionError>

  /**
   * Changes settings of the agent in control: which tools it offers, which of them its model must or may use, which of its
   * models is asked. What isn't given stays as it is.
   */
  readonly configure: (settings: Settings) => Effect.Effect<AgentState.AgentState, ModeError | SessionError>

  /**
   * Pins a turn of the current state's conversation, counted from 0: a context window never leaves it out. Where there is no such turn,
   * nothing is pinned. In a mode that has cut what it sees, the pin is gone once the mode is left.
   */
  readonly pin: (turn: number) => Effect.Effect<AgentState.AgentState, SessionError>

  /** Takes the pin off a turn, counted from 0. */
  readonly unpin: (turn: number) => Effect.Effect<AgentState.AgentState, SessionError>
}

/** The session of an agent or a group, by what its type says. */
export type Of<A> = A extends Runnable<infer _Name, infer Output, infer E, infer _R> ? Session<Output, E> : never

/**
 * The session that a program holds.
 *
 * One service serves any agent. A program that holds several, or wants the errors of its agent by their types, makes a
 * service of its own: `class Desk extends Context.Service<Desk, Session.Of<typeof desk>>()("app/Desk")`, provided by
 * `Layer.effect(Desk, Session.make(desk))`.
 *
 * @category services
 * @since 0.1.0
 */
export const Session: Context.Service<Session, Session> = Context.Service("troupe/agent/Session")

/** What a session begins with. What is stored comes before `state`; `modes` are there for every agent in it. */
export interface Options<E = never, R = never, Modes extends ReadonlyArray<Mode.Any> = []> {
  readonly state?: AgentState.AgentState | undefined
  readonly store?: Store<E, R> | undefined
  readonly modes?: Modes | undefined
}

/** Everything that a session can fail with. Its type names the part that it can fail with in fact. */
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
    // Tells those who look on that nothing follows: known by its identity, and never shown.
    const end = { ...state }
    yield* Effect.addFinalizer(() => PubSub.end(ref.pubsub, end))
    const live = LiveModes.make(() => made)
    // Modes are left when nothing runs any more: the queue closes first.
    yield* Effect.addFinalizer((exit) => SessionModes.end(session, exit))
    const queue = yield* OperationQueue.make(agent.name)
    const isNew = state.steps === 0 && state.conversation.turns.length === 0
    const unsaved = store === undefined ? undefined : []
    const log = { session: id, run: undefined, events: isNew ? 0 : undefined, unsaved }
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
    invoke: (tool, params) => {
      const invoked = (loop: Loop) => InvokeTool.run(loop, tool, params)
      return nestedOrAlone(session, invoked, runAlone(session, "invoke", invoked)) as Effect.Effect<never>
    },
    fork: Effect.flatMap(
      OperationQueue.run(queue, () => ({ name: "fork", task: SubscriptionRef.get(ref) })),
      (state) => open(agent, roster, services, state, undefined)
    ),
    enterMode: (name, params) => SessionModes.enter(session, name, params),
    exitMode: (name) => SessionModes.exit(session, name),
    schedule: (transition) => SessionModes.schedule(session, transition) as Effect.Effect<never>,
    configure: (settings) => SessionModes.configure(session, settings) as Effect.Effect<never>,
    pin: (turn) => SessionPins.pin(session, turn, true) as Effect.Effect<never>,
    unpin: (turn) => SessionPins.pin(session, turn, false) as Effect.Effect<never>
  }
}

/**
 * Makes a session that is closed with its scope. Its runs take their services from here.
 *
 * It begins with what is stored, where a `store` is given and holds something, or else with `state`, or else anew. A state
 * in the middle of a run goes on by `resume`.
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
    const state = store?.restored ?? options?.state ?? AgentState.make(roster.first.name)
    return (yield* open(agent, roster, services, state, store, options?.store?.id)) as Session<Output, E>
  })

/**
 * Provides the session of an agent or a group, closed with the layer.
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

/** Puts the errors of an agent's own into one that every session may fail with. */
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
    enterMode: (name, params) => Effect.mapError(self.enterMode(name, params), wrapOfModes) as Effect.Effect<never>,
    exitMode: (name) => Effect.mapError(self.exitMode(name), wrapOfModes) as Effect.Effect<never>
  }
}
