/**
 * The states of called agents, each kept in the call that the agent answers.
 *
 * @since 0.1.0
 */
import { dual } from "effect/Function"
import { lastAssistant } from "./conversation/Turns.ts"
import type { AgentState, AssistantPart } from "./StateSchema.ts"

/**
 * Returns the state of the agent that calls lead to, beginning at the outermost agent. An event's `calls` lead to the agent it happened in.
 *
 * An empty list leads to the state itself. Returns `undefined` if a call is missing, is settled, or hasn't begun.
 *
 * @category getters
 * @since 0.1.0
 */
export const at: {
  (calls: ReadonlyArray<string>): (self: AgentState) => AgentState | undefined
  (self: AgentState, calls: ReadonlyArray<string>): AgentState | undefined
} = dual(2, (self: AgentState, calls: ReadonlyArray<string>): AgentState | undefined => {
  let found: AgentState | undefined = self
  for (const callId of calls) {
    const part: AssistantPart | undefined = found === undefined
      ? undefined
      : lastAssistant(found.conversation)?.parts.find((part) => part._tag === "Call" && part.id === callId)
    found = part?._tag === "Call" && part.state._tag === "Delegated" ? part.state.child : undefined
  }
  return found
})
