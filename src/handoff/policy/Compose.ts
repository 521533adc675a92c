/**
 * Several policies as one.
 *
 * @since 0.1.0
 */
import { type Any, type Error, type HandoffPolicy, internalsOf, make, type Names, type Services } from "./Policy.ts"

/**
 * Combines policies: all tools are offered, the first decision wins, and the transforms run one after the other.
 *
 * Two offers of one tool with the same target become one with the options of the first. It is offered if one of the two would be. Throws
 * `ConflictingOffers` if an agent would be offered tools of one name with different targets.
 *
 * @category combinators
 * @since 0.1.0
 */
export const compose = <const Policies extends ReadonlyArray<Any>>(
  ...policies: Policies
): HandoffPolicy<Names<Policies[number]>, Error<Policies[number]>, Services<Policies[number]>> => {
  const members = policies.map(internalsOf)
  return make({
    names: members.flatMap((member) => member.names),
    handoffs: members.reduce((most, { handoffs }) => Math.max(most, handoffs), 0),
    offers: members.flatMap((member) => member.offers),
    transforms: members.flatMap((member) => member.transforms),
    decide: (state) => {
      for (const member of members) {
        const decision = member.decide(state)
        if (decision !== undefined) return decision
      }
      return undefined
    }
  })
}
