/**
 * Checks that a conversation is legal, without using the code that ensures it.
 *
 * @since 0.1.0
 */
import type { Conversation } from "../../domain/StateSchema.ts"

/**
 * Returns everything that is illegal in a conversation and in those of called agents, in words; none if it is legal.
 *
 * It finds ids of calls that are empty or repeated, and calls that were still open when the model answered again.
 *
 * @category getters
 * @since 0.1.0
 */
export const problems = (conversation: Conversation): ReadonlyArray<string> => {
  const found: Array<string> = []
  const ids = new Set<string>()
  const last = conversation.turns.findLastIndex((turn) => turn._tag === "Assistant")
  conversation.turns.forEach((turn, index) => {
    if (turn._tag !== "Assistant") return
    for (const part of turn.parts) {
      if (part._tag !== "Call") continue
      if (part.id === "") found.push(`turn ${index} has a call without an id`)
      if (ids.has(part.id)) found.push(`turn ${index} repeats the id "${part.id}"`)
      ids.add(part.id)
      if (part.state._tag !== "Settled" && index !== last) found.push(`turn ${index} leaves "${part.id}" open`)
      if (part.state._tag === "Delegated") found.push(...problems(part.state.child.conversation))
    }
  })
  return found
}
