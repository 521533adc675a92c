/**
 * The facts that rules decide on: an agent in a state, and its surroundings.
 *
 * @since 0.1.0
 */
import type { AgentState } from "../../domain/StateSchema.ts"
import type { Definition, Roster } from "../definition/AgentDefinition.ts"

/**
 * What a decision is made of: an agent in a state, who else may take over, the time in epoch milliseconds, and how many models of
 * agents that it called are asked at this time. `isChangingModes` says that a mode is being set up or cleaned up: nothing may lead the agent
 * elsewhere then. `caller` is the agent that called this one: its limits hold here, too.
 */
export interface Known {
  readonly state: AgentState
  readonly definition: Definition
  readonly roster: Roster
  readonly now: number
  readonly asked: number
  readonly isChangingModes: boolean
  readonly caller: Known | undefined
}
