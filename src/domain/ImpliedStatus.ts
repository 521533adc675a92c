/**
 * The status of an agent, as its conversation implies it.
 *
 * @since 0.1.0
 */
import { dual } from "effect/Function"
import * as AgentStatus from "./AgentStatus.ts"
import { callsOf, hasOpenCalls, isOpen, lastAssistant } from "./conversation/Turns.ts"
import type { AgentState, Conversation } from "./StateSchema.ts"

/**
 * Returns the status that a conversation alone implies.
 *
 * With open calls it is `WaitingForTools`. It is `Complete` if the last turn is an assistant's, its `finishReason` isn't `pause`, and the
 * provider ran all of its calls without asking for an approval. Otherwise it is `InProgress`.
 *
 * @category getters
 * @since 0.1.0
 */
export const statusOf = (conversation: Conversation): AgentStatus.AgentStatus => {
  if (hasOpenCalls(conversation)) return AgentStatus.waitingForTools
  const last = conversation.turns.at(-1)
  return last?._tag === "Assistant" && last.finishReason !== "pause" &&
      !last.parts.some((part) =>
        part._tag === "Call" && (part.providerExecuted !== true || part.approvalId !== undefined)
      )
    ? AgentStatus.complete
    : AgentStatus.inProgress
}

/** Checks whether a state with a changed conversation still requests its handoff: the call that asked is open, or no call asked. */
const stillRequested = ({ status }: AgentState, conversation: Conversation): boolean => {
  if (status._tag !== "HandoffRequested") return false
  const { callId } = status.request
  const turn = lastAssistant(conversation)
  return callId === undefined ||
    (turn !== undefined && callsOf(turn).some((call) => call.id === callId && isOpen(call)))
}

/** Returns the status of a state whose conversation has changed. */
export const statusIn = (self: AgentState, conversation: Conversation): AgentStatus.AgentStatus =>
  stillRequested(self, conversation) ? self.status : statusOf(conversation)

/**
 * Replaces the conversation of a state, and derives the status from it.
 *
 * A handoff is still requested if the call that asked for it is still open, or if no call asked.
 *
 * @category combinators
 * @since 0.1.0
 */
export const withConversation: {
  (conversation: Conversation): (self: AgentState) => AgentState
  (self: AgentState, conversation: Conversation): AgentState
} = dual(
  2,
  (self: AgentState, conversation: Conversation): AgentState =>
    conversation === self.conversation
      ? self
      : { ...self, conversation, status: statusIn(self, conversation) }
)
