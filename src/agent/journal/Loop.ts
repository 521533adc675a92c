/**
 * One agent's loop while it runs: its place among the loops of the run, and how it emits events.
 *
 * The loop of a called agent has its caller's loop as its parent; both write to the journal of the run. Its state is in the call that it
 * answers, so a loop keeps none: `state`, the agent in control and the step are read from the journal.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type { AgentEvent, CallApproved, CallDenied, ResultGiven } from "../../domain/AgentEvent.ts"
import { at } from "../../domain/Delegated.ts"
import { type Happening, type Settlement, toEvent } from "../../domain/Happening.ts"
import { reduceAt } from "../../domain/Reducer.ts"
import type { AgentState, Call, User } from "../../domain/StateSchema.ts"
import * as Underway from "../../domain/Underway.ts"
import type { Untimed } from "../../domain/WaitingCall.ts"
import type { Enterable } from "../../modes/Host.ts"
import type { AgentTool, Definition, Roster } from "../definition/AgentDefinition.ts"
import { extend } from "../definition/Roster.ts"
import type { Known } from "../rules/Known.ts"
import type { Journal } from "./Journal.ts"
import * as LiveModes from "./LiveModes.ts"
import * as ModelRequest from "./ModelRequest.ts"
import { Slot } from "./Slot.ts"

export { Slot }

/**
 * What runs loops, for code that runs within one. `runCalled` runs the agent that answers a call, and returns its state when it stopped,
 * typed failures included. `talk` lets a mode on its way in or out talk to the agent, and returns the state with the answer. `hostOf`
 * makes a loop the conversation that modes are entered in.
 */
export interface Runner {
  readonly runCalled: (
    loop: Loop,
    call: Call,
    entry: AgentTool,
    params: unknown
  ) => Effect.Effect<AgentState, never, unknown>
  readonly talk: (loop: Loop, input: User["parts"]) => Effect.Effect<AgentState, unknown, unknown>
  readonly hostOf: (loop: Loop) => Enterable
}

/** One agent's loop while it runs: one agent of the roster is in control at a time. */
export class Loop {
  readonly journal: Journal
  readonly runner: Runner
  readonly parent: Loop | undefined
  readonly live: LiveModes.LiveModes
  readonly calls: ReadonlyArray<string>
  /** The conversation that modes are entered in. */
  readonly host: Enterable
  /** What `Slot`s keep here. */
  readonly slots: Array<unknown> = Slot.places()
  /** What has ended and has no event yet. */
  finished: Underway.Finished = Underway.nothingFinished
  readonly #roster: Roster
  readonly #before: AgentState
  constructor(
    journal: Journal,
    runner: Runner,
    parent: Loop | undefined,
    callId: string | undefined,
    roster: Roster,
    state: AgentState,
    live: LiveModes.LiveModes = LiveModes.make(undefined)
  ) {
    this.journal = journal
    this.runner = runner
    this.parent = parent
    this.live = live
    this.calls = parent === undefined || callId === undefined ? [] : [...parent.calls, callId]
    this.#roster = roster
    this.#before = state
    this.host = runner.hostOf(this)
  }
  /** The agent's current state. A called agent isn't in its caller's state before its run has begun. */
  get state(): AgentState {
    return this.parent === undefined ? this.journal.state : at(this.journal.state, this.calls) ?? this.#before
  }
  /** Who can be in control, with the modes that programs entered beside the agents' own. */
  get roster(): Roster {
    const { open } = this.live
    return open.length === 0 ? this.#roster : open.reduce(
      (roster, { context, entry }) => context === undefined ? roster : extend(roster, [entry.self]),
      this.#roster
    )
  }
  /** The agent in control. */
  get definition(): Definition {
    const { roster: { agents, first }, state: { agent } } = this
    return first.name === agent ? first : agents.get(agent) ?? first
  }
  get path(): AgentEvent["path"] {
    return pathOf(this, this.definition)
  }
  /** What is under way in this agent. */
  get underway(): Underway.Place | undefined {
    return Underway.at(this.journal.underway, this.calls)
  }
  /** The step that began last. */
  get step(): number {
    return this.underway?.step ?? Math.max(0, this.state.run.iteration - 1)
  }
  /** Whether a mode is being set up or cleaned up. No step is under way then, unless the mode talks to the agent. */
  get isChangingModes(): boolean {
    return this.live.open.length > 0 && (this.isMoving || this.isLettingGo)
  }
  /** Whether the mode on top stays entered while its resources are released: its scope is closed, and no event says so. */
  get isLettingGo(): boolean {
    const { open } = this.live
    return open[open.length - 1]?.scope.state._tag === "Closed" && !this.isMoving
  }
  /** Whether a mode is being entered or left. */
  get isMoving(): boolean {
    const { underway } = this
    return Underway.latest(underway, "ModeEntering") !== undefined ||
      Underway.latest(underway, "ModeExiting") !== undefined
  }
}

const pathOf = ({ parent }: Loop, { name, path }: Definition): AgentEvent["path"] =>
  parent === undefined ? path : [...parent.path, name]

/** Returns what a decision is made of. `deciding` leads to the agent that decides: the loop's own, or one that it has called. */
export const known = (self: Loop, deciding = self.calls): Known => {
  const { calls, definition, isChangingModes, journal, parent, roster, state } = self
  return {
    state,
    definition,
    roster,
    now: journal.now(),
    asked: Underway.countAsked(journal.underway, journal.state, calls, deciding),
    isChangingModes,
    caller: parent === undefined ? undefined : known(parent, deciding)
  }
}

/** The time in epoch milliseconds. */
export const now = ({ journal }: Loop): number => journal.now()

/** Makes the event of what happened. */
const eventOf = (
  { calls, journal: { run } }: Loop,
  happening: Happening,
  path: AgentEvent["path"],
  step: number,
  sequence: number,
  at: number
): AgentEvent => toEvent(happening, { run, path, calls, step, sequence, at })

/** Emits what happened, at a time in epoch milliseconds. */
export const emit = (self: Loop, happening: Happening, at = now(self)): void =>
  self.journal.record(eventOf(self, happening, self.path, self.step, self.journal.nextSequence(), at), self)

/** Emits the answer to a call that waited, in this agent or in one that it called. */
export const emitAnswer = (
  self: Loop,
  answer: Untimed<CallApproved> | Untimed<CallDenied> | Untimed<ResultGiven>
): void => {
  const { journal, step } = self
  journal.record({ ...answer, run: journal.run, step, sequence: journal.nextSequence(), at: now(self) }, self)
}

type RunStarted = Extract<Happening, { readonly _tag: "RunStarted" }>

/** Makes the event of a run's start, in which an agent is in control. */
const startOf = (self: Loop, inControl: Definition, started: RunStarted, sequence: number): AgentEvent => {
  const { journal, state: { conversation: { turns }, steps } } = self
  const step = started.input === undefined ? self.step : 0
  const position = { turns: turns.length, steps, ...(self.parent === undefined ? journal.logged : undefined) }
  return eventOf(self, { ...started, position }, pathOf(self, inControl), step, sequence, now(self))
}

/** Emits that a run starts or continues, with an agent in control. */
export const emitStart = (self: Loop, inControl: Definition, started: RunStarted): void =>
  self.journal.record(startOf(self, inControl, started, self.journal.nextSequence()), self)

/** Emits that a step starts or ends: one answer of the model and the calls in it, or calls that are still open. */
export const emitStep = (self: Loop, _tag: "StepStarted" | "StepCompleted", step: number): void => {
  const { calls, journal, path } = self
  // These events have no other fields, so they are made without a spread.
  journal.record({ _tag, run: journal.run, path, calls, step, sequence: journal.nextSequence(), at: now(self) }, self)
}

/** Emits how the run ended. The event has the last state. */
export const emitEnd = (self: Loop, end: EndOf): void => {
  const { journal, path, state, step } = self
  // TypeScript doesn't see that the state completes the happening.
  const happening = { ...end, state } as Happening
  const event = eventOf(self, happening, path, step, journal.nextSequence(), now(self))
  const after = reduceAt(state, event, self.calls.length)
  // It is still the event of an end, with a later state.
  journal.record({ ...event, state: after } as AgentEvent, self, self.parent === undefined ? after : undefined)
}

type WithoutState<Event> = Event extends Happening ? Omit<Event, "state"> : never

/** How a run ends, without its last state. */
export type EndOf = WithoutState<Extract<Happening, { readonly _tag: "RunCompleted" | "RunInterrupted" | "RunFailed" }>>

/** Returns the state as it will be after something has happened. */
export const foresee = (self: Loop, happening: Happening): AgentState => {
  const { calls, journal: { sequence }, path, state, step } = self
  return reduceAt(state, eventOf(self, happening, path, step, sequence, now(self)), calls.length)
}

/** Returns the state as it will be after a run has started, with an agent in control. */
export const foreseeStart = (self: Loop, inControl: Definition, started: RunStarted): AgentState =>
  reduceAt(self.state, startOf(self, inControl, started, self.journal.sequence), self.calls.length)

/** Returns what waits until everybody has seen the events until now, or `undefined` if nobody is behind. */
export const flushIfBehind = ({ journal }: Loop): Effect.Effect<void> | undefined =>
  journal.isBehind() ? journal.flush : undefined

/** Runs an effect after everybody has seen the events until now. */
export const flushed = <A, E, R>(self: Loop, next: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> => {
  const flush = flushIfBehind(self)
  return flush === undefined ? next : Effect.andThen(flush, next)
}

/** The place of pieces of a stream: the same for all that arrive together. */
export type Where = Pick<AgentEvent, "path" | "step">

/** Emits a piece of a text. Pieces change no state, so this only makes the event. */
export const emitDelta = (
  self: Loop,
  { path, step }: Where,
  _tag: "TextDelta" | "ReasoningDelta",
  delta: string,
  at: number
): void => {
  const { calls, journal } = self
  journal.deliver({ _tag, run: journal.run, path, calls, step, sequence: journal.nextSequence(), at, delta }, self)
}

/** Emits how a call ended. */
export const settle = (self: Loop, settlement: Settlement): void => {
  emit(self, { _tag: "ToolCallSettled", ...settlement })
  self.finished = Underway.withoutCall(self.finished, settlement.callId)
}

/** Keeps the result of a call until it is emitted. */
export const keepCall = (self: Loop, settlement: Settlement): void => {
  self.finished = Underway.finishCall(self.finished, settlement)
}

/** Keeps the usage of an answer until the answer is emitted, or forgets it. */
export const keepAnswer = (self: Loop, answer: Underway.Finished["answer"]): void => {
  self.finished = { calls: self.finished.calls, answer }
}

/** Ends a request to the model without an answer. */
export const endRequest = (self: Loop, why: { readonly tag: string; readonly message: string }): void => {
  const end = Underway.endOfRequest(self.underway, self.finished, why)
  keepAnswer(self, undefined)
  if (end !== undefined) emitMissing(self, end)
}

/** Emits an end that is missing. */
const emitMissing = (self: Loop, missing: Happening): void => {
  emit(self, missing)
  if (missing._tag === "ModelCallFailed") ModelRequest.end(self, missing, missing.tag)
}

/** Emits the ends of everything that has started and not ended, except the run and its modes. */
export const close = (self: Loop, why: Underway.Why | undefined): void => {
  for (const missing of Underway.closing(self.underway, self.state, self.finished, why, now(self))) {
    emitMissing(self, missing)
  }
}
