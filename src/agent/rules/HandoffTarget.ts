/**
 * Who takes a conversation over, and by which handoff.
 *
 * @since 0.1.0
 */
import { HandoffLimitReached, HandoffTargetNotFound } from "../../domain/AgentError.ts"
import type { HandoffRequest } from "../../domain/AgentStatus.ts"
import { callsOf, lastAssistant } from "../../domain/conversation/Turns.ts"
import type { AgentState } from "../../domain/StateSchema.ts"
import type * as Handoff from "../../handoff/Handoff.ts"
import type { Definition, Roster } from "../definition/AgentDefinition.ts"

/** Finds the agent that takes over, or the reason to fail: it isn't there, or the run has had as many handoffs as it may. */
export const findTarget = (
  roster: Roster,
  { agent, run, trail }: AgentState,
  { target }: HandoffRequest
): Definition | HandoffLimitReached | HandoffTargetNotFound => {
  const found = roster.agents.get(target)
  if (found === undefined) {
    const available = [...roster.agents.keys()].filter((name) => name !== agent)
    return new HandoffTargetNotFound({ agent, target, available })
  }
  return (run.handoffs ?? 0) < roster.maxHandoffs
    ? found
    : new HandoffLimitReached({ limit: roster.maxHandoffs, trail })
}

/** Finds the handoff that was asked for. A policy's decision has none. */
export const findHandoff = (
  { tools }: Definition,
  { conversation }: AgentState,
  { callId, tool }: HandoffRequest
): Handoff.Any | undefined => {
  const turn = lastAssistant(conversation)
  const name = tool ?? (turn === undefined ? undefined : callsOf(turn).find(({ id }) => id === callId)?.name)
  const entry = name === undefined ? undefined : tools.get(name)
  return entry?._tag === "Handoff" ? entry.handoff : undefined
}
