/**
 * Pieces of the system prompt that are added to an agent's instructions during a conversation.
 *
 * A model gets prepends, the agent's instructions, sections and appends, in this order, with an empty line between them. Pieces that are
 * added in a mode are removed when the mode is left, unless they `persist`; pieces that are added outside of any mode stay until
 * another agent takes over.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { identity } from "effect/Function"
import * as PromptSegments from "../domain/PromptSegments.ts"
import type { PromptSegment } from "../domain/StateSchema.ts"
import { type CallError, use } from "./Host.ts"
import type { ModeError } from "./ModeError.ts"

/** Whether a piece outlives the mode that adds it; it doesn't by default. A mode of isolation `fork` keeps nothing. */
export interface Options {
  readonly persist?: boolean | undefined
}

const add = (
  segment: PromptSegment,
  options: Options | undefined,
  operation = `SystemPrompt.${segment.place}`
): Effect.Effect<void, ModeError> =>
  use(operation, (host) =>
    host.adjust(operation, {
      _tag: "SegmentAdded",
      segment: options?.persist === true ? { ...segment, persist: true } : segment
    }))

/**
 * Adds a text after everything else.
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
 * Adds a section after the agent's instructions, or replaces the section of the same name: permanently if this mode added it, or until this
 * mode is left if an outer mode did. An empty text hides the section.
 *
 * @category combinators
 * @since 0.1.0
 */
export const section = (name: string, text: string, options?: Options): Effect.Effect<void, ModeError> =>
  add({ place: "section", name, text }, options)

/**
 * Removes a section: permanently if this mode added it, or until this mode is left if an outer mode did. With `persist` it stays removed
 * after that.
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
          PromptSegments.sections(prompt).flatMap(({ name, text }) => text === "" ? [] : [{ name, text }])
        ))
  )

/**
 * The sections that are sent, in their order, without those that an inner mode hides or replaces.
 *
 * @category getters
 * @since 0.1.0
 */
export const sections: Effect.Effect<ReadonlyArray<Section>, ModeError> = read("SystemPrompt.sections", identity)

/**
 * The text of a section as it is sent, or `undefined` if there is no section of this name.
 *
 * @category getters
 * @since 0.1.0
 */
export const get = (name: string): Effect.Effect<string | undefined, ModeError> =>
  read("SystemPrompt.get", (sections) => sections.find((section) => section.name === name)?.text)

/**
 * The system prompt as the next request sends it, with `instructions` instead of the agent's own if they are given.
 *
 * It evaluates the agent's instructions, so it may fail as they do. Instructions that read the system prompt fail with `Unavailable`.
 *
 * @category getters
 * @since 0.1.0
 */
export const render = (instructions?: string): Effect.Effect<string, CallError> =>
  use("SystemPrompt.render", (host) => host.systemPrompt(instructions))
