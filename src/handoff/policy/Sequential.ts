/**
 * Agents that work one after the other.
 *
 * @since 0.1.0
 */
import type { AgentState } from "../../domain/StateSchema.ts"
import { type HandoffPolicy, make } from "./Policy.ts"

/** Returns the agents that were in control in the run, in order; the agent in control is the last. */
export const controlled = ({ agent, run, trail }: AgentState): ReadonlyArray<string> => {
  const names = trail.slice(-1 - (run.handoffs ?? 0))
  return names.at(-1) === agent ? names : [...names, agent]
}

/**
 * Returns the place of the agent in control in a sequence, or `-1` if it isn't part of it.
 *
 * A name may be in a sequence twice, so the run's trail is followed: each agent is at the next place with its name or, if there is none, as
 * after a handoff back, at the first place with its name.
 */
const positionOf = (names: ReadonlyArray<string>, state: AgentState): number => {
  let position = -1
  for (const agent of controlled(state)) {
    const next = names.indexOf(agent, position + 1)
    const at = next === -1 ? names.indexOf(agent) : next
    if (at !== -1) position = at
  }
  return names[position] === state.agent ? position : -1
}

/**
 * Hands over to the next agent of a list when one has answered. The last one's answer ends the run.
 *
 * The place in the list is read from the run's own trail: each run begins at the first place of its first agent. The answer of an agent
 * that isn't in the list ends the run. An empty list hands over to nobody.
 *
 * @category constructors
 * @since 0.1.0
 */
export const sequential = <const Name extends string>(names: ReadonlyArray<Name>): HandoffPolicy<Name> => {
  const steps = names.filter((name, index) => name !== names[index - 1])
  return make({
    names,
    handoffs: Math.max(0, steps.length - 1),
    decide: (state) => {
      const position = positionOf(steps, state)
      const target = position === -1 ? undefined : steps[position + 1]
      return target === undefined ? undefined : { target, reason: `Step ${position + 1} of ${steps.length} is done` }
    }
  })
}
