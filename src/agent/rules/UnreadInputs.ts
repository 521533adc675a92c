/**
 * Which inputs an agent reads for the first time, and whether a guardrail blocked what it should answer.
 *
 * @since 0.1.0
 */
import { GuardrailBlocked } from "../../domain/AgentError.ts"
import type { AgentState, Turn, User } from "../../domain/StateSchema.ts"
import type { Definition } from "../definition/AgentDefinition.ts"
import type { Known } from "./Known.ts"

/** Checks whether a turn is an input, of a user or of a mode. */
export const isSaid = (turn: Turn | undefined): turn is User => turn?._tag === "User"

/**
 * Returns the indices of the user turns that the agent in control reads for the first time: those that no model has answered, and, if the
 * agent took over, those that the run answers.
 */
export const find = (
  { name }: Pick<Definition, "name">,
  { conversation: { turns }, run }: AgentState
): ReadonlyArray<number> => {
  let places: Array<number> | undefined
  let isAnswered = false
  for (let at = turns.length - 1; at >= 0; at--) {
    const turn = turns[at]
    if (turn?._tag === "Assistant") {
      if (turn.agent === name) break
      isAnswered = true
    }
    if (isAnswered && (places?.length ?? 0) >= (run.inputs ?? 1)) break
    if (!isSaid(turn)) continue
    // Each decision of each run asks, and nearly always there is one. A list that begins empty would have room for many.
    if (places === undefined) places = [at]
    else places.push(at)
  }
  return places?.reverse() ?? []
}

const isBlocked = (turn: Turn | undefined): boolean => isSaid(turn) && turn.blocked !== undefined

/**
 * Returns the reason to fail if a guardrail blocked an input that the run should answer. What a mode said counts only while that mode is set
 * up or cleaned up.
 */
export const blockedIn = (
  { definition, isChangingModes, state }: Pick<Known, "definition" | "isChangingModes" | "state">
): GuardrailBlocked | undefined => {
  const { conversation: { turns }, run } = state
  const places = find(definition, state)
  // Nearly always nothing is blocked.
  if (!places.some((at) => isBlocked(turns[at]))) return undefined
  const said = places.map((at) => turns[at]).filter(isSaid)
  const inputs = said.filter(({ mode }) => mode === undefined).slice(-(run.inputs ?? 1))
  const last = isChangingModes ? said.slice(-1) : []
  const blocked = [...inputs, ...last].find(isBlocked)?.blocked
  return blocked === undefined
    ? undefined
    : new GuardrailBlocked({ agent: definition.name, stage: "input", ...blocked })
}
