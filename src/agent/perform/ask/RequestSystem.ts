/**
 * The system message of a request, and what counts beside its turns: the same for those who send it and for those who ask before.
 *
 * What was handed over stands in the system message, unless the model reads it in a turn that is sent.
 *
 * @since 0.1.0
 */
import type * as Prompt from "effect/ai/Prompt"
import { openingText } from "../../../domain/Projection.ts"
import type { AgentState } from "../../../domain/StateSchema.ts"
import { handedNote } from "../../../domain/Takeover.ts"
import type { Request } from "../../definition/AgentDefinition.ts"
import type { Loop } from "../../journal/Loop.ts"
import { compose } from "../../rules/SystemPrompt.ts"
import type { Beside, Choice } from "./WindowChoice.ts"

/** Checks whether a context window leaves out the turn in which the model would read what was handed over. */
const leavesOut = ({ chosen, entries }: Choice, { handoff }: AgentState): boolean =>
  handoff !== undefined && !entries.isTold(handoff, chosen)

/** Gives the system message. `handed` is what was handed over if no turn says it, and `choice` what a context window chose to send. */
export const systemOf = (
  { definition, state }: Loop,
  instructions: string | undefined,
  handed: string | undefined,
  choice?: Choice
): string => {
  const isLeft = choice !== undefined && handed === undefined && leavesOut(choice, state)
  return compose(definition, state, instructions, isLeft ? handedNote(state) : handed)
}

/**
 * Gives what a context window counts beside the turns, whose first message is given: the system message with what was handed over,
 * wherever that will stand.
 */
export const besideOf = (
  loop: Loop,
  instructions: string | undefined,
  handed: string | undefined,
  first: Prompt.Message | undefined,
  request: Request
): Beside => {
  const note = handed === undefined ? handedNote(loop.state) : undefined
  return {
    texts: [
      systemOf(loop, instructions, handed),
      ...(note === undefined ? [] : [note]),
      ...(first?.role === "user" ? [] : [openingText])
    ],
    request
  }
}
