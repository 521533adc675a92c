/**
 * An agent's instructions in a state.
 *
 * @since 0.1.0
 */
import type { AgentState } from "../../../domain/StateSchema.ts"
import * as Wanted from "../../../domain/Wanted.ts"
import * as MaybeEffect from "../../../handoff/MaybeEffect.ts"
import type { Definition } from "../../definition/AgentDefinition.ts"

/** Returns an agent's instructions in a state, or an effect that makes them. */
export const instructionsOf = (
  { instructions, name }: Definition,
  state: AgentState
): MaybeEffect.MaybeEffect<string | undefined, unknown, unknown> => {
  const given = typeof instructions === "function" ? instructions(state) : instructions
  // An agent needn't have any.
  return instructions === undefined || typeof given === "string"
    ? given
    : MaybeEffect.map(given, (text) => Wanted.text(`The instructions of agent "${name}"`, text))
}
