/**
 * Handoffs as functions of states: the request, the state of the agent that takes over, and what that agent received.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import type * as Schema from "effect/Schema"
import { type HandoffRequest, handoffRequested } from "../domain/AgentStatus.ts"
import { timeOf } from "../domain/InvalidLimit.ts"
import { leaveTo } from "../domain/ModeStack.ts"
import * as RequestCopy from "../domain/RequestCopy.ts"
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

/**
 * Returns the request that a call of the handoff's tool makes. With the default parameters it has their reason and context. Parameters of
 * your own are its context, as JSON without the keys that their schema lacks. Fails with `SchemaError` if they don't decode.
 */
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

/** Returns the parameters of a call that would make a request. */
export const paramsOf = (self: AnyOffer, request: HandoffRequest): Schema.Json =>
  // A reason and a context are JSON, but optional fields have no index signature.
  internalsOf(self).isDefault ? { ...shownOf(request) } as Schema.Json : request.context ?? {}

type Shown = Pick<HandoffRequest, "reason" | "context">

/** Returns the reason and the context of a request. */
const shownOf = ({ context, reason }: Shown): Shown => ({
  ...(reason === undefined ? undefined : { reason }),
  ...(context === undefined ? undefined : { context })
})

/**
 * What the state doesn't know about a handoff; everything is optional.
 *
 * @category models
 * @since 0.1.0
 */
export interface TakeoverOptions {
  /** The conversation that crosses, as `cross` returns it; by default what `history` selects, or all of it if that needs an Effect. */
  readonly crossing?: Conversation | undefined
  /** The time of the handoff, in epoch milliseconds; by default the state's `run.startedAt`. */
  readonly at?: number | undefined
  /**
   * The agent that takes over, or the names of its modes, for `carryModes`; by default the agent that the handoff was made with. If neither
   * is known, all modes are left.
   */
  readonly target?: Runnable.AnyMember | ReadonlyArray<string> | undefined
}

/** Returns the modes of the target, if they are known. */
const modesOf = (handoff: Crossing.Offer, target: TakeoverOptions["target"]): ReadonlySet<string> => {
  if (target !== undefined && !(Runnable.TypeId in target)) return new Set(target)
  const agent = target ?? (handoff === undefined ? undefined : internalsOf(handoff).agent?.())
  return agent?.[Runnable.TypeId].interpreter.modesOf(agent) ?? new Set()
}

/** Copies a request that a program made or changed. */
const copyOf = (request: HandoffRequest): HandoffRequest => RequestCopy.from("a handoff's request", request)

/** Requests a handoff, and leaves the modes that don't cross. */
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
 * Makes the conversation that crosses a handoff from the state that hands over: first by the handoff's `history`, then by a policy. Returns
 * `undefined` if the whole conversation crosses. If a policy decided the handoff, pass `undefined` as `handoff`.
 *
 * A policy's transform that fails is left out and logged, unless its `onFailure` is `"fail"`. The type also includes what the target's runs
 * need and fail with, since a handoff's type doesn't separate that from what its `history` needs and fails with. Throws `InvalidName` if
 * the request names no agent.
 *
 * @category combinators
 * @since 0.1.0
 */
export const cross = <H extends Crossing.Offer, E = never, R = never>(
  from: AgentState,
  handoff: H,
  request: HandoffRequest,
  { policy, target }: Pick<TakeoverOptions, "target"> & { readonly policy?: Transforming<E, R> | undefined } = {}
): Effect.Effect<Conversation | undefined, Error<H> | E, Services<H> | R> => {
  const asked = copyOf(request)
  const crossing = Crossing.cross(
    ask(from, handoff, asked, target),
    handoff,
    asked,
    policy?.[TypeId].transforms ?? []
  )
  return (crossing ?? Effect.undefined) as Effect.Effect<Conversation | undefined, never>
}

/**
 * Returns the state of the agent that takes over, from the state that hands over.
 *
 * A run does the same. Modes that don't cross are left; a run also runs their clean-ups. The call that asked is settled as `HandedOff`. The
 * handoff says what crosses. If a policy decided, pass `undefined` as `handoff`: then everything but the modes crosses. If `history` needs
 * an Effect, run it by `cross` and pass the result, alone or as `crossing`; otherwise the whole conversation crosses. The request is
 * copied.
 *
 * Throws `InvalidName` if the request names no agent, and `InvalidLimit` if `at` isn't finite.
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
  const asked = copyOf(request)
  const left = ask(from, handoff, asked, target)
  const conversation = crossing ?? Crossing.select(left, handoff, asked)
  return takeOver(
    left,
    Crossing.crossing(left, handoff, asked, conversation),
    at === undefined ? left.run.startedAt : timeOf("at", at)
  )
}

/**
 * Returns what the agent in control received by this handoff, decoded; `none` if it got control in another way, by another tool or by a
 * policy's decision, or if a stored state has parameters that no longer decode.
 *
 * A target's instructions can read the parameters by it. Then make the handoff with the target's name, because the target refers to the
 * handoff and can't be defined before it.
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
  // The handoff's own schema has decoded it.
  return Result.getSuccess(decoded) as Option.Option<never>
}
