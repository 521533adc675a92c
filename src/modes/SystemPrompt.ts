/**
 * Pieces of the system prompt that are added to an agent's instructions during a conversation.
 *
 * A model gets prepends, the agent's instructions, who handed over and why (if no turn that is sent says it), the state's `systemMessage`,
 * sections, a note about the mode, and appends, in this order, with an empty line between them. Pieces that are added in a mode are removed when the mode is left, unless they `persist`. Pieces
 * outside of any mode stay until a handoff.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { identity } from "effect/Function"
import * as PromptSegments from "../domain/PromptSegments.ts"
import type { PromptSegment } from "../domain/StateSchema.ts"
import * as Wanted from "../domain/Wanted.ts"
import { type CallError, use } from "./Host.ts"
import type { ModeError } from "./ModeError.ts"

/** Options of a piece of the system prompt. */
export interface Options {
  /**
   * Whether the piece outlives the mode that adds it; it doesn't by default. It then belongs to the mode around that one, or, if there is
   * none, stays until a handoff. A mode of isolation `fork` keeps nothing.
   */
  readonly persist?: boolean | undefined
}

const add = (
  segment: PromptSegment,
  options: Options | undefined,
  operation = `SystemPrompt.${segment.place}`
): Effect.Effect<void, ModeError> =>
  use(operation, (host) => {
    Wanted.textGiven(`The text of \`${operation}\``, segment.text)
    if (segment.place === "section") Wanted.textGiven(`The name of the section of \`${operation}\``, segment.name)
    return host.adjust(operation, () =>
      Effect.succeed({
        _tag: "SegmentAdded",
        segment: options?.persist === true ? { ...segment, persist: true } : segment
      }))
  })

/**
 * Adds a text after everything else. Without `persist` it stays until the innermost mode is left. Outside of any mode it stays until a
 * handoff.
 *
 * Fails with `NoConversation` if there is neither a session nor a run, and with `Unavailable` if the conversation can't be changed now.
 *
 * @category combinators
 * @since 0.1.0
 */
export const append = (text: string, options?: Options): Effect.Effect<void, ModeError> =>
  add({ place: "append", text }, options)

/**
 * Adds a text before the agent's instructions. It stays as long as an appended text, and fails as `append` does.
 *
 * @category combinators
 * @since 0.1.0
 */
export const prepend = (text: string, options?: Options): Effect.Effect<void, ModeError> =>
  add({ place: "prepend", text }, options)

/**
 * Adds a section after the agent's instructions, or replaces the section of the same name: permanently if this mode added it, or until this
 * mode is left if an outer mode did. A text without words hides the section. It fails as `append` does.
 *
 * @category combinators
 * @since 0.1.0
 */
export const section = (name: string, text: string, options?: Options): Effect.Effect<void, ModeError> =>
  add({ place: "section", name, text }, options)

/**
 * Removes a section: permanently if this mode added it, or until this mode is left if an outer mode did. With `persist` it stays removed
 * after that. It fails as `append` does.
 *
 * @category combinators
 * @since 0.1.0
 */
export const remove = (name: string, options?: Options): Effect.Effect<void, ModeError> =>
  add({ place: "section", name, text: "" }, options, "SystemPrompt.remove")

/**
 * A section of the system prompt.
 *
 * @category models
 * @since 0.1.0
 */
export interface Section {
  readonly name: string
  readonly text: string
}

const read = <A>(operation: string, f: (sections: ReadonlyArray<Section>) => A): Effect.Effect<A, ModeError> =>
  use(
    operation,
    ({ state }) =>
      Effect.map(state, ({ prompt }) =>
        f(
          PromptSegments.sections(prompt).map(({ name, text }) => ({ name, text }))
        ))
  )

/**
 * The sections that are sent, in the order in which their names were added, without those that an inner mode hides or replaces.
 *
 * Fails with `NoConversation` if there is neither a session nor a run.
 *
 * @category getters
 * @since 0.1.0
 */
export const sections: Effect.Effect<ReadonlyArray<Section>, ModeError> = read("SystemPrompt.sections", identity)

/**
 * The text of a section as it is sent, or `undefined` if there is no section of this name. It fails as `sections` does.
 *
 * @category getters
 * @since 0.1.0
 */
export const get = (name: string): Effect.Effect<string | undefined, ModeError> =>
  read("SystemPrompt.get", (sections) => sections.find((section) => section.name === name)?.text)

/**
 * The system prompt as the next request sends it, with `instructions` instead of the agent's own if they are given.
 *
 * Without `instructions` it evaluates the agent's own, so it may fail as they do, with their error in an `OwnError`. Instructions that
 * render the system prompt fail with `Unavailable`. It fails with `NoConversation` if there is neither a session nor a run.
 *
 * @category getters
 * @since 0.1.0
 */
export const render = (instructions?: string): Effect.Effect<string, CallError> =>
  use("SystemPrompt.render", (host) => host.systemPrompt(instructions))
