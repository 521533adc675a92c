/**
 * What a run has started and not ended: the fold of its events by `AgentEvent.starts`.
 *
 * 1. Each agent of a run has a place of its own, found by the calls that lead to it.
 * 2. An end removes the latest start that it ends, of the same call or check.
 * 3. Whatever ends a run, `closing` returns the events that are missing, in their order.
 *
 * @since 0.1.0
 */
import type { AgentEvent } from "./AgentEvent.ts"
import { callsOf, lastAssistant } from "./conversation/Turns.ts"
import { at as stateAt } from "./Delegated.ts"
import { starts } from "./EventStarts.ts"
import type { Happening, Settlement } from "./Happening.ts"
import type { AgentState, Call } from "./StateSchema.ts"
import type { RequestUsage } from "./Usage.ts"
import { hasLasting, outlastsRun } from "./WaitingCall.ts"

/** An event that starts something, which a later event ends. */
export type Start = Extract<AgentEvent, { readonly _tag: keyof typeof starts }>

/** The start of a call. */
export type CallStart = Extract<Start, { readonly _tag: "ToolCallStarted" }>

/** What has started and not ended, the latest first, as a linked list: adding or removing one leaves those below it as they are. */
interface Started {
  readonly start: Start
  readonly below: Started | undefined
}

/**
 * What is under way in one agent of a run: what has started, and the number of its last step since it got its input or control. `running`
 * are the calls, oldest first, which run side by side; `started` holds everything else, each within the one below. `others` are the places
 * of the run's other agents.
 */
export interface Place {
  readonly calls: ReadonlyArray<string>
  readonly started: Started | undefined
  readonly running: ReadonlyArray<CallStart>
  readonly step: number | undefined
  readonly others: Underway
}

/** What is under way in a run, by agent: the agent whose run began last is first. */
export type Underway = Place | undefined

const none: ReadonlyArray<CallStart> = []

/** Nothing is under way. */
export const nothing: Underway = undefined

/** The kind of an event: it starts something, or ends what events of the listed kinds started. */
interface Kind {
  readonly isStart: boolean
  readonly isOfCall: boolean
  readonly ends: ReadonlyArray<Start["_tag"]>
}

const kinds = new Map<AgentEvent["_tag"], Kind>()
for (const start of Object.keys(starts) as ReadonlyArray<Start["_tag"]>) {
  const isOfCall = start === "ToolCallStarted"
  kinds.set(start, { isStart: true, isOfCall, ends: [] })
  for (const end of starts[start]) {
    kinds.set(end, { isStart: false, isOfCall, ends: [...kinds.get(end)?.ends ?? [], start] })
  }
}

/** Returns what an event starts or ends, if anything. A `ModeFailed` after the set-up ends nothing, since another event ends the mode. */
const kindOf = (event: AgentEvent): Kind | undefined =>
  event._tag === "ModeFailed" && event.phase !== "SetUp" ? undefined : kinds.get(event._tag)

/** Checks whether an event starts something that another one ends. */
export const isStart = (event: AgentEvent): event is Start => kindOf(event)?.isStart === true

/** Checks whether an event ends something. */
export const isEnd = (event: AgentEvent): boolean => kindOf(event)?.isStart === false

const runEnds: ReadonlyArray<AgentEvent["_tag"]> = starts.RunStarted

/** Checks whether an event ends the run of an agent. */
export const endsRun = ({ _tag }: AgentEvent): boolean => runEnds.includes(_tag)

const isSubject = (start: Start, event: AgentEvent): boolean =>
  start._tag !== "GuardrailStarted" || (event._tag === "GuardrailSettled" && event.started === start.sequence)

const isSame = (calls: ReadonlyArray<string>, others: ReadonlyArray<string>): boolean =>
  calls === others || (calls.length === others.length && calls.every((id, index) => id === others[index]))

/** Returns what is under way in the agent that `calls` lead to. */
export const at = (self: Underway, calls: ReadonlyArray<string>): Place | undefined => {
  let place = self
  while (place !== undefined && !isSame(place.calls, calls)) place = place.others
  return place
}

/** Returns all places in which something is under way. */
export const places = (self: Underway): ReadonlyArray<Place> => self === undefined ? [] : [self, ...places(self.others)]

/** Returns what has started in a place and not ended, the latest first. */
export const startsIn = (self: Place | undefined): ReadonlyArray<Start> => {
  const starts: Array<Start> = [...self?.running ?? []].reverse()
  for (let at = self?.started; at !== undefined; at = at.below) starts.push(at.start)
  return starts
}

/** Finds the start of a call that hasn't ended. */
export const callStart = (self: Place | undefined, callId: string): CallStart | undefined =>
  self?.running.find((start) => start.callId === callId)

/** Finds the latest start that an event of a kind ends. */
const ended = (place: Place | undefined, { ends, isOfCall }: Kind, event: AgentEvent): Start | undefined => {
  if (isOfCall) return "callId" in event && event.callId !== undefined ? callStart(place, event.callId) : undefined
  let at = place?.started
  while (at !== undefined && !(ends.includes(at.start._tag) && isSubject(at.start, event))) at = at.below
  return at?.start
}

/** Finds the start that an event ends. There is none if a call is settled that was never started. */
export const startOf = (self: Underway, event: AgentEvent): Start | undefined => {
  const kind = kindOf(event)
  return kind === undefined ? undefined : ended(at(self, event.calls), kind, event)
}

/** Steps are counted anew after an input, and for an agent that takes over. */
const stepAfter = (place: Place | undefined, event: AgentEvent): number | undefined =>
  event._tag === "StepStarted"
    ? event.step
    : event._tag === "RunStarted" || event._tag === "HandoffCompleted"
    ? undefined
    : place?.step

const without = (self: Started | undefined, start: Start): Started | undefined =>
  self === undefined || self.start === start
    ? self?.below
    : { start: self.start, below: without(self.below, start) }

/** Replaces a place, or removes it if nothing is under way there. */
const replace = (self: Underway, place: Place, by: Place | undefined): Underway =>
  self === undefined || self === place ? by : { ...self, others: replace(self.others, place, by) }

const changed = (running: ReadonlyArray<CallStart>, { isStart }: Kind, start: CallStart): ReadonlyArray<CallStart> =>
  isStart ? [...running, start] : running.length === 1 ? none : running.filter((each) => each !== start)

const isOver = ({ running, started }: Place): boolean => started === undefined && running.length === 0

/** Takes an event in. */
export const reduce = (self: Underway, event: AgentEvent): Underway => {
  const kind = kindOf(event)
  if (kind === undefined) return self
  const place = at(self, event.calls)
  const start = kind.isStart ? event as Start : ended(place, kind, event)
  if (start === undefined) return self
  const { calls, others, running, started } = place ??
    { calls: event.calls, started: undefined, running: none, others: self }
  const step = stepAfter(place, event)
  const after: Place = kind.isOfCall
    ? { calls, started, running: changed(running, kind, start as CallStart), step, others }
    : { calls, started: kind.isStart ? { start, below: started } : without(started, start), running, step, others }
  if (place === undefined) return after
  return replace(self, place, isOver(after) && endsRun(event) ? others : after)
}

type Latest<Tag> = Extract<Start, { readonly _tag: Tag }>

/** Finds the latest start of a kind in a place, calls excepted. */
export const latest = <Tag extends Exclude<Start["_tag"], "ToolCallStarted">>(
  self: Place | undefined,
  tag: Tag
): Latest<Tag> | undefined => {
  let at = self?.started
  while (at !== undefined && at.start._tag !== tag) at = at.below
  return at?.start as Latest<Tag> | undefined
}

const isBelow = (calls: ReadonlyArray<string>, above: ReadonlyArray<string>): boolean =>
  calls.length > above.length && above.every((id, index) => id === calls[index])

/**
 * Counts the models that are being asked now by agents that the agent at `calls` has called, at any depth: their step has begun, and its
 * answer isn't in the state yet. The agent at `deciding` doesn't count, because it decides whether it asks its model.
 */
export const countAsked = (
  self: Underway,
  state: AgentState,
  calls: ReadonlyArray<string>,
  deciding: ReadonlyArray<string>
): number =>
  self?.others === undefined ? 0 : places(self).filter((place) => {
    if (!isBelow(place.calls, calls) || isSame(place.calls, deciding)) return false
    const step = latest(place, "StepStarted")
    const child = step === undefined ? undefined : stateAt(state, place.calls)
    return child !== undefined && step!.step >= child.run.iteration
  }).length

/** What has finished and has no event yet: calls that wait for earlier ones, and an answer that guardrails are judging. */
export interface Finished {
  readonly calls: ReadonlyMap<string, Settlement>
  readonly answer: { readonly usage: RequestUsage; readonly model?: string; readonly isBrokenOff?: true } | undefined
}

/** Everything that has finished has its event. */
export const nothingFinished: Finished = { calls: new Map(), answer: undefined }

/** Adds the result of a call. */
export const finishCall = ({ answer, calls }: Finished, settlement: Settlement): Finished => ({
  calls: new Map(calls).set(settlement.callId, settlement),
  answer
})

/** Removes a call whose result is emitted. */
export const withoutCall = (self: Finished, callId: string): Finished => {
  if (!self.calls.has(callId)) return self
  const calls = new Map(self.calls)
  calls.delete(callId)
  return { calls, answer: self.answer }
}

/** Why a run is cut short. With `keepsOpen`, calls that never started stay open. */
export interface Why {
  readonly tag: "Interrupted" | "Defect"
  readonly message: string
  readonly keepsOpen?: true
}

/**
 * Returns how an open call ends with its run, or `undefined` if it stays open: it waits for an approval or a result, was given its result,
 * or waits for the handoff that it requested or for an agent whose run has stopped.
 *
 * A finished call keeps its result. A call that never started is interrupted like one that did, since its run is over. If a called agent
 * has a call that awaits approval or a result, the call of that agent waits with it; everything that ran in the agent has ended before. If
 * a run stopped only because it couldn't be saved, calls that never started and called agents stay open.
 */
const endOfCall = (
  { name, id: callId, state }: Call,
  place: Place,
  asking: string | undefined,
  { calls }: Finished,
  why: Why,
  now: number
): Happening | undefined => {
  if (state._tag === "Settled" || outlastsRun(state) || callId === asking) return undefined
  const finished = calls.get(callId)
  if (finished !== undefined) return { _tag: "ToolCallSettled", ...finished }
  const start = callStart(place, callId)
  if (start === undefined && (state._tag === "Delegated" || why.keepsOpen === true)) return undefined
  if (state._tag === "Delegated" && (why.keepsOpen === true || hasLasting(state.child))) {
    return { _tag: "ToolCallSuspended", callId, name }
  }
  const duration = start === undefined ? 0 : Math.max(0, now - start.at)
  return { _tag: "ToolCallSettled", callId, name, outcome: "Interrupted", result: why.message, duration }
}

/** Returns the event that ends a request to the model without an answer. If an answer has arrived, what it used counts. */
export const endOfRequest = (
  place: Place | undefined,
  { answer }: Finished,
  { message, tag }: { readonly tag: string; readonly message: string }
): Happening | undefined => {
  const request = latest(place, "ModelCallStarted")
  return request === undefined
    ? undefined
    : { _tag: "ModelCallFailed", attempt: request.attempt, tag, message, ...answer }
}

/**
 * Returns the events that are missing when a run, or a step that is taken by hand, ends: the ends of the request to the model, of the calls
 * in the order of their turn, of the step, and of the requested handoff.
 *
 * `state` is the state of the agent in this place. `why` is set if something was cut short; without it calls stay as they are.
 */
export const closing = (
  place: Place | undefined,
  state: AgentState,
  finished: Finished,
  why: Why | undefined,
  now: number
): ReadonlyArray<Happening> => {
  const step = latest(place, "StepStarted")
  if (place === undefined || (step === undefined && latest(place, "RunStarted") === undefined)) return []
  const missing: Array<Happening> = []
  const request = why === undefined ? undefined : endOfRequest(place, finished, why)
  if (request !== undefined) missing.push(request)
  if (why !== undefined) {
    const asking = state.status._tag === "HandoffRequested" ? state.status.request.callId : undefined
    const turn = lastAssistant(state.conversation)
    for (const call of turn === undefined ? [] : callsOf(turn)) {
      const end = endOfCall(call, place, asking, finished, why, now)
      if (end !== undefined) missing.push(end)
    }
  }
  if (step !== undefined) missing.push({ _tag: "StepCompleted" })
  const handoff = latest(place, "HandoffRequested")
  if (handoff !== undefined) missing.push({ _tag: "HandoffSuspended", request: handoff.request })
  return missing
}
