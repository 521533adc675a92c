/**
 * The call by which a model gives an answer that has a schema.
 *
 * @since 0.1.0
 */
import { callsOf } from "./conversation/Turns.ts"
import type { Call, Turn } from "./StateSchema.ts"

/** The tool that is called with an answer. */
export const toolName = "final_answer"

/** Returns the calls of `final_answer` in the last of some turns, if that is the model's. */
export const finalCalls = (turns: ReadonlyArray<Turn>): ReadonlyArray<Call> => {
  const last = turns.at(-1)
  return last?._tag === "Assistant" ? callsOf(last).filter((call) => call.name === toolName) : []
}

/** Finds the call in the last of some turns whose answer was accepted. */
export const acceptedCall = (turns: ReadonlyArray<Turn>): Call | undefined =>
  finalCalls(turns).find((call) => call.state._tag === "Settled" && call.state.outcome === "Succeeded")
