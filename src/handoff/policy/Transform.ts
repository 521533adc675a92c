/**
 * What a policy makes of the conversation on its way.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type { HandoffRequest } from "../../domain/AgentStatus.ts"
import type { Conversation } from "../../domain/StateSchema.ts"

/** Marks a policy. */
export const TypeId = "~troupe/handoff/HandoffPolicy"

/**
 * A handoff on its way: from whom, to whom, and what was asked for.
 *
 * @category models
 * @since 0.1.0
 */
export interface Crossing {
  readonly from: string
  readonly to: string
  readonly request: HandoffRequest
}

/** What a policy makes of the conversation on its way, and whether its failure ends the run. */
export interface Transform {
  readonly apply: (conversation: Conversation, crossing: Crossing) => Effect.Effect<Conversation, unknown, unknown>
  readonly onFailure: "Keep" | "Fail"
}

/** A policy, as far as it changes the conversation on its way. */
export interface Transforming<out E, out R> {
  readonly [TypeId]: {
    readonly transforms: ReadonlyArray<Transform>
    readonly _E?: () => E
    readonly _R?: () => R
  }
}

/** Says in the log that a transform is left out. */
const warn = (error: unknown, { from, to }: Crossing): Effect.Effect<void> =>
  Effect.logWarning(`The conversation crosses from "${from}" to "${to}" unchanged`, error)

/** Applies transforms one after the other. One that fails is left out, and `leaveOut` hears of it, unless that ends the run. */
export const applyAll = (
  transforms: ReadonlyArray<Transform>,
  conversation: Conversation,
  crossing: Crossing,
  leaveOut: (error: unknown, crossing: Crossing) => Effect.Effect<void> = warn
): Effect.Effect<Conversation, unknown, unknown> =>
  Effect.reduce(transforms, () => conversation, (before, { apply, onFailure }) => {
    const applied = apply(before, crossing)
    return onFailure === "Fail"
      ? applied
      : Effect.catch(applied, (error) => Effect.as(leaveOut(error, crossing), before))
  })
