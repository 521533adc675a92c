/**
 * What a context window is.
 *
 * @since 0.1.0
 */
import type * as Effect from "effect/Effect"
import type { AgentState, Conversation } from "../../../domain/StateSchema.ts"
import type { CountTokens } from "../../../domain/TokenEstimate.ts"
import type { Choose } from "../../../domain/window/Choosing.ts"
import type { Made } from "../../../handoff/SummaryByModel.ts"
import type { ModelLayer } from "../ModelLayer.ts"
import type { Performer } from "../Performer.ts"

/** Makes the text that stands for turns. */
export type Summarize = (conversation: Conversation) => Effect.Effect<Made, unknown, unknown>

/**
 * What a strategy does: it chooses turns, or lets turns be summarized. It is asked if there is too much. A step that `needsNoLimit` is
 * asked even if no limit is set, and one that `isLimit` itself is always asked. `model` is the model that
 * summarizes turns; if it is `undefined`, the agent's own does.
 */
export type Step =
  | {
    readonly _tag: "Choose"
    readonly choose: Choose
    readonly isLimit: boolean
    readonly needsNoLimit: boolean
  }
  | {
    readonly _tag: "Summarize"
    readonly summarize: Summarize
    readonly model: { readonly _tag: "Layer"; readonly layer: ModelLayer } | undefined
  }

export const TypeId = "~troupe/agent/ContextWindow"

/** What a context window is made of. */
export interface Internals {
  readonly performer: Performer
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
