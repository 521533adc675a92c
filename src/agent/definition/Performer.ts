/**
 * What an option of an agent carries, so that only programs with that option load what performs it.
 *
 * @since 0.1.0
 */

/**
 * What performs an option in a loop. What it does is known where a loop is known: `perform/guard/Guard.ts`,
 * `perform/window/WindowPrompts.ts`.
 */
export interface Performer {
  readonly _tag: string
}
