/**
 * What a model is sent: the system message, composed anew for each request, and the messages of the settled turns.
 *
 * @since 0.1.0
 */
import * as Prompt from "effect/ai/Prompt"
import * as Effect from "effect/Effect"
import * as ModeStack from "../domain/ModeStack.ts"
import { toMessages } from "../domain/Projection.ts"
import * as PromptSegments from "../domain/PromptSegments.ts"
import type { AgentState } from "../domain/StateSchema.ts"
import type { Definition } from "./Definition.ts"
import type { Loop } from "./Loop.ts"

/** Says which mode a model is in, and what it is for. */
const modeNote = ({ modes }: Definition, state: AgentState): string | undefined => {
  const stack = ModeStack.names(state)
  const name = stack[stack.length - 1]
  if (name === undefined) return undefined
  const mode = modes.get(name)?.mode
  return [
    `You are in mode "${name}"${stack.length === 1 ? "" : `, inside ${quoted(stack.slice(0, -1).toReversed())}`}.`,
    ...(mode?.description === undefined ? [] : [mode.description])
  ].join(" ")
}

const quoted = (names: ReadonlyArray<string>): string => names.map((name) => `"${name}"`).join(", ")

/**
 * Composes the system text: prepends, instructions, what was handed over, the state's system message, sections, the mode,
 * appends.
 */
const compose = (
  definition: Definition,
  state: AgentState,
  instructions: string | undefined,
  note: string | undefined
): string =>
  state.prompt.length === 0 && state.systemMessage === undefined && note === undefined && state.modes.length === 0
    ? instructions ?? ""
    : PromptSegments.render(state.prompt, [instructions, note, state.systemMessage], modeNote(definition, state))

/** Composes the system text, unless all that it is made of is what it was for the last request. */
const composeOnce = (loop: Loop, instructions: string | undefined): string => {
  const { definition, sent, state } = loop
  const { modes, prompt, systemMessage } = state
  const { composed: last, note } = sent
  if (
    last !== undefined && last.definition === definition && last.prompt === prompt && last.modes === modes &&
    last.systemMessage === systemMessage && last.instructions === instructions && last.note === note
  ) return last.text
  const text = compose(definition, state, instructions, note)
  sent.composed = { definition, prompt, modes, systemMessage, instructions, note, text }
  return text
}

const instructionsOf = (
  definition: Definition,
  state: AgentState
): string | undefined | Effect.Effect<string, unknown, unknown> =>
  typeof definition.instructions === "function" ? definition.instructions(state) : definition.instructions

/** Adds the messages of the turns that are new, behind the place of the system message. */
const extendSent = ({ sent, state }: Loop): void => {
  const { turns } = state.conversation
  for (; sent.turns < turns.length; sent.turns++) sent.messages.push(...toMessages(turns[sent.turns]!))
}

const systemMessage = (content: string): Prompt.Message => Prompt.makeMessage("system", { content })

const assemble = (loop: Loop, instructions: string | undefined): Prompt.Prompt => {
  const { sent } = loop
  const system = composeOnce(loop, instructions)
  if (sent.messages.length === 0 || system !== sent.system) {
    sent.messages[0] = systemMessage(system)
    sent.system = system
  }
  extendSent(loop)
  return Prompt.fromMessages(sent.messages.slice(system === "" ? 1 : 0))
}

/** Makes the prompt of a loop whose calls are all settled. */
export const makePrompt = (loop: Loop): Prompt.Prompt | Effect.Effect<Prompt.Prompt, unknown, unknown> => {
  const instructions = instructionsOf(loop.definition, loop.state)
  return Effect.isEffect(instructions)
    ? Effect.map(instructions, (text) => assemble(loop, text))
    : assemble(loop, instructions)
}
