/**
 * The call ids that no new call may get: somebody may still hold an answer to a call that is gone.
 *
 * 1. The ids in a state are taken: those of all its calls, of hidden turns of a mode, and of the agents that answer open calls.
 * 2. A call that is removed leaves its id in `retired`: calls of an agent whose own call is settled, of turns that don't cross a handoff,
 *    of turns that a mode or a fork drops.
 * 3. Taken ids depend on the state alone, and in a dialogue on the other participants' states: a run that was stopped and resumed makes the
 *    same ids as one that never stopped.
 *
 * @since 0.1.0
 */
import { callsOf, lastAssistant } from "./conversation/Turns.ts"
import { allCallIds } from "./ModeStack.ts"
import type { AgentState } from "./StateSchema.ts"

/** Returns the ids that no new call may get. */
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
 * How many ids `retired` and `retiredBefore` each hold at most: a conversation may lose any number of calls, and each save holds the ids.
 * After so many more calls an old id may be used again, so a late answer may fail or reach a newer call.
 */
const maxRetired = 500

/**
 * Keeps the ids of removed calls in a state. They are sorted, so that it doesn't matter which of two agents ended first. Once `retired` is
 * full, it becomes `retiredBefore`, and the ids that were there are forgotten.
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

/** Keeps the ids of the calls that a change removed from a state. */
export const keep = (before: AgentState, after: AgentState): AgentState => {
  if (after.conversation === before.conversation && before.modes.every(({ view }) => view === undefined)) return after
  const still = of(after)
  return retire(after, [...of(before)].filter((id) => !still.has(id)))
}
