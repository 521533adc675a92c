/**
 * Events of a conversation with the states that ends of runs have, which aren't kept with them.
 */
import { type AgentEvent, AgentState, Conversation } from "troupe"
import type { Event } from "../api/Conversations.ts"

/** The state of the agent that an event happened in: that of the outermost, where the call that leads there is settled. */
const at = (state: AgentState.AgentState, calls: ReadonlyArray<string>): AgentState.AgentState => {
  let found = state
  for (const id of calls) {
    const call = Conversation.openCalls(found.conversation).find((call) => call.id === id)
    if (call?.state._tag !== "Delegated") return found
    found = call.state.child
  }
  return found
}

const isEnd = (event: Event) =>
  event._tag === "RunCompleted" || event._tag === "RunFailed" || event._tag === "RunInterrupted"

/** Gives each end of a run its state: the last end gets the known state, and any other the fold of the events before it. */
export const toTrace = (
  events: ReadonlyArray<Event>,
  from: AgentState.AgentState,
  last: AgentState.AgentState
): ReadonlyArray<AgentEvent.AgentEvent> => {
  const lastEnd = events.findLastIndex((event) => event.calls.length === 0 && isEnd(event))
  let state = from
  return events.map((event, index) => {
    const whole = isEnd(event)
      ? { ...event, state: index === lastEnd ? last : at(state, event.calls) } as AgentEvent.AgentEvent
      : event as AgentEvent.AgentEvent
    state = AgentState.reduce(state, whole)
    return whole
  })
}
