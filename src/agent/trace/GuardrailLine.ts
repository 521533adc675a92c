/**
 * Verdicts of guardrails, in a line each.
 *
 * @since 0.1.0
 */
import type { GuardrailSettled } from "../../domain/AgentEvent.ts"
import type { Stage } from "../../domain/GuardrailStage.ts"

const subjects: { readonly [Each in Stage]: string } = {
  input: "the input",
  output: "the answer",
  toolCall: "the call",
  toolResult: "the result of the call",
  handoff: "the handoff"
}

const verdicts: { readonly [Each in GuardrailSettled["verdict"]]: string } = {
  Pass: "lets pass",
  Replace: "replaced",
  Warn: "warns of",
  Retry: "sent back",
  Block: "blocked",
  Interrupted: "was interrupted over"
}

/** Describes a guardrail's verdict in a line; `mark` sets names off. */
export const guardrailLine = (
  { callId, guardrail, stage, verdict }: GuardrailSettled,
  mark: (text: string) => string
): string =>
  `guardrail ${mark(guardrail)} ${verdicts[verdict]} ${subjects[stage]}${
    callId === undefined ? "" : ` ${mark(callId)}`
  }`
