/**
 * What a run answered, apart from what modes said with the agent on their way out.
 *
 * @since 0.1.0
 */
import * as AgentStatus from "./AgentStatus.ts"
import { fork } from "./conversation/Turns.ts"
import { statusOf } from "./ImpliedStatus.ts"
import type { AgentState, Assistant, Turn } from "./StateSchema.ts"

const isAnswer = (turns: ReadonlyArray<Turn>): boolean => statusOf({ turns })._tag === "Complete"

const speakers = (turns: ReadonlyArray<Turn>): ReadonlyArray<string> =>
  turns.filter((turn): turn is Assistant => turn._tag === "Assistant").map(({ agent }) => agent)

/**
 * Counts the turns up to the answer that a run ended with. What a clean-up said after that, and the agent's replies to it, don't count.
 *
 * If another agent has taken over, the answer is that agent's.
 */
export const countToAnswer = (turns: ReadonlyArray<Turn>): number => {
  let count = turns.length
  for (let at = count - 1; at > 0; at--) {
    const turn = turns[at]!
    if (turn._tag !== "User") continue
    const before = turns[at - 1]!
    const isCleanUp = turn.mode !== undefined && before._tag === "Assistant" && isAnswer(turns.slice(0, at)) &&
      speakers(turns.slice(at, count)).every((agent) => agent === before.agent)
    if (!isCleanUp) break
    count = at
  }
  return count
}

/** Returns the state with the answer of a run that has ended, without the turns that clean-ups added after it. */
export const beforeCleanUps = (self: AgentState): AgentState => {
  const { conversation, status } = self
  if (status._tag === "Failed") return self
  const count = countToAnswer(conversation.turns)
  if (count === conversation.turns.length) return self
  return { ...self, conversation: fork(conversation, count), status: AgentStatus.complete }
}
