/**
 * When an answer goes back to the model: it doesn't fit the agent's output schema.
 *
 * @since 0.1.0
 */
import * as Result from "effect/Result"
import { OutputInvalid } from "../../domain/AgentError.ts"
import { toolName } from "../../domain/FinalAnswer.ts"
import { statusOf } from "../../domain/ImpliedStatus.ts"
import type { AgentState } from "../../domain/StateSchema.ts"
import type { Definition } from "../definition/AgentDefinition.ts"
import * as FinalAnswer from "./FinalAnswer.ts"

/**
 * Returns what is wrong with the answer at the end of a state, if the agent's answers have a schema.
 *
 * A run that a condition finished before its model gave an answer has none to correct.
 */
export const wrongAnswer = ({ output }: Definition, state: AgentState): string | undefined => {
  if (output === undefined) return undefined
  if (state.status._tag === "InProgress") {
    return state.run.iteration === 0 ? undefined : FinalAnswer.rejection(output, state)
  }
  if (state.status._tag !== "Complete" || statusOf(state.conversation)._tag !== "Complete") return undefined
  const read = FinalAnswer.read(output, state)
  return Result.isFailure(read) ? read.failure.message : undefined
}

/** Returns the reason to fail, if the answer went back to the model as often as the agent allows. */
export const spent = (
  { name: agent, outputRetries }: Definition,
  { run: { corrections } }: AgentState,
  issue: string
): OutputInvalid | undefined =>
  corrections < outputRetries ? undefined : new OutputInvalid({ agent, corrections, issue })

/** What the model is told with an answer that goes back. */
export const feedback = (issue: string): string =>
  `The answer doesn't fit what was asked for: ${issue}\nGive it again by calling ${toolName}.`
