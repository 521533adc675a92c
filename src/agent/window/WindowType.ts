/**
 * A context window as agents have one, and in its type what a run may fail with and needs by it.
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
 * How much of a conversation an agent's model is sent. `E` is what a run may fail with by it beside `AgentError`, and `R` what it
 * needs.
 *
 * @category models
 * @since 0.1.0
 */
export interface ContextWindow<out E = never, out R = never> {
  readonly [TypeId]: Internals & { readonly _E?: () => E; readonly _R?: () => R }
}

/** Any context window. */
export type Any = ContextWindow<unknown, unknown>

/** Gives what a context window is made of. */
export const internalsOf = (self: Any): Internals => self[TypeId]
