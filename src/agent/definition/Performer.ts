/**
 * The code that performs an option of an agent. The option carries it, so that only programs with that option load it.
 *
 * @since 0.1.0
 */

/**
 * Performs an option in a loop. Definitions don't know loops, so its methods are declared in `perform/guard/Guard.ts` and
 * `perform/window/WindowPrompts.ts`.
 */
export interface Performer {
  readonly _tag: string
}
