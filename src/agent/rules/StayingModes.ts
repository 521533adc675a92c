/**
 * Which modes stay entered when a run ends, and which calls go with a mode that is left.
 *
 * All stay in a state that can go on, but for those from the lowest upwards that a program entered beside the agent's own: nobody else
 * could set that up again. The state of an agent that answered a call can't go on.
 *
 * @since 0.1.0
 */
import { openCalls } from "../../domain/conversation/Turns.ts"
import type { AgentState, Call } from "../../domain/StateSchema.ts"
import type { Definition } from "../definition/AgentDefinition.ts"

/** A mode that is set up; one that `isForeign` isn't the agent's own. */
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

/** Finds the open calls whose tools no mode brings that `stays`: nobody could run them later. */
export const callsToGiveUp = (
  stays: ReadonlyArray<string>,
  { tools }: Definition,
  { conversation }: AgentState
): ReadonlyArray<Call> =>
  openCalls(conversation).filter(({ name }) => {
    const entry = tools.get(name)
    return entry?._tag === "Handled" && entry.modes?.some((mode) => stays.includes(mode)) === false
  })
