/**
 * When a session saves its state, besides the end of each operation.
 *
 * - A decision on a call that awaits approval is saved before it counts: a decision that can't be saved has no effect.
 * - The start of a run, the calls of an answer, a call's result, the end of a step and the end of a run are saved before the run continues.
 *   So no handler runs for a call that isn't stored, and none runs again once its result event was emitted.
 *
 * @since 0.1.0
 */
import type { AgentEvent } from "../../domain/AgentEvent.ts"
import { isRunEnd } from "../../domain/AgentEvent.ts"

/** Checks whether an event is saved before it changes the session's state. */
export const isSavedFirst = ({ _tag }: AgentEvent): boolean => _tag === "CallApproved" || _tag === "CallDenied"

/** Checks whether the state after an event is saved before the run goes on. */
export const isSavePoint = (event: AgentEvent): boolean => {
  switch (event._tag) {
    case "RunStarted":
      return event.calls.length === 0
    case "ModelResponded":
      return event.parts.some((part) => part._tag === "Call")
    case "StepCompleted":
    case "ToolCallSettled":
      return true
    default:
      return isRunEnd(event)
  }
}
