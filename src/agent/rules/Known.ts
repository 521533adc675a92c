/**
 * The facts that rules decide on: an agent in a state, and its surroundings.
 *
 * @since 0.1.0
 */
import type { AgentState } from "../../domain/StateSchema.ts"
import type { Definition, Roster } from "../definition/AgentDefinition.ts"

/**
 * What a decision is made of: an agent in a state, its roster, the time in epoch milliseconds, and how many models of called agents are
 * being asked now (`asked`), besides that of the agent that decides. With `isChangingModes`, a mode is being set up or cleaned up, so
 * neither a handoff nor another mode may interfere. `caller` is the agent that called this one, whose limits apply here too.
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
