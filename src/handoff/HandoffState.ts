/**
 * Handoffs carried out, as functions of states: what was asked for, who takes over with what, and what they were handed.
 *
 * @since 0.1.0
 */
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import type * as Schema from "effect/Schema"
import type { HandoffRequest } from "../domain/AgentStatus.ts"
import { leaveAll } from "../domain/ModeStack.ts"
import type { AgentState, Conversation } from "../domain/StateSchema.ts"
import { acknowledge, takeOver } from "../domain/Takeover.ts"
import { type Any, type AnyOffer, type Handoff, internalsOf, type Parameters } from "./HandoffType.ts"
import * as History from "./History.ts"

/** Gives the request that a call makes, where its parameters decode. */
export const requestOf = (
  self: AnyOffer & Pick<Any, "toolName">,
  call: { readonly id: string; readonly params: Schema.Json }
): Result.Result<HandoffRequest, Schema.SchemaError> =>
  Result.map(internalsOf(self).decode(call.params), (decoded) => {
    const { context, reason }: { readonly context?: Schema.Json; readonly reason?: string } =
      internalsOf(self).isDefault
        ? decoded as Parameters
        : { context: call.params }
    return {
      target: self.target,
      callId: call.id,
      tool: self.toolName,
      ...(reason === undefined ? undefined : { reason }),
      ...(context === undefined ? undefined : { context })
    }
  })

/**
 * Gives the state of the agent that takes over, as a function of the state that hands over.
 *
 * Modes are left, as far as that is a matter of the state: a run runs their clean-ups before. The call that asked is settled as
 * `HandedOff`. What crosses is what the handoff says; where that takes an effect
 * (`summary`, or a function of one's own) it is the whole conversation, unless `crossing` gives what the effect made.
 *
 * @category combinators
 * @since 0.1.0
 */
export const buildHandoffState = (
  from: AgentState,
  handoff: AnyOffer & Pick<Any, "transferSystemMessage">,
  request: HandoffRequest,
  crossing?: Conversation
): AgentState => {
  const source = leaveAll(from)
  const conversation = crossing ??
    History.select(internalsOf(handoff).history, acknowledge(source.conversation, request))
  return takeOver(source, {
    request,
    ...(conversation === undefined ? undefined : { conversation }),
    ...(handoff.transferSystemMessage && source.systemMessage !== undefined
      ? { systemMessage: source.systemMessage }
      : undefined)
  }, source.run.startedAt)
}

/**
 * Gives what the agent in control was handed with this handoff, decoded; none where it got control in another way, by
 * another tool, or by a policy's decision.
 *
 * Instructions of a target read their parameters by it. The handoff can't be made of the target then, whose instructions
 * name the handoff: make it of the target's name.
 *
 * @category getters
 * @since 0.1.0
 */
export const received: {
  <Params>(self: Handoff<string, Params, unknown, unknown, unknown, string>, state: AgentState): Option.Option<Params>
} = (self: Any, state: AgentState): Option.Option<never> => {
  const { handoff } = state
  if (handoff === undefined || state.agent !== self.target || handoff.tool !== self.toolName) return Option.none()
  const { decode, isDefault } = internalsOf(self)
  const params = isDefault
    ? {
      ...(handoff.reason === undefined ? undefined : { reason: handoff.reason }),
      ...(handoff.context === undefined ? undefined : { context: handoff.context })
    }
    : handoff.context ?? null
  return Result.getSuccess(decode(params)) as Option.Option<never>
}
