/**
 * Which modes stay entered when a run ends, and which calls go with a mode that is left.
 *
 * If the state can continue, the modes below the first one that is used alone stay. That mode and those above it are left, because only the
 * program that entered it could set it up again. A called agent that has ended can't continue, so none of its modes stays.
 *
 * @since 0.1.0
 */
import { openCalls } from "../../domain/conversation/Turns.ts"
import type { AgentState, Call } from "../../domain/StateSchema.ts"
import type { Definition } from "../definition/AgentDefinition.ts"

/** A mode that is set up; one that `isForeign` is used alone. */
interface SetUpMode {
  readonly name: string
  readonly isForeign: boolean
}

/** Counts the modes that stay entered, from the bottom. */
export const count = (modes: ReadonlyArray<SetUpMode>, canGoOn: boolean): number => {
  if (!canGoOn) return 0
  const foreign = modes.findIndex(({ isForeign }) => isForeign)
  return foreign < 0 ? modes.length : foreign
}

/** Finds the open calls that nobody could run later, because no mode that brings their tools stays entered (`stays`). */
export const callsToGiveUp = (
  stays: ReadonlyArray<string>,
  { tools }: Definition,
  { conversation }: AgentState
): ReadonlyArray<Call> =>
  openCalls(conversation).filter(({ name }) => {
    const entry = tools.get(name)
    return entry?._tag === "Handled" && entry.modes?.some((mode) => stays.includes(mode)) === false
  })
