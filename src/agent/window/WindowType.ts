/**
 * What a context window is.
 *
 * @since 0.1.0
 */
import type { AgentState } from "../../domain/StateSchema.ts"
import type { CountTokens } from "../../domain/TokenEstimate.ts"
import type { Step } from "./Strategy.ts"

export const TypeId = "~troupe/agent/ContextWindow"

/** What a context window is made of. */
export interface Internals {
  readonly maxTokens: (state: AgentState) => number
  readonly countsTokens: boolean
  readonly maxTurns: number
  readonly reserve: number
  readonly target: number
  readonly count: CountTokens | undefined
  readonly steps: ReadonlyArray<Step>
}

/**
 * How much of a conversation an agent's requests send. `E` is what a run may fail with because of the window besides `AgentError`, and `R`
 * what the window needs.
 *
 * @category models
 * @since 0.1.0
 */
export interface ContextWindow<out E = never, out R = never> {
  readonly [TypeId]: Internals & { readonly _E?: () => E; readonly _R?: () => R }
}

/** Any context window. */
export type Any = ContextWindow<unknown, unknown>

/** What a context window is made of. */
export const internalsOf = (self: Any): Internals => self[TypeId]
