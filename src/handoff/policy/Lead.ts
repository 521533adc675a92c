/**
 * An agent that leads others.
 *
 * @since 0.1.0
 */
import * as Offer from "./Offer.ts"
import { type HandoffPolicy, make } from "./Policy.ts"

/**
 * Offers a lead handoffs to each agent of its team, and gives control back to the lead when one of them has answered.
 *
 * The lead's own answer ends the run. A lead may stand in the team of another.
 *
 * @category constructors
 * @since 0.1.0
 */
export const manager = <const Lead extends string, const Member extends string>(
  lead: Lead,
  team: ReadonlyArray<Member>
): HandoffPolicy<Lead | Member> => {
  const members: ReadonlyArray<string> = [...team]
  return make({
    names: [lead, ...team],
    offers: team.map((member) => Offer.make(member, undefined, [lead])),
    decide: ({ agent }) => members.includes(agent) ? { target: lead, reason: `"${agent}" has answered` } : undefined
  })
}
