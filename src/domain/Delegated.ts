/**
 * The states of agents that are called, which live in the calls that they answer.
 *
 * @since 0.1.0
 */
import { dual } from "effect/Function"
import { lastAssistant } from "./conversation/Turns.ts"
import type { AgentState, AssistantPart } from "./StateSchema.ts"

/**
 * Gives the state of the agent that calls lead to, from the outermost one on: an event's `calls` lead to where it happened.
 *
 * No calls lead to the state itself. It is `undefined` where a call isn't there, is settled, or hasn't begun.
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
