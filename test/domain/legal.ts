/**
 * What makes a conversation legal, said without the code that keeps it so, and values that nothing can change.
 */
import type { AgentState, Conversation } from "troupe"

/** Everything that is wrong with a conversation, in those of called agents too. */
export const problems = (conversation: Conversation.Conversation): ReadonlyArray<string> => {
  const found: Array<string> = []
  const ids = new Set<string>()
  const last = conversation.turns.findLastIndex((turn) => turn._tag === "Assistant")
  conversation.turns.forEach((turn, index) => {
    if (turn._tag !== "Assistant") return
    for (const part of turn.parts) {
      if (part._tag !== "Call") continue
      if (part.id === "") found.push(`turn ${index} has a call without an id`)
      if (ids.has(part.id)) found.push(`turn ${index} repeats the id "${part.id}"`)
      ids.add(part.id)
      if (part.state._tag !== "Settled" && index !== last) found.push(`turn ${index} leaves "${part.id}" open`)
      if (part.state._tag === "Delegated") found.push(...problems(part.state.child.conversation))
    }
  })
  return found
}

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
export const deepFreeze = <A>(value: A): A => {
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value) || Object.isFrozen(value)) return value
  Object.freeze(value)
  for (const key of Reflect.ownKeys(value)) deepFreeze(Reflect.get(value, key))
  return value
}
