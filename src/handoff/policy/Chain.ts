/**
 * Agents that may each hand over to the next.
 *
 * @since 0.1.0
 */
import { countOf } from "../../domain/InvalidLimit.ts"
import type { AgentState } from "../../domain/StateSchema.ts"
import * as Offer from "./Offer.ts"
import { type HandoffPolicy, make } from "./Policy.ts"

/**
 * Offers each agent of a list a handoff to the next one, and the last a handoff to the first.
 *
 * Once a run has changed hands `maxLength` times (5 by default), the chain offers nothing more in that run: the agent in control has to
 * answer. Throws `InvalidLimit` if `maxLength` is neither a whole number of at least 0 nor `Infinity`.
 *
 * @category constructors
 * @since 0.1.0
 */
export const chain = <const Name extends string>(
  names: ReadonlyArray<Name>,
  options?: {
    /** After how many handoffs of a run the chain offers nothing more; 5 by default. */
    readonly maxLength?: number | undefined
  }
): HandoffPolicy<Name> => {
  const maxLength = countOf("maxLength", options?.maxLength ?? 5, 0)
  const when = ({ run }: AgentState): boolean => (run.handoffs ?? 0) < maxLength
  return make({
    names,
    offers: names.map((from, index) => Offer.make(names[(index + 1) % names.length]!, { when }, [from]))
  })
}
