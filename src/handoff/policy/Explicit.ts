/**
 * Handoffs that models ask for by tools.
 *
 * @since 0.1.0
 */
import type * as Handoff from "../Handoff.ts"
import * as Offer from "./Offer.ts"
import { type HandoffPolicy, make } from "./Policy.ts"

/**
 * How a handoff is offered, what crosses, and which agents it is offered to; everything is optional.
 *
 * @category models
 * @since 0.1.0
 */
export interface ExplicitOptions<From extends string, Params, Encoded, HistoryE, HistoryR>
  extends Handoff.Options<Params, Encoded, HistoryE, HistoryR>
{
  /** The agents that may hand over; all but the target by default. */
  readonly from?: ReadonlyArray<From> | undefined
}

/**
 * Offers a handoff to one agent.
 *
 * The options are those of `Handoff.to`, and `from`: the agents that it is offered to, by default all but the target. Throws
 * `Agent.InvalidName` if providers would refuse `toolName`.
 *
 * @category constructors
 * @since 0.1.0
 */
export const explicit = <
  const Target extends string,
  const From extends string = never,
  Params = Handoff.Parameters,
  Encoded = unknown,
  HistoryE = never,
  HistoryR = never
>(
  target: Target,
  options?: ExplicitOptions<From, Params, Encoded, HistoryE, HistoryR>
): HandoffPolicy<Target | From, HistoryE, HistoryR> => {
  const { from, ...handoff } = options ?? {}
  return make({ names: [target, ...from ?? []], offers: [Offer.make(target, handoff, from)] })
}

/**
 * Offers handoffs from a record, in its order: each key is a tool's name, each value the target's name.
 *
 * Throws `Agent.InvalidName` if providers would refuse a tool's name.
 *
 * @category constructors
 * @since 0.1.0
 */
export const explicitAll = <const Target extends string = never, const From extends string = never>(
  targets: { readonly [toolName: string]: Target },
  options?: {
    /** The agents that may hand over. By default, each handoff is offered to all agents but its own target. */
    readonly from?: ReadonlyArray<From> | undefined
  }
): HandoffPolicy<Target | From> =>
  make({
    names: [...Object.values(targets), ...options?.from ?? []],
    offers: Object.entries(targets).map(([toolName, target]) => Offer.make(target, { toolName }, options?.from))
  })
