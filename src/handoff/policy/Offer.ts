/**
 * A policy's offers: which handoff is offered to which agents.
 *
 * 1. No agent is offered a handoff to itself.
 * 2. No agent is offered two handoffs by tools of one name: offers with the same target become one, and different targets are refused when
 *    the policy is made.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { ErrorClass } from "../../domain/ErrorClass.ts"
import type { AgentState } from "../../domain/StateSchema.ts"
import * as Handoff from "../Handoff.ts"
import { isOfferedIn } from "../HandoffType.ts"

/**
 * A handoff, and the agents that it is offered to: those of `from`, or without `from` all but the target itself.
 *
 * @category models
 * @since 0.1.0
 */
export interface Offer {
  readonly handoff: Handoff.Any
  readonly from: ReadonlyArray<string> | undefined
  /** Makes the handoff again with another condition, when two offers become one. */
  readonly remake: (when: (state: AgentState) => boolean) => Handoff.Any
}

/**
 * Error for ambiguous offers: tools of one name would hand over to two different agents.
 *
 * @category errors
 * @since 0.1.0
 */
export class ConflictingOffers extends ErrorClass<ConflictingOffers>("troupe/handoff/HandoffPolicy")(
  "ConflictingOffers",
  {
    toolName: Schema.String,
    targets: Schema.Tuple([Schema.String, Schema.String])
  },
  ({ targets: [first, second], toolName }) =>
    `Tool "${toolName}" can't hand over to both "${first}" and "${second}": give one of the offers another "toolName"`
) {}

/** Makes the offer of a handoff to the agent of a name. */
export const make = <Params, Encoded, HistoryE, HistoryR>(
  target: string,
  options?: Handoff.Options<Params, Encoded, HistoryE, HistoryR>,
  from?: ReadonlyArray<string>
): Offer => ({
  handoff: Handoff.to(target, options),
  from: from === undefined ? undefined : [...new Set(from)].filter((name) => name !== target),
  remake: (when) => Handoff.to(target, { ...options, when })
})

/** Checks whether the agent of a name may be offered a handoff. */
export const isTo = ({ from, handoff }: Offer, agent: string): boolean =>
  agent !== handoff.target && (from === undefined || from.includes(agent))

/** Checks whether some agent might get both offers. Without `from` that is any agent but the target. */
const overlap = (self: Offer, that: Offer): boolean =>
  self.from === undefined
    ? that.from === undefined || that.from.some((agent) => isTo(self, agent))
    : self.from.some((agent) => isTo(that, agent))

/** Checks whether an offer holds for an agent in the current state. */
export const isNow = (self: Offer, state: AgentState): boolean =>
  isTo(self, state.agent) && isOfferedIn(self.handoff, state)

/** Unites two offers of one tool with one target: it holds for an agent whenever one of the two would. */
const unite = (self: Offer, that: Offer): Offer => {
  const from = self.from === undefined || that.from === undefined
    ? undefined
    : [...new Set([...self.from, ...that.from])]
  const isConditional = [self, that].some(({ handoff }) => Handoff.internalsOf(handoff).when !== undefined)
  return {
    handoff: isConditional ? self.remake((state) => isNow(self, state) || isNow(that, state)) : self.handoff,
    from,
    remake: self.remake
  }
}

/** Drops offers to nobody, and unites offers of one tool with one target. Throws `ConflictingOffers` if one tool would have two targets. */
export const united = (offers: ReadonlyArray<Offer>): ReadonlyArray<Offer> => {
  const result: Array<Offer> = []
  for (const offer of offers) {
    if (offer.from?.length === 0) continue
    const { target, toolName } = offer.handoff
    const namesakes = result.filter(({ handoff }) => handoff.toolName === toolName)
    const rival = namesakes.find((other) => other.handoff.target !== target && overlap(other, offer))
    if (rival !== undefined) throw new ConflictingOffers({ toolName, targets: [rival.handoff.target, target] })
    const same = result.findIndex(({ handoff }) => handoff.toolName === toolName && handoff.target === target)
    if (same === -1) result.push(offer)
    else result[same] = unite(result[same]!, offer)
  }
  return result
}
