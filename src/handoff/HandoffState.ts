/**
 * Handoffs carried out, as functions of states: what was asked for, who takes over with what, and what they were handed.
 *
 * @since 0.1.0
 */
import type * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import type * as Schema from "effect/Schema"
import { type HandoffRequest, handoffRequested } from "../domain/AgentStatus.ts"
import { leaveTo } from "../domain/ModeStack.ts"
import type { AgentState, Conversation } from "../domain/StateSchema.ts"
import * as TakenIds from "../domain/TakenIds.ts"
import { takeOver } from "../domain/Takeover.ts"
import * as Crossing from "./Crossing.ts"
import {
  type Any,
  type AnyOffer,
  type Error,
  type Handoff,
  internalsOf,
  type Parameters,
  type Services
} from "./HandoffType.ts"
import { type Transforming, TypeId } from "./policy/Transform.ts"
import * as Runnable from "./Runnable.ts"

/** Gives the request that a call makes, where its parameters decode, with what their schema makes of them and nothing else. */
export const requestOf = (
  self: AnyOffer & Pick<Any, "toolName">,
  call: { readonly id: string; readonly params: Schema.Json }
): Result.Result<HandoffRequest, Schema.SchemaError> => {
  const { decode, encode, isDefault } = internalsOf(self)
  return Result.map(Result.flatMap(decode(call.params), encode), (json) => ({
    target: self.target,
    callId: call.id,
    tool: self.toolName,
    ...shownOf(isDefault ? json as Parameters : { context: json })
  }))
}

/** Gives the parameters of a call that makes a request. */
export const paramsOf = (self: AnyOffer, request: HandoffRequest): Schema.Json =>
  internalsOf(self).isDefault ? { ...shownOf(request) } as Schema.Json : request.context ?? {}

type Shown = Pick<HandoffRequest, "reason" | "context">

/** Gives the reason and the context that were given. */
const shownOf = ({ context, reason }: Shown): Shown => ({
  ...(reason === undefined ? undefined : { reason }),
  ...(context === undefined ? undefined : { context })
})

/**
 * What a state can't say of a handoff that is carried out; everything is optional.
 *
 * @category models
 * @since 0.1.0
 */
export interface TakeoverOptions {
  /** The conversation that crosses, as `cross` gives it; what the handoff says by default. */
  readonly crossing?: Conversation | undefined
  /** The time, in epoch milliseconds; by default the run has taken none since it began or was resumed. */
  readonly at?: number | undefined
  /** The agent that takes over, or the names of its modes; by default the agent that the handoff is made of, if it is. */
  readonly target?: Runnable.AnyMember | ReadonlyArray<string> | undefined
}

/** Finds the modes that the target has, as far as they are known. */
const modesOf = (handoff: Crossing.Offer, target: TakeoverOptions["target"]): ReadonlySet<string> => {
  if (target !== undefined && !(Runnable.TypeId in target)) return new Set(target)
  const agent = target ?? (handoff === undefined ? undefined : internalsOf(handoff).agent?.())
  return agent?.[Runnable.TypeId].interpreter.modesOf(agent) ?? new Set()
}

/** Asks for a handoff, and leaves the modes that don't go along. */
const ask = (
  from: AgentState,
  handoff: Crossing.Offer,
  request: HandoffRequest,
  target: TakeoverOptions["target"]
): AgentState =>
  TakenIds.keep(
    from,
    leaveTo(
      { ...from, status: handoffRequested(request) },
      Crossing.countCarried(from, handoff, modesOf(handoff, target))
    )
  )

/**
 * Makes the conversation that crosses a handoff, of the state that hands over: what its `history` makes of it, and a policy of that.
 * Gives `undefined` if that is all of it.
 *
 * A policy's change that fails is left out and logged, unless its failure is to end the run. What the target's runs need and fail
 * with is in the type too: a handoff's type doesn't tell it apart.
 *
 * @category combinators
 * @since 0.1.0
 */
export const cross = <H extends Crossing.Offer, E = never, R = never>(
  from: AgentState,
  handoff: H,
  request: HandoffRequest,
  { policy, target }: Pick<TakeoverOptions, "target"> & { readonly policy?: Transforming<E, R> | undefined } = {}
): Effect.Effect<Conversation | undefined, Error<H> | E, Services<H> | R> =>
  Crossing.cross(
    ask(from, handoff, request, target),
    handoff,
    request,
    policy?.[TypeId].transforms ?? []
  ) as Effect.Effect<Conversation | undefined, never>

/**
 * Gives the state of the agent that takes over, as a function of the state that hands over.
 *
 * A run does the same. The modes that don't go along are left; a run also runs their clean-ups. The call that asked is settled as
 * `HandedOff`. What crosses is what the handoff says, or all of it if no handoff is given, since a policy has decided. What takes an
 * effect is made before: `cross` gives it, and `crossing` takes it in. Without it all of the conversation crosses in its place.
 *
 * @category combinators
 * @since 0.1.0
 */
export const buildHandoffState = (
  from: AgentState,
  handoff: Crossing.Offer,
  request: HandoffRequest,
  options: Conversation | TakeoverOptions = {}
): AgentState => {
  const { at, crossing, target }: TakeoverOptions = "turns" in options ? { crossing: options } : options
  const left = ask(from, handoff, request, target)
  const conversation = crossing ?? Crossing.select(left, handoff, request)
  return takeOver(left, Crossing.crossing(left, handoff, request, conversation), at ?? left.run.startedAt)
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
export const received = <Params>(
  self: Handoff<string, Params, unknown, unknown, unknown, string>,
  state: AgentState
): Option.Option<Params> => {
  const { handoff } = state
  if (handoff === undefined || state.agent !== self.target || handoff.tool !== self.toolName) return Option.none()
  const { decode, isDefault } = internalsOf(self)
  const decoded = decode(isDefault ? { ...shownOf(handoff) } : handoff.context ?? null)
  return Result.getSuccess(decoded) as Option.Option<never>
}
