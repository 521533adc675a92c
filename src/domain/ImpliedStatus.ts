/**
 * Where an agent stands as far as its conversation says.
 *
 * @since 0.1.0
 */
import { dual } from "effect/Function"
import * as AgentStatus from "./AgentStatus.ts"
import { callsOf, hasOpenCalls, isOpen, lastAssistant } from "./conversation/Turns.ts"
import type { AgentState, Conversation } from "./StateSchema.ts"

/**
 * Gives the status that a conversation alone implies.
 *
 * Open calls wait for tools; an assistant turn at the end whose calls were none of ours is an answer; everything else is
 * the model's turn.
 *
 * @category getters
 * @since 0.1.0
 */
export const statusOf = (conversation: Conversation): AgentStatus.AgentStatus => {
  if (hasOpenCalls(conversation)) return AgentStatus.waitingForTools
  const last = conversation.turns[conversation.turns.length - 1]
  return last?._tag === "Assistant" && last.finishReason !== "pause" &&
      !last.parts.some((part) =>
        part._tag === "Call" && (part.providerExecuted !== true || part.approvalId !== undefined)
      )
    ? AgentStatus.complete
    : AgentStatus.inProgress
}

/** Checks whether a state still asks for a handoff once its conversation is another: its call is open, or there is none. */
const stillRequested = ({ status }: AgentState, conversation: Conversation): boolean => {
  if (status._tag !== "HandoffRequested") return false
  const { callId } = status.request
  const turn = lastAssistant(conversation)
  return callId === undefined ||
    (turn !== undefined && callsOf(turn).some((call) => call.id === callId && isOpen(call)))
}

/** Gives the status of a state once its conversation is another. */
export const statusIn = (self: AgentState, conversation: Conversation): AgentStatus.AgentStatus =>
  stillRequested(self, conversation) ? self.status : statusOf(conversation)

/**
 * Gives a state another conversation, and the status that it implies.
 *
 * A handoff that was asked for and whose call is still open goes on being asked for.
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
