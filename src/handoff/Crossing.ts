/**
 * What crosses a handoff: which modes, which part of the conversation, and whether the system message does.
 *
 * A run and `buildHandoffState` share these functions. If there is no handoff, a policy has decided: then everything but the modes crosses.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type { HandoffRequest } from "../domain/AgentStatus.ts"
import { make } from "../domain/conversation/Turns.ts"
import type { AgentState, Conversation } from "../domain/StateSchema.ts"
import * as Takeover from "../domain/Takeover.ts"
import { type Any, type AnyOffer, internalsOf } from "./HandoffType.ts"
import * as History from "./History.ts"
import { applyAll, type Transform } from "./policy/Transform.ts"

/** A handoff, or none if a policy has decided. */
export type Offer = (AnyOffer & Pick<Any, "transferSystemMessage">) | undefined

/** Counts the modes that cross if the handoff carries modes: from the bottom up to the first that the target lacks. */
export const countCarried = (
  { modes }: AgentState,
  handoff: Offer,
  target: { readonly has: (mode: string) => boolean }
): number => {
  if (handoff === undefined || !internalsOf(handoff).carryModes) return 0
  const at = modes.findIndex(({ name }) => !target.has(name))
  return at < 0 ? modes.length : at
}

const historyOf = (handoff: Offer): History.History<unknown, unknown> =>
  handoff === undefined ? History.full : internalsOf(handoff).history

/** Returns a changed conversation, or `undefined` if it is the same. */
const changed = (made: Conversation, whole: Conversation): Conversation | undefined =>
  made === whole ? undefined : make(made.turns)

/**
 * Makes the conversation that crosses. Returns `undefined`, or an effect of it, if all of it crosses. The state has already left the modes
 * that don't cross.
 */
export const cross = (
  { agent: from, conversation }: AgentState,
  handoff: Offer,
  request: HandoffRequest,
  transforms: ReadonlyArray<Transform>,
  leaveOut?: (error: unknown) => Effect.Effect<void>
): Effect.Effect<Conversation | undefined, unknown, unknown> | undefined =>
  historyOf(handoff)._tag === "Full" && transforms.length === 0 ? undefined : Effect.suspend(() => {
    const whole = Takeover.acknowledge(conversation, request)
    return History.crossingOf(historyOf(handoff), whole).pipe(
      Effect.flatMap((selected) => applyAll(transforms, selected, { from, to: request.target, request }, leaveOut)),
      Effect.map((made) => changed(made, whole))
    )
  })

/** Returns what `cross` makes without a policy, if that needs no effect. If it needs one, the whole conversation crosses. */
export const select = (
  { conversation }: AgentState,
  handoff: Offer,
  request: HandoffRequest
): Conversation | undefined => {
  const whole = Takeover.acknowledge(conversation, request)
  return changed(History.select(historyOf(handoff), whole), whole)
}

/** Returns everything that crosses. The state has already left the modes that don't cross. */
export const crossing = (
  { status, systemMessage }: AgentState,
  handoff: Offer,
  asked: HandoffRequest,
  conversation: Conversation | undefined
): Takeover.Crossing => ({
  // The call that asked may be gone: a mode drops its turns when it is left.
  request: status._tag === "HandoffRequested" ? status.request : asked,
  ...(conversation === undefined ? undefined : { conversation }),
  ...(systemMessage !== undefined && (handoff?.transferSystemMessage ?? true) ? { systemMessage } : undefined)
})
