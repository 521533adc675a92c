/**
 * Checks the moves between successive states, without using the code that ensures them.
 *
 * @since 0.1.0
 */
import type { AgentEvent } from "../../domain/AgentEvent.ts"
import * as AgentStatus from "../../domain/AgentStatus.ts"
import { openCalls } from "../../domain/Conversation.ts"
import type { AgentState } from "../../domain/StateSchema.ts"

/**
 * Returns each move between successive states that `AgentStatus.moves` doesn't list, in words; moves of called agents are included.
 *
 * @category getters
 * @since 0.1.0
 */
export const illegalMoves = (states: ReadonlyArray<AgentState>): ReadonlyArray<string> =>
  states.flatMap((state, at) => at === 0 ? [] : between(states[at - 1]!, state, `state ${at}`))

const between = (before: AgentState, after: AgentState, where: string): ReadonlyArray<string> => {
  if (before === after) return []
  const [from, to] = [before.status._tag, after.status._tag]
  const own = from === to || AgentStatus.moves[from].includes(to) ? [] : [`${where} goes from ${from} to ${to}`]
  const called = openCalls(after.conversation).flatMap(({ id, state }) => {
    const known = openCalls(before.conversation).find((call) => call.id === id)
    return state._tag === "Delegated" && known?.state._tag === "Delegated"
      ? between(known.state.child, state.child, `${where}, "${id}"`)
      : []
  })
  return [...own, ...called]
}

/** Events that leave a state as it is only if they don't fit. */
const changing: ReadonlySet<AgentEvent["_tag"]> = new Set<AgentEvent["_tag"]>([
  "RunStarted",
  "InputGiven",
  "ToolInvoked",
  "ModelResponded",
  "ApprovalRequested",
  "CallApproved",
  "CallDenied",
  "ResultAwaited",
  "ResultGiven",
  "ToolCallSettled",
  "FeedbackGiven",
  "LimitReached",
  "HandoffRequested",
  "HandoffCompleted",
  "RunCompleted",
  "RunInterrupted",
  "RunFailed"
])

/** Returns a problem if an event should have changed a state but left it as it was. */
export const misfit = (before: AgentState, event: AgentEvent, after: AgentState): string | undefined =>
  before === after && changing.has(event._tag)
    ? `${event._tag} changes nothing: it doesn't fit the state`
    : undefined
