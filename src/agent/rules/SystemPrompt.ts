/**
 * Which system prompt is sent: the agent's instructions, what was handed over, the state's system message, and what modes add.
 *
 * It isn't a turn of the conversation, but composed anew for each request, so that it neither piles up nor crosses a handoff.
 *
 * @since 0.1.0
 */
import * as ModeStack from "../../domain/ModeStack.ts"
import * as PromptSegments from "../../domain/PromptSegments.ts"
import type { AgentState } from "../../domain/StateSchema.ts"
import type { Definition } from "../definition/AgentDefinition.ts"

const quoted = (names: ReadonlyArray<string>): string => names.map((name) => `"${name}"`).join(", ")

/** Returns the note that says which mode a model is in, and what the mode is for. */
const modeNote = ({ modes }: Definition, state: AgentState): string | undefined => {
  const name = ModeStack.top(state)?.name
  if (name === undefined) return undefined
  const description = modes.get(name)?.mode.description
  const where = state.modes.length === 1 ? "" : `, inside ${quoted(ModeStack.names(state).slice(0, -1).toReversed())}`
  return `You are in mode "${name}"${where}.${description === undefined ? "" : ` ${description}`}`
}

/**
 * Composes the system prompt: prepends, instructions, what was handed over (`handed`, unless the model reads it in the
 * conversation), the state's system message, sections, the mode, appends.
 */
export const compose = (
  definition: Definition,
  state: AgentState,
  instructions: string | undefined,
  handed: string | undefined
): string =>
  PromptSegments.render(state.prompt, [instructions, handed, state.systemMessage], modeNote(definition, state))
