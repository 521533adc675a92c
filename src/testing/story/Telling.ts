/**
 * How far a story has come, and what the agent in it decides then.
 *
 * @since 0.1.0
 */
import type { Definition, Roster } from "../../agent/definition/AgentDefinition.ts"
import { decide, type Decision as Decided, Fail } from "../../agent/rules/Decision.ts"
import { eventsOf } from "../../agent/rules/DecisionEvents.ts"
import { findTarget } from "../../agent/rules/HandoffTarget.ts"
import type { Known } from "../../agent/rules/Known.ts"
import type { AgentEvent } from "../../domain/AgentEvent.ts"
import * as AgentState from "../../domain/AgentState.ts"
import { callsOf, lastAssistant } from "../../domain/Conversation.ts"
import type { Happening } from "../../domain/Happening.ts"
import * as Underway from "../../domain/Underway.ts"
import type { Decision, EventInput } from "./Step.ts"

/** Which agent of a story: the calls that lead to it. */
export type Calls = ReadonlyArray<string>

/** An event that guardrails check before the state holds it. */
interface Arriving {
  readonly event: AgentEvent
  readonly calls: Calls
}

/** How far a story has come. A story of a state has no roster. `failed` is a failure that was decided, until the run has failed with it. */
export interface Telling {
  readonly roster: Roster | undefined
  readonly state: AgentState.AgentState
  readonly now: number
  readonly sequence: number
  readonly underway: Underway.Underway
  readonly isInterrupted: boolean
  readonly arriving?: Arriving | undefined
  readonly failed?: { readonly calls: Calls; readonly decision: Fail } | undefined
}

const inControl = ({ agents, first }: Roster, state: AgentState.AgentState): Definition =>
  agents.get(state.agent) ?? first

/** Finds the roster of the agent that calls lead to. A called agent is found by the tool that it answers. */
const rosterAt = (self: Telling, calls: Calls): Roster | undefined => {
  const callId = calls.at(-1)
  if (callId === undefined) return self.roster
  const above = calls.slice(0, -1)
  const roster = rosterAt(self, above)
  const state = AgentState.at(self.state, above)
  if (roster === undefined || state === undefined) return undefined
  const turn = lastAssistant(state.conversation)
  const name = turn === undefined ? undefined : callsOf(turn).find(({ id }) => id === callId)?.name
  const entry = name === undefined ? undefined : inControl(roster, state).tools.get(name)
  return entry?._tag === "Agent" ? entry.roster() : undefined
}

/** Returns what is known of the agent at `calls`. `deciding` leads to the agent that decides: that one, or one that it called. */
export const knownAt = (self: Telling, calls: Calls, deciding = calls): Known | undefined => {
  const roster = rosterAt(self, calls)
  const state = AgentState.at(self.state, calls)
  if (roster === undefined || state === undefined) return undefined
  const place = Underway.at(self.underway, calls)
  return {
    state,
    definition: inControl(roster, state),
    roster,
    now: self.now,
    asked: Underway.countAsked(self.underway, self.state, calls, deciding),
    isChangingModes: Underway.latest(place, "ModeEntering") !== undefined ||
      Underway.latest(place, "ModeExiting") !== undefined,
    caller: calls.length === 0 ? undefined : knownAt(self, calls.slice(0, -1), deciding)
  }
}

/** Says what an agent does next: a handoff to nobody, or one too many, fails. */
export const decisionOf = ({ failed }: Telling, known: Known, calls: Calls): Decided => {
  if (failed !== undefined && failed.calls.join("/") === calls.join("/")) return failed.decision
  const decision = decide(known)
  if (decision._tag !== "HandOver") return decision
  const target = findTarget(known.roster, known.state, decision.request)
  return "_tag" in target ? new Fail(target) : decision
}

/** Returns a decision as a story shows it. */
export const toShow = (decision: Decided): Decision =>
  decision._tag === "Fail"
    ? { _tag: "Fail", tag: decision.reason._tag, message: decision.reason.message }
    : decision._tag === "FailByTool"
    ? { _tag: "Fail", tag: decision.tag, message: decision.message }
    : decision

/** Returns the events that carry a decision out without asking anybody, `undefined` if something else has to happen. */
export const carriedOut = (known: Known, decision: Decided): ReadonlyArray<Happening> | undefined => {
  const { definition, state } = known
  switch (decision._tag) {
    case "RequestHandoff":
      return definition.guardrails.handoff.length > 0 ? undefined : eventsOf(decision, state)
    case "SendBack":
    case "GiveUpCalls":
    case "GiveLastAnswer":
      return eventsOf(decision, state)
    case "Finish":
      return state.status._tag === "InProgress" ? [{ _tag: "RunCompleted", state }] : undefined
    case "FailByTool":
    case "Fail": {
      const { message, tag } = decision._tag === "Fail"
        ? { message: decision.reason.message, tag: decision.reason._tag }
        : decision
      const step = Math.max(0, state.run.iteration - 1)
      return [{ _tag: "RunFailed", error: { tag, message, agent: definition.name, step }, state }]
    }
    case "AskModel":
    case "RunCalls":
    case "HandOver":
    case "TakeMove":
    case "Suspend":
    case "Await":
      return undefined
  }
}

/** Names the agents that calls lead to. */
const pathTo = (self: Telling, calls: Calls): AgentEvent["path"] => [
  self.state.agent,
  ...calls.map((_, index) => {
    const to = calls.slice(0, index + 1)
    return AgentState.at(self.state, to)?.agent ?? rosterAt(self, to)?.first.name ?? "unknown"
  })
]

/** Makes the event of what happens in the agent that calls lead to. */
export const addressed = (self: Telling, calls: Calls, input: EventInput): AgentEvent => ({
  run: "",
  path: pathTo(self, calls),
  calls,
  step: AgentState.at(self.state, calls)?.run.iteration ?? 0,
  sequence: self.sequence,
  at: self.now,
  ...input
})

/** Takes an event in. */
export const take = (self: Telling, event: AgentEvent): Telling => ({
  ...self,
  state: AgentState.reduce(self.state, event),
  sequence: self.sequence + 1,
  underway: Underway.reduce(self.underway, event),
  isInterrupted: event._tag === "RunInterrupted" && event.calls.length === 0,
  failed: event._tag === "RunFailed" ? undefined : self.failed
})
