/**
 * Whether a state and an input fit the agents that are to go on with them.
 *
 * @since 0.1.0
 */
import { AgentMismatch, InputRejected } from "../../domain/AgentError.ts"
import { openCalls } from "../../domain/Conversation.ts"
import type { AgentState, User } from "../../domain/StateSchema.ts"
import type { Definition, Roster } from "../definition/AgentDefinition.ts"

/**
 * Finds what a state names and a roster doesn't have: its agent, the tool of a call that was approved, awaits approval or
 * was delegated, or a mode. A call that was only asked for may name a tool that never was.
 */
export const findMismatch = (roster: Roster, state: AgentState): AgentMismatch | undefined => {
  const definition = roster.agents.get(state.agent)
  if (definition === undefined) {
    return new AgentMismatch({
      agent: roster.first.name,
      missing: "agent",
      wanted: state.agent,
      available: [...roster.agents.keys()]
    })
  }
  const agent = definition.name
  const mode = state.modes.find(({ name }) => !definition.modes.has(name))
  if (mode !== undefined) {
    return new AgentMismatch({ agent, missing: "mode", wanted: mode.name, available: [...definition.modes.keys()] })
  }
  for (const call of openCalls(state.conversation)) {
    const entry = definition.tools.get(call.name)
    if (call.state._tag === "Pending" || (entry !== undefined && call.state._tag !== "Delegated")) continue
    if (entry?._tag !== "Agent" || call.state._tag !== "Delegated") {
      const available = [...definition.tools.keys()]
      return new AgentMismatch({ agent, missing: "tool", wanted: call.name, available })
    }
    const nested = findMismatch(entry.roster(), call.state.child)
    if (nested !== undefined) return nested
  }
  return undefined
}

/** Who takes an input, and how long it may be. */
type Taker = Pick<Definition, "name" | "maxInputLength">

/** The reason to fail when there is nothing to ask a model about. */
export const emptyInput = ({ maxInputLength, name }: Taker, length = 0): InputRejected =>
  new InputRejected({ agent: name, issue: "Empty", length, limit: maxInputLength })

/** Checks whether any agent of a roster could take a state and an input, so that it is worth asking which one is to. */
export const isTakeable = (roster: Roster, state: AgentState, input: User["parts"]): boolean => {
  const maxInputLength = Math.max(...Array.from(roster.agents.values(), (agent) => agent.maxInputLength))
  return findMismatch(roster, state) === undefined &&
    findInputIssue({ name: roster.first.name, maxInputLength }, input) === undefined
}

/** Says why an input can't be given to a model: it has neither a file nor a word, or it is too long. */
export const findInputIssue = (taker: Taker, input: User["parts"]): InputRejected | undefined => {
  let length = 0
  let isEmpty = true
  for (const part of input) {
    if (part._tag === "File") isEmpty = false
    else {
      length += part.text.length
      isEmpty &&= part.text.trim() === ""
    }
  }
  const limit = taker.maxInputLength
  return isEmpty
    ? emptyInput(taker, length)
    : length > limit
    ? new InputRejected({ agent: taker.name, issue: "TooLong", length, limit })
    : undefined
}
