/**
 * The system message of a request, and what else counts besides its turns. Sending and rendering share these functions.
 *
 * What was handed over is in the system message, unless a turn that is sent says it.
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
import type { Beside, Choice } from "../window/Choice.ts"

/** Checks whether a context window leaves out the turn that says what was handed over. */
const leavesOut = ({ chosen, entries }: Choice, { handoff }: AgentState): boolean =>
  handoff !== undefined && !entries.isTold(handoff, chosen)

/** Returns the system message. `handed` is what was handed over if no turn says it, and `choice` what a context window chose to send. */
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
 * Returns what a context window counts besides the turns: the request, the system message with what was handed over, and the opening text
 * if the first message of the turns (`first`) isn't a user's.
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
