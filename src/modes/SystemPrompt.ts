/**
 * Pieces of the system prompt that are added to an agent's instructions while a conversation goes on.
 *
 * A model is sent prepends, the agent's instructions, sections and appends, in this order, with an empty line between them.
 * What is added in a mode is taken out when the mode is left, unless it is to `persist`; what is added outside of any mode
 * stays with the agent.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type { AgentState } from "../domain/AgentState.ts"
import * as PromptSegments from "../domain/PromptSegments.ts"
import type { PromptSegment } from "../domain/StateSchema.ts"
import { use } from "./Host.ts"
import type { ModeError } from "./ModeError.ts"

/** Whether a piece outlives the mode that adds it; it doesn't by default. A mode of isolation `fork` keeps nothing. */
export interface Options {
  readonly persist?: boolean | undefined
}

const add = (segment: PromptSegment, options: Options | undefined): Effect.Effect<void, ModeError> => {
  const operation = `SystemPrompt.${segment.place}`
  return use(operation, (host) =>
    host.adjust(operation, {
      _tag: "SegmentAdded",
      segment: options?.persist === true ? { ...segment, persist: true } : segment
    }))
}

/**
 * Adds a text behind everything else.
 *
 * @category combinators
 * @since 0.1.0
 */
export const append = (text: string, options?: Options): Effect.Effect<void, ModeError> =>
  add({ place: "append", text }, options)

/**
 * Adds a text before the agent's instructions.
 *
 * @category combinators
 * @since 0.1.0
 */
export const prepend = (text: string, options?: Options): Effect.Effect<void, ModeError> =>
  add({ place: "prepend", text }, options)

/**
 * Adds a section behind the agent's instructions, or replaces the one of the same name: for good where this mode added that,
 * until the mode is left where an outer one did. An empty text hides it.
 *
 * @category combinators
 * @since 0.1.0
 */
export const section = (name: string, text: string, options?: Options): Effect.Effect<void, ModeError> =>
  add({ place: "section", name, text }, options)

/**
 * The system prompt that this conversation's pieces make of the agent's instructions, if they are a text.
 *
 * @category getters
 * @since 0.1.0
 */
export const render = (instructions: string): Effect.Effect<string, ModeError> =>
  use("SystemPrompt.render", ({ state }) => Effect.map(state, (state) => renderOf(state, instructions)))

/** Gives the system prompt that the pieces of a state make of instructions. */
const renderOf = ({ prompt }: AgentState, instructions: string): string => PromptSegments.render(prompt, [instructions])
