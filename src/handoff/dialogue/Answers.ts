/**
 * What an agent answered in its turn.
 *
 * @since 0.1.0
 */
import type { AgentState, Assistant } from "../../domain/StateSchema.ts"

/** Returns what an agent answered since it was last told something, oldest first. */
export const answersOf = ({ conversation: { turns } }: AgentState): ReadonlyArray<Assistant> =>
  turns.slice(turns.findLastIndex(({ _tag }) => _tag === "User") + 1).filter((turn) => turn._tag === "Assistant")
