/**
 * What a state names and its agents don't have: an agent, a mode or a tool.
 *
 * @since 0.1.0
 */
import { AgentMismatch } from "../../domain/AgentError.ts"
import { hasOpenCalls, openCalls } from "../../domain/conversation/Turns.ts"
import type { AgentState } from "../../domain/StateSchema.ts"
import type { Roster } from "../definition/AgentDefinition.ts"

const none: ReadonlyArray<AgentMismatch> = []

const lacks = (
  agent: string,
  missing: AgentMismatch["missing"],
  wanted: string,
  available: ReadonlyMap<string, unknown>
): ReadonlyArray<AgentMismatch> => [new AgentMismatch({ agent, missing, wanted, available: [...available.keys()] })]

/**
 * Finds all that a state names and a roster doesn't have, in called agents too.
 *
 * A pending call may name any tool: if the agent doesn't have the tool, the model reads that as the result. The agent must have the tools of
 * all other open calls, except those that the provider runs.
 */
export const mismatches = (roster: Roster, state: AgentState): ReadonlyArray<AgentMismatch> => {
  const definition = roster.agents.get(state.agent)
  if (definition === undefined) return lacks(roster.first.name, "agent", state.agent, roster.agents)
  const { modes, name, tools } = definition
  if (state.modes.length === 0 && !hasOpenCalls(state.conversation)) return none
  return [
    ...state.modes.flatMap((frame) => modes.has(frame.name) ? [] : lacks(name, "mode", frame.name, modes)),
    ...openCalls(state.conversation).flatMap((call) => {
      if (call.approvalId !== undefined) return []
      const entry = tools.get(call.name)
      if (call.state._tag === "Delegated") {
        return entry?._tag === "Agent"
          ? mismatches(entry.roster(), call.state.child)
          : lacks(name, "tool", call.name, tools)
      }
      return entry === undefined && call.state._tag !== "Pending" ? lacks(name, "tool", call.name, tools) : []
    })
  ]
}

/** Finds the first thing that a state names and a roster doesn't have. */
export const findMismatch = (roster: Roster, state: AgentState): AgentMismatch | undefined =>
  mismatches(roster, state)[0]
