/**
 * A policy's transforms of the conversation that crosses.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type { HandoffRequest } from "../../domain/AgentStatus.ts"
import { tagOf } from "../../domain/Described.ts"
import type { Conversation } from "../../domain/StateSchema.ts"

/** Marks a policy. */
export const TypeId = "~troupe/handoff/HandoffPolicy"

/**
 * A handoff that is being carried out: its source, its target, and the request.
 *
 * @category models
 * @since 0.1.0
 */
export interface Crossing {
  readonly from: string
  readonly to: string
  readonly request: HandoffRequest
}

/** A policy's transform of the conversation, and whether its failure ends the run. */
export interface Transform {
  readonly apply: (conversation: Conversation, crossing: Crossing) => Effect.Effect<Conversation, unknown, unknown>
  readonly onFailure: "Keep" | "Fail"
}

/** The part of a policy that changes the conversation. */
export interface Transforming<out E, out R> {
  readonly [TypeId]: {
    readonly transforms: ReadonlyArray<Transform>
    readonly _E?: () => E
    readonly _R?: () => R
  }
}

/** Logs that a transform is left out, with the tag of its error alone: the words of an error may quote the conversation. */
const warn = (error: unknown, { from, to }: Crossing): Effect.Effect<void> =>
  Effect.logWarning(`A transform is left out of the handoff from "${from}" to "${to}": ${tagOf(error) ?? "Failure"}`)

/** Applies transforms one after the other. If one fails, it is left out and `leaveOut` is called, unless the failure ends the run. */
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
