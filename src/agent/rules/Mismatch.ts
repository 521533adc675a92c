/**
 * What a state names and its agents don't have: an agent, a mode or a tool.
 *
 * @since 0.1.0
 */
import { AgentMismatch } from "../../domain/AgentError.ts"
import { openCalls } from "../../domain/conversation/Turns.ts"
import type { AgentState } from "../../domain/StateSchema.ts"
import type { Roster } from "../definition/AgentDefinition.ts"

const lacks = (
  agent: string,
  missing: AgentMismatch["missing"],
  wanted: string,
  available: ReadonlyMap<string, unknown>
): AgentMismatch => new AgentMismatch({ agent, missing, wanted, available: [...available.keys()] })

/**
 * Finds what a state names and a roster doesn't have.
 *
 * A pending call may name any tool: if the agent doesn't have the tool, the model reads that as the result. The agent must have the tools of
 * all other open calls, except those that the provider runs.
 */
export const findMismatch = (roster: Roster, state: AgentState): AgentMismatch | undefined => {
  const definition = roster.agents.get(state.agent)
  if (definition === undefined) return lacks(roster.first.name, "agent", state.agent, roster.agents)
  const { modes, name, tools } = definition
  const mode = state.modes.find((frame) => !modes.has(frame.name))
  if (mode !== undefined) return lacks(name, "mode", mode.name, modes)
  for (const call of openCalls(state.conversation)) {
    if (call.approvalId !== undefined) continue
    const entry = tools.get(call.name)
    if (call.state._tag === "Delegated") {
      if (entry?._tag !== "Agent") return lacks(name, "tool", call.name, tools)
      const nested = findMismatch(entry.roster(), call.state.child)
      if (nested !== undefined) return nested
    } else if (entry === undefined && call.state._tag !== "Pending") return lacks(name, "tool", call.name, tools)
  }
  return undefined
}
