/**
 * The call ids that aren't given again in a state: somebody may still hold an answer to a call that is gone.
 *
 * 1. The ids in a state are taken: those of all its calls, of turns that a mode hides, and of the agents that answer open calls.
 * 2. A call that goes leaves its id in `retired`: those of an agent whose call is settled, of turns that don't cross a handoff, of what a
 *    mode or a fork drops.
 * 3. What is taken depends on the state alone, and in a dialogue on the other participants' states: a run that was stopped and goes on
 *    gives the same ids as one that never stopped.
 *
 * @since 0.1.0
 */
import { callsOf, lastAssistant } from "./conversation/Turns.ts"
import { allCallIds } from "./ModeStack.ts"
import type { AgentState } from "./StateSchema.ts"

/** Gives the ids that no call may be given any more. */
export const of = (state: AgentState, into: Set<string> = new Set()): Set<string> => {
  for (const id of allCallIds(state)) into.add(id)
  for (const id of state.retired ?? []) into.add(id)
  for (const id of state.retiredBefore ?? []) into.add(id)
  const turn = lastAssistant(state.conversation)
  for (const call of turn === undefined ? [] : callsOf(turn)) {
    if (call.state._tag === "Delegated") of(call.state.child, into)
  }
  return into
}

/**
 * How many ids of calls that are gone stand in each of `retired` and `retiredBefore`: a conversation may lose any number of calls, and
 * each save holds them. Somebody who answers a call that so many others have followed since finds none, or one that repeats its id.
 */
const maxRetired = 500

/**
 * Keeps ids of calls that are gone from a state. They have one order, whichever of two agents ended first, so they don't tell their age:
 * once there are so many, they are those before, and the ones before them are forgotten.
 */
export const retire = (self: AgentState, gone: ReadonlyArray<string>): AgentState => {
  if (gone.length === 0) return self
  const retired = [...(self.retired ?? []), ...gone.slice(-maxRetired)].sort()
  if (retired.length <= maxRetired) return { ...self, retired }
  const { retired: retiredBefore = [], ...rest } = self
  return {
    ...rest,
    retired: gone.slice(-maxRetired).sort(),
    ...(retiredBefore.length === 0 ? undefined : { retiredBefore })
  }
}

/** Keeps the ids of the calls that a change took out of a state. */
export const keep = (before: AgentState, after: AgentState): AgentState => {
  if (after.conversation === before.conversation && before.modes.every(({ view }) => view === undefined)) return after
  const still = of(after)
  return retire(after, [...of(before)].filter((id) => !still.has(id)))
}
