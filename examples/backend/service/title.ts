/**
 * What a conversation is called: the first words in it that guardrails let pass, in one line.
 */
import { type AgentEvent, type AgentState, Conversation } from "troupe"

const maxLength = 80

const titleOf = ({ conversation: { turns } }: AgentState.AgentState): string => {
  const said = turns.find((turn) => turn._tag === "User" && turn.mode === undefined && turn.blocked === undefined)
  const line = said === undefined ? "" : Conversation.textOf(said).replace(/\s+/g, " ").trim()
  return line.length <= maxLength ? line : `${Array.from(line).slice(0, maxLength - 1).join("")}…`
}

/**
 * Gives the title that an event brings: a run begins in a conversation without one, or a guardrail changes the words that it
 * was made of. That comes late after a run that was broken off before the guardrails had looked at its words.
 */
export const titleAfter = (
  event: AgentEvent.AgentEvent,
  before: AgentState.AgentState,
  after: AgentState.AgentState,
  isTitled: boolean
): string | undefined => {
  if (event.calls.length > 0) return undefined
  const isFirst = event._tag === "RunStarted" && !isTitled
  const isChanged = event._tag === "GuardrailSettled" && event.replaced !== undefined && "input" in event.replaced
  if (!isFirst && !isChanged) return undefined
  const title = titleOf(after)
  return isFirst || title !== titleOf(before) ? title : undefined
}
