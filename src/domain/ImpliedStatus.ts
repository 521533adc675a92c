/**
 * Where an agent stands as far as its conversation says.
 *
 * @since 0.1.0
 */
import * as AgentStatus from "./AgentStatus.ts"
import { hasOpenCalls } from "./Conversation.ts"
import type { Conversation } from "./StateSchema.ts"

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
      !last.parts.some((part) => part._tag === "Call" && part.providerExecuted !== true)
    ? AgentStatus.complete
    : AgentStatus.inProgress
}
