/**
 * When a run that would continue a state has nothing to do: the state has ended, and neither its output nor its group's policy wants more.
 *
 * Such a run doesn't begin: no event is emitted, and the same state is returned. If a state waits for approvals or results, its run does
 * begin: it sets up the state's modes, and stops again.
 *
 * @since 0.1.0
 */
import { isTerminal } from "../../domain/AgentStatus.ts"
import { decide } from "./Decision.ts"
import type { Known } from "./Known.ts"
import { findMismatch } from "./Mismatch.ts"

/** Checks whether a run that continues a state has nothing to do. */
export const hasNothingLeft = (known: Known): boolean =>
  isTerminal(known.state.status) && findMismatch(known.roster, known.state) === undefined &&
  decide(known)._tag === "Finish"
