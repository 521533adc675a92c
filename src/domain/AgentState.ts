/**
 * The whole of an agent's run as an immutable value.
 *
 * 1. `next` says what a state needs; `reduce` takes in what happened. Both are pure.
 * 2. A state is data: it names agents, tools and modes, and survives JSON in every status.
 * 3. The state after a run is the fold of the run's events over the state before it.
 *
 * @since 0.1.0
 */
import { dual } from "effect/Function"
import * as AgentStatus from "./AgentStatus.ts"
import { lastAssistantText } from "./Conversation.ts"
import { statusOf } from "./ImpliedStatus.ts"
import type { AgentState } from "./StateSchema.ts"

export * from "./AgentOutput.ts"
export * from "./Approval.ts"
export { ask, make } from "./Beginning.ts"
export * from "./Command.ts"
export * from "./Delegated.ts"
export { withConversation } from "./ImpliedStatus.ts"
export { reduce } from "./Reducer.ts"
export * from "./Rewind.ts"
export { Run } from "./RunRecord.ts"
export * from "./StateJson.ts"
export { AgentState, ModeFrame, PromptSegment, Received } from "./StateSchema.ts"

/**
 * Gives the last text of an assistant, or `""` where none spoke.
 *
 * @category getters
 * @since 0.1.0
 */
export const text = (self: AgentState): string => lastAssistantText(self.conversation) ?? ""

/**
 * Makes a state that can go on of one whose run ended, by deriving its status anew from its conversation.
 *
 * A run that met a limit goes on with a larger one as if there had been none; one whose model failed asks it again.
 *
 * @category combinators
 * @since 0.1.0
 */
export const reopen = (self: AgentState): AgentState =>
  AgentStatus.isTerminal(self.status) ? { ...self, status: statusOf(self.conversation), run: resumed(self.run) } : self

/** A run that goes on by hand may have a larger limit: it isn't on its last answer. */
const resumed = (self: AgentState["run"]): AgentState["run"] => {
  const { landing: _, ...run } = self
  return run
}

/**
 * Adds a line to the logs.
 *
 * @category combinators
 * @since 0.1.0
 */
export const log: {
  (line: string): (self: AgentState) => AgentState
  (self: AgentState, line: string): AgentState
} = dual(2, (self: AgentState, line: string): AgentState => ({ ...self, logs: [...self.logs, line] }))
