/**
 * When a run that would continue a state has nothing to do: the state has ended, and neither its output nor its group's policy wants more.
 *
 * Such a run doesn't begin: no event is emitted, and the same state is returned. If a state waits for approvals or results, its run does
 * begin: it sets up the state's modes, and stops again.
 *
 * @since 0.1.0
 */
import { isTerminal } from "../../domain/AgentStatus.ts"
import { reopen } from "../../domain/Beginning.ts"
import { decide } from "./Decision.ts"
import type { Known } from "./Known.ts"
import { findMismatch } from "./Mismatch.ts"

/**
 * Checks whether a run without an input has nothing to do. With `isReopened` an ended state is reopened first, so that a failed run always
 * has something to do; a complete one has, if what stopped it no longer does.
 */
export const hasNothingLeft = (known: Known, isReopened: boolean): boolean => {
  const { roster, state } = known
  if (
    !isTerminal(state.status) || (isReopened && state.status._tag === "Failed") ||
    findMismatch(roster, state) !== undefined
  ) return false
  return decide(isReopened ? { ...known, state: reopen(state) } : known)._tag === "Finish"
}
