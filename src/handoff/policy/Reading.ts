/**
 * Asking a policy, for loops other than Troupe's.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { dual } from "effect/Function"
import * as Option from "effect/Option"
import type * as Result from "effect/Result"
import type * as Schema from "effect/Schema"
import type { HandoffRequest } from "../../domain/AgentStatus.ts"
import * as Conversation from "../../domain/Conversation.ts"
import type { AgentState } from "../../domain/StateSchema.ts"
import * as Handoff from "../Handoff.ts"
import * as Offer from "./Offer.ts"
import { type Any, type Crossing, type Decision, type HandoffPolicy, internalsOf } from "./Policy.ts"
import { applyAll } from "./Transform.ts"

/**
 * Returns the handoffs that an agent may be offered. Given its state, only those that are offered in that state.
 *
 * @category getters
 * @since 0.1.0
 */
export const offeredTo: {
  (agent: string | AgentState): (self: Any) => ReadonlyArray<Handoff.Any>
  (self: Any, agent: string | AgentState): ReadonlyArray<Handoff.Any>
} = dual(
  2,
  (self: Any, agent: string | AgentState) =>
    internalsOf(self).offers.flatMap((offer) =>
      (typeof agent === "string" ? Offer.isTo(offer, agent) : Offer.isNow(offer, agent)) ? [offer.handoff] : []
    )
)

type Call = Pick<Conversation.Call, "id" | "name" | "params">
type Requested = Option.Option<Result.Result<HandoffRequest, Schema.SchemaError>>

/**
 * Returns the handoff request of an agent's call: `none` if no handoff in `offeredTo` has the call's tool, a failure if the call's
 * parameters don't decode.
 *
 * @category getters
 * @since 0.1.0
 */
export const requestOf: {
  (agent: string | AgentState, call: Call): (self: Any) => Requested
  (self: Any, agent: string | AgentState, call: Call): Requested
} = dual(
  3,
  (self: Any, agent: string | AgentState, call: Call): Requested =>
    Option.map(
      Option.fromUndefinedOr(offeredTo(self, agent).find(({ toolName }) => toolName === call.name)),
      (handoff) => Handoff.requestOf(handoff, call)
    )
)

/**
 * Returns which agent takes over after an answer, given the state with this answer; `none` if the answer ends the run.
 *
 * @category getters
 * @since 0.1.0
 */
export const decide: {
  (state: AgentState): (self: Any) => Option.Option<Decision>
  (self: Any, state: AgentState): Option.Option<Decision>
} = dual(2, (self: Any, state: AgentState) => Option.fromUndefinedOr(internalsOf(self).decide(state)))

/**
 * Returns an Effect of the conversation as it arrives. Transforms that fail are left out and logged, unless their `onFailure` is `"fail"`.
 *
 * @category combinators
 * @since 0.1.0
 */
export const transform: {
  (
    conversation: Conversation.Conversation,
    crossing: Crossing
  ): <Names extends string, E, R>(
    self: HandoffPolicy<Names, E, R>
  ) => Effect.Effect<Conversation.Conversation, E, R>
  <Names extends string, E, R>(
    self: HandoffPolicy<Names, E, R>,
    conversation: Conversation.Conversation,
    crossing: Crossing
  ): Effect.Effect<Conversation.Conversation, E, R>
} = dual(
  3,
  (self: Any, conversation: Conversation.Conversation, crossing: Crossing) =>
    Effect.map(
      applyAll(internalsOf(self).transforms, conversation, crossing),
      (changed) => changed === conversation ? conversation : Conversation.make(changed.turns)
    ) as Effect.Effect<Conversation.Conversation, never>
)
