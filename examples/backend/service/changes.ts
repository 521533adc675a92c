/**
 * What guardrails changed of what the user said, which the state doesn't tell: it holds what they let stand.
 */
import type { Change } from "../api/Conversations.ts"

/** An event, as far as it matters here. */
interface Told {
  readonly _tag: string
  readonly calls: ReadonlyArray<string>
  readonly guardrail?: string | undefined
  readonly reason?: unknown
  readonly replaced?:
    | { readonly turn?: number | undefined; readonly blocked?: unknown }
    | { readonly params: unknown }
    | undefined
}

/** Adds what an event tells; the last guardrail that changed a turn is the one that is named. A blocked turn says so itself. */
export const withChange = (changes: ReadonlyArray<Change>, event: Told): ReadonlyArray<Change> => {
  const { calls, guardrail, reason, replaced } = event
  if (event._tag !== "GuardrailSettled" || calls.length > 0 || guardrail === undefined) return changes
  if (replaced === undefined || !("turn" in replaced)) return changes
  const { blocked, turn } = replaced
  if (turn === undefined || blocked !== undefined) return changes
  return [
    ...changes.filter((change) => change.turn !== turn),
    { turn, guardrail, ...(typeof reason === "string" ? { reason } : undefined) }
  ]
}
