/**
 * An agent that leads others.
 *
 * @since 0.1.0
 */
import type { AgentState } from "../../domain/StateSchema.ts"
import * as Wanted from "../../domain/Wanted.ts"
import * as Offer from "./Offer.ts"
import { type HandoffPolicy, make } from "./Policy.ts"
import { controlled } from "./Sequential.ts"

/**
 * How a lead's work is given to its team: a function of the state after an answer of the lead, and of the team. It returns who works next,
 * or `undefined` to end the run with that answer.
 *
 * @category models
 * @since 0.1.0
 */
export type Delegate = <Member extends string>(state: AgentState, team: ReadonlyArray<Member>) => Member | undefined

/**
 * Delegates to each member of a team once in a run, in the team's order.
 *
 * @category delegation
 * @since 0.1.0
 */
export const inTurn: Delegate = (state, team) => {
  const known = controlled(state)
  return team.find((member) => !known.includes(member))
}

/**
 * Offers a lead handoffs to each agent of its team, and returns control to the lead when one of them has answered.
 *
 * The lead's own answer ends the run. A lead may be in another lead's team, and a lead without a team answers alone. With `delegate` a rule
 * assigns the work instead of the lead's model: `inTurn`, or a function of your own that depends on the state alone. Then the policy offers
 * the lead no handoffs, and the lead's answer ends the run only if the rule returns `undefined`.
 *
 * @category constructors
 * @since 0.1.0
 */
export const manager = <const Lead extends string, const Member extends string>(
  lead: Lead,
  team: ReadonlyArray<Member>,
  options?: { readonly delegate?: ((state: AgentState, team: ReadonlyArray<Member>) => Member | undefined) | undefined }
): HandoffPolicy<Lead | Member> => {
  const members: ReadonlyArray<string> = [...team]
  const delegate = options?.delegate
  return make({
    names: [lead, ...team],
    offers: delegate === undefined ? team.map((member) => Offer.make(member, undefined, [lead])) : [],
    handoffs: delegate === inTurn ? 2 * team.length : 0,
    decide: (state) => {
      if (members.includes(state.agent)) return { target: lead, reason: `"${state.agent}" has answered` }
      const target = state.agent === lead ? delegate?.(state, team) : undefined
      if (target === undefined) return undefined
      return {
        target: Wanted.name("`delegate` of `HandoffPolicy.manager`", target),
        reason: `"${lead}" delegates to "${target}"`
      }
    }
  })
}
