/**
 * What has started in a run and not ended: the fold of its events by `AgentEvent.starts`.
 *
 * 1. Each agent of a run has a place of its own, found by the calls that lead to it.
 * 2. An end takes out the latest start that it ends, of the same call or check.
 * 3. Whatever ends a run, `closing` says which events are missing then, in their order.
 *
 * @since 0.1.0
 */
import { type AgentEvent, starts } from "./AgentEvent.ts"
import { pendingApprovals } from "./Approval.ts"
import { callsOf, lastAssistant } from "./Conversation.ts"
import { at as stateAt } from "./Delegated.ts"
import type { Happening, Settlement } from "./Happening.ts"
import type { AgentState, Call } from "./StateSchema.ts"
import type { RequestUsage } from "./Usage.ts"

/** An event that something else ends. */
export type Start = Extract<AgentEvent, { readonly _tag: keyof typeof starts }>

/**
 * What is under way in one agent of a run: what has started, oldest first, and the step that began last since the agent got its
 * input, or control.
 */
export interface Place {
  readonly calls: ReadonlyArray<string>
  readonly started: ReadonlyArray<Start>
  readonly step: number | undefined
}

/** What is under way in a run, by its agents. */
export type Underway = ReadonlyArray<Place>

/** Nothing is under way. */
export const nothing: Underway = []

/** What an event means here: it starts something, or ends what events of these kinds have started. */
interface Kind {
  readonly isStart: boolean
  readonly ends: ReadonlyArray<Start["_tag"]>
}

const kinds = new Map<AgentEvent["_tag"], Kind>()
for (const start of Object.keys(starts) as ReadonlyArray<Start["_tag"]>) {
  kinds.set(start, { isStart: true, ends: [] })
  for (const end of starts[start]) kinds.set(end, { isStart: false, ends: [...kinds.get(end)?.ends ?? [], start] })
}

/** What an event starts or ends, if it does; a mode that failed later than in its set-up is ended by something else. */
const kindOf = (event: AgentEvent): Kind | undefined =>
  event._tag === "ModeFailed" && event.phase !== "SetUp" ? undefined : kinds.get(event._tag)

/** Checks whether an event starts something that another one ends. */
export const isStart = (event: AgentEvent): event is Start => kindOf(event)?.isStart === true

/** Checks whether an event ends something. */
export const isEnd = (event: AgentEvent): boolean => kindOf(event)?.isStart === false

/** Checks whether an event ends the run of an agent. */
export const endsRun = ({ _tag }: AgentEvent): boolean => starts.RunStarted.includes(_tag)

const isSubject = (start: Start, event: AgentEvent): boolean =>
  start._tag === "ToolCallStarted"
    ? "callId" in event && event.callId === start.callId
    : start._tag !== "GuardrailStarted" || (event._tag === "GuardrailSettled" && event.started === start.sequence)

const isSame = (calls: ReadonlyArray<string>, others: ReadonlyArray<string>): boolean =>
  calls === others || (calls.length === others.length && calls.every((id, index) => id === others[index]))

/** Finds what is under way in the agent that calls lead to. */
export const at = (self: Underway, calls: ReadonlyArray<string>): Place | undefined =>
  self[0]?.calls === calls ? self[0] : self.find((place) => isSame(place.calls, calls))

/** Finds the start that an event ends, or `-1`. */
const indexOfEnded = (place: Place | undefined, event: AgentEvent): number => {
  const ends = kindOf(event)?.ends
  return ends === undefined || place === undefined
    ? -1
    : place.started.findLastIndex((start) => ends.includes(start._tag) && isSubject(start, event))
}

/** Finds the start that an event ends. A call may be settled that was never started. */
export const startOf = (self: Underway, event: AgentEvent): Start | undefined => {
  const place = at(self, event.calls)
  return place?.started[indexOfEnded(place, event)]
}

/** The step counts anew from an input, and for an agent that takes over. */
const stepAfter = (place: Place | undefined, event: AgentEvent): number | undefined =>
  event._tag === "StepStarted"
    ? event.step
    : event._tag === "RunStarted" || event._tag === "HandoffCompleted"
    ? undefined
    : place?.step

const without = (started: ReadonlyArray<Start>, index: number): ReadonlyArray<Start> =>
  index === started.length - 1 ? started.slice(0, -1) : started.toSpliced(index, 1)

const isRunOver = ({ started }: Place, event: AgentEvent): boolean => started.length === 0 && endsRun(event)

/** Takes an event in. */
export const take = (self: Underway, event: AgentEvent): Underway => {
  const kind = kindOf(event)
  if (kind === undefined) return self
  const place = at(self, event.calls)
  const ended = kind.isStart ? -1 : indexOfEnded(place, event)
  if (!kind.isStart && ended < 0) return self
  const { calls, started } = place ?? { calls: event.calls, started: [] }
  const after: Place = {
    calls,
    started: kind.isStart ? [...started, event as Start] : without(started, ended),
    step: stepAfter(place, event)
  }
  if (place === undefined) return [...self, after]
  if (isRunOver(after, event)) return self.filter((each) => each !== place)
  return self.length === 1 ? [after] : self.map((each) => each === place ? after : each)
}

type Started<Tag> = Extract<Start, { readonly _tag: Tag }>

/** Finds the latest start of a kind in a place. */
export const latest = <Tag extends Start["_tag"]>(self: Place | undefined, tag: Tag): Started<Tag> | undefined => {
  const started = self?.started ?? []
  for (let at = started.length - 1; at >= 0; at--) {
    if (started[at]!._tag === tag) return started[at] as Started<Tag>
  }
  return undefined
}

const isBelow = (calls: ReadonlyArray<string>, above: ReadonlyArray<string>): boolean =>
  calls.length > above.length && above.every((id, index) => id === calls[index])

/**
 * Counts the models that are asked at this time of agents that the agent at `calls` called, at any depth: those whose step has
 * begun and whose answer isn't in the state yet.
 */
export const countAsked = (self: Underway, state: AgentState, calls: ReadonlyArray<string>): number =>
  self.length < 2 ? 0 : self.filter((place) => {
    if (!isBelow(place.calls, calls)) return false
    const step = latest(place, "StepStarted")
    const child = step === undefined ? undefined : stateAt(state, place.calls)
    return child !== undefined && step!.step >= child.run.iteration
  }).length

/** What has come to its end and isn't told yet: calls that wait for those in front of them, an answer that guardrails look at. */
export interface Finished {
  readonly calls: ReadonlyMap<string, Settlement>
  readonly answer: { readonly usage: RequestUsage; readonly model?: string; readonly isBrokenOff?: true } | undefined
}

/** Why what is under way ends without an end of its own. */
export interface Why {
  readonly tag: "Interrupted" | "Defect"
  readonly message: string
}

/**
 * How an open call ends with its run, or `undefined` if it has nothing to end: it waits for an approval, for the handoff that it asked
 * for, or in an agent whose run has stopped.
 *
 * A call that has finished keeps its result. One that never started is interrupted like one that did: its run is over. The call of an
 * agent in which another call awaits approval goes on waiting with that one: what ran in it has ended before.
 */
const endOfCall = (
  { name, id: callId, state }: Call,
  place: Place,
  asking: string | undefined,
  { calls }: Finished,
  why: Why,
  now: number
): Happening | undefined => {
  if (state._tag === "Settled" || state._tag === "AwaitingApproval" || callId === asking) return undefined
  const finished = calls.get(callId)
  if (finished !== undefined) return { _tag: "ToolCallSettled", ...finished }
  const start = place.started.find((start) => start._tag === "ToolCallStarted" && start.callId === callId)
  if (start === undefined && state._tag === "Delegated") return undefined
  if (state._tag === "Delegated" && pendingApprovals(state.child).length > 0) {
    return { _tag: "ToolCallSuspended", callId, name }
  }
  const duration = start === undefined ? 0 : Math.max(0, now - start.at)
  return { _tag: "ToolCallSettled", callId, name, outcome: "Interrupted", result: why.message, duration }
}

/** Gives the event that ends a request to the model without an answer. What its answer used, if one has arrived, counts all the same. */
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
 * Gives the events that are missing when a run, or a step that is taken by hand, ends: the request to the model, the calls in the
 * order of their turn, the step, the handoff that was asked for.
 *
 * `state` is that of the agent in this place, and `why` is there where something was cut short: without it no call is touched.
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
