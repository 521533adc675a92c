/**
 * What makes a conversation legal, said without the code that keeps it so, and values that nothing can change.
 */
import type { AgentState, Conversation } from "troupe"
import { Laws } from "troupe/testing"

/** Everything that is wrong with a conversation, in those of called agents too. */
export const problems = Laws.problems

/** A state and those of the agents that it called, with the names and the calls that lead to each. */
export interface Place {
  readonly state: AgentState.AgentState
  readonly path: readonly [string, ...Array<string>]
  readonly calls: ReadonlyArray<string>
}

/** Every place in a state, outermost first. */
export const places = (
  state: AgentState.AgentState,
  path: Place["path"] = [state.agent],
  calls: Place["calls"] = []
): ReadonlyArray<Place> => [
  { state, path, calls },
  ...callsIn(state.conversation).flatMap((call) =>
    call.state._tag === "Delegated"
      ? places(call.state.child, [...path, call.state.child.agent], [...calls, call.id])
      : []
  )
]

/** The calls of a conversation, not those of called agents. */
export const callsIn = (conversation: Conversation.Conversation): ReadonlyArray<Conversation.Call> =>
  conversation.turns.flatMap((turn) =>
    turn._tag === "Assistant" ? turn.parts.filter((part): part is Conversation.Call => part._tag === "Call") : []
  )

/** Freezes a value and all that is in it. Bytes can't be frozen. */
export { deepFreeze } from "../../src/testing/arbitrary/Choice.ts"
