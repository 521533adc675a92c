/**
 * What guardrails changed of what the user said, which the state doesn't tell: it holds what they let stand.
 */
import type { AgentEvent } from "troupe"
import type { Change } from "../api/Conversations.ts"

/** Adds what an event tells; the last guardrail that changed a turn is the one that is named. A blocked turn says so itself. */
export const withChange = (
  changes: ReadonlyArray<Change>,
  event: AgentEvent.AgentEvent
): ReadonlyArray<Change> => {
  if (event._tag !== "GuardrailSettled" || event.calls.length > 0) return changes
  const { guardrail, reason, replaced } = event
  if (replaced === undefined || !("turn" in replaced) || replaced.blocked !== undefined) return changes
  const { turn } = replaced
  return [
    ...changes.filter((change) => change.turn !== turn),
    { turn, guardrail, ...(reason === undefined ? undefined : { reason }) }
  ]
}
