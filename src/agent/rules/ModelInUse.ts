/**
 * Which model is asked: that of the innermost mode that brings one, or the one that is set by its name, or the agent's own.
 *
 * @since 0.1.0
 */
import type { AgentState } from "../../domain/StateSchema.ts"
import type { Definition, OwnModel } from "../definition/AgentDefinition.ts"

/** Finds the model that is asked in a state. Returns `undefined` if it is the environment's. */
export const modelIn = ({ model, models, modes }: Definition, state: AgentState): OwnModel | undefined => {
  const mode = state.modes.findLast(({ name }) => modes.get(name)?.model !== undefined)
  if (mode !== undefined) return modes.get(mode.name)?.model
  const name = state.settings?.model
  return name === undefined ? model : models.get(name) ?? model
}
