/**
 * Sending an answer that doesn't fit the agent's output schema back to its model.
 *
 * @since 0.1.0
 */
import * as Result from "effect/Result"
import { OutputInvalid } from "../../domain/AgentError.ts"
import { statusOf } from "../../domain/ImpliedStatus.ts"
import { toolName } from "../definition/OutputCodec.ts"
import { Halt } from "../journal/Halt.ts"
import * as Loop from "../journal/Loop.ts"
import * as FinalAnswer from "./FinalAnswer.ts"

/**
 * What is wrong with the answer that the state ends in, where the agent's answers have a schema.
 *
 * A run that a condition finished before its model gave an answer has none to correct.
 */
export const wrongAnswer = ({ definition, state }: Pick<Loop.Loop, "definition" | "state">): string | undefined => {
  if (definition.output === undefined) return undefined
  if (state.status._tag === "InProgress") {
    return state.run.iteration === 0 ? undefined : FinalAnswer.rejection(definition.output, state)
  }
  if (state.status._tag !== "Complete" || statusOf(state.conversation)._tag !== "Complete") return undefined
  const read = FinalAnswer.read(definition.output, state)
  return Result.isFailure(read) ? read.failure.message : undefined
}

/** Sends a wrong answer back to the model, as often as the agent allows. */
export const correct = (loop: Loop.Loop, issue: string): Halt | undefined => {
  const { corrections } = loop.state.run
  if (corrections >= loop.definition.outputRetries) {
    return new Halt(new OutputInvalid({ agent: loop.definition.name, corrections, issue }))
  }
  Loop.tell(loop, {
    _tag: "FeedbackGiven",
    text: `The answer doesn't fit what was asked for: ${issue}\nGive it again by calling ${toolName}.`
  })
  return undefined
}
