/**
 * The call ids that a run may not give again: those in its state, of the agents too that answer open calls.
 *
 * A call that is settled keeps nothing of the agent that answered it, so the ids in there are free again. What is taken
 * depends on the state alone: a run that was stopped and goes on gives the same ids as one that never stopped.
 *
 * @since 0.1.0
 */
import { callsOf, lastAssistant } from "../../domain/Conversation.ts"
import { allCallIds } from "../../domain/ModeStack.ts"
import type { AgentState } from "../../domain/StateSchema.ts"

/** Gives the ids of all calls in a state, of turns that a mode hides too, and in the agents that answer its open calls. */
export const of = (state: Pick<AgentState, "conversation" | "modes">, into: Set<string> = new Set()): Set<string> => {
  for (const id of allCallIds(state)) into.add(id)
  const turn = lastAssistant(state.conversation)
  for (const call of turn === undefined ? [] : callsOf(turn)) {
    if (call.state._tag === "Delegated") of(call.state.child, into)
  }
  return into
}

/** Frees the ids of the agent that answers a call, which is about to be settled. */
export const release = (taken: Set<string>, { conversation }: AgentState, callId: string): void => {
  for (const part of lastAssistant(conversation)?.parts ?? []) {
    if (part._tag !== "Call" || part.id !== callId || part.state._tag !== "Delegated") continue
    for (const id of of(part.state.child)) taken.delete(id)
  }
}
