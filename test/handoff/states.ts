/**
 * States as policies meet them: some agents had control in the run, and the last of them has answered.
 */
import { AgentState, AgentStatus, Conversation, type HandoffPolicy } from "troupe"
import { deepFreeze } from "../domain/legal.ts"

/** The state after the answer of the last agent of a run; `earlier` is the trail of the runs before. */
export const answered = (
  run: readonly [string, ...Array<string>],
  earlier: ReadonlyArray<string> = []
): AgentState.AgentState => {
  const agent = run[run.length - 1]!
  const state = AgentState.make(agent)
  return deepFreeze({
    ...state,
    conversation: Conversation.make([Conversation.user("Hello"), Conversation.assistant(agent, "Done.")]),
    status: AgentStatus.complete,
    trail: [...earlier, ...run],
    run: { ...state.run, handoffs: run.length - 1 }
  })
}

/** Who has control one after the other when each agent answers at once, up to a number of handoffs. */
export const follow = (
  decide: HandoffPolicy.Internals["decide"],
  start: string,
  earlier: ReadonlyArray<string> = []
): ReadonlyArray<string> => {
  const run: [string, ...Array<string>] = [start]
  for (let handoffs = 0; handoffs < 20; handoffs++) {
    const decision = decide(answered(run, earlier))
    if (decision === undefined) return run
    run.push(decision.target)
  }
  return run
}
