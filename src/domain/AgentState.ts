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
import { lastAssistantText } from "./conversation/Turns.ts"
import type { AgentState } from "./StateSchema.ts"
import * as Wanted from "./Wanted.ts"

export * from "./AgentOutput.ts"
export {
  approve,
  type ApproveOptions,
  type CheckedApproveOptions,
  deny,
  NotAwaitingApproval,
  ParamsRejected,
  type PendingApproval,
  pendingApprovals
} from "./Approval.ts"
export { ask, make, reopen } from "./Beginning.ts"
export * from "./CallParams.ts"
export * from "./Command.ts"
export { giveFailure, giveResult, NotAwaitingResult, type PendingResult, pendingResults } from "./DeferredResult.ts"
export * from "./Delegated.ts"
export { withConversation } from "./ImpliedStatus.ts"
export { reduce } from "./Reducer.ts"
export * from "./Rewind.ts"
export { Run } from "./RunRecord.ts"
export * from "./StateJson.ts"
export { AgentState, ModeFrame, PromptSegment, Received } from "./StateSchema.ts"

/**
 * Returns the text of the last assistant turn. It is `""` if that turn has only calls, or if no assistant has spoken.
 *
 * @category getters
 * @since 0.1.0
 */
export const text = (self: AgentState): string => lastAssistantText(self.conversation) ?? ""

/**
 * Adds a line to the logs.
 *
 * @category combinators
 * @since 0.1.0
 */
export const log: {
  (line: string): (self: AgentState) => AgentState
  (self: AgentState, line: string): AgentState
} = dual(
  2,
  (self: AgentState, line: string): AgentState => ({
    ...self,
    logs: [...self.logs, Wanted.textGiven("A line of the logs", line)]
  })
)
