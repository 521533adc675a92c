/**
 * When a session saves its state, besides the end of each operation.
 *
 * - A decision on a call that awaits approval, and a result that came later, are saved before they count: one that can't be saved has no
 *   effect.
 * - Other events are saved before anybody sees them and the run continues. They are the start of a run, the calls of an answer, a call that
 *   a program invokes, a call's result, the end of a handler whose result comes later, the end of a step and the end of a run.
 * - So no handler runs for a call that isn't stored, and no call runs again once its `ToolCallSettled` or `ResultAwaited` was emitted.
 *
 * @since 0.1.0
 */
import type { AgentEvent } from "../../domain/AgentEvent.ts"
import { isRunEnd } from "../../domain/AgentEvent.ts"

/** Checks whether an event is saved before it changes the session's state. */
export const isSavedFirst = ({ _tag }: AgentEvent): boolean =>
  _tag === "CallApproved" || _tag === "CallDenied" || _tag === "ResultGiven"

/** Checks whether the state after an event is saved before the run goes on. */
export const isSavePoint = (event: AgentEvent): boolean => {
  switch (event._tag) {
    case "RunStarted":
      return event.calls.length === 0
    case "ModelResponded":
      return event.parts.some((part) => part._tag === "Call")
    case "ToolInvoked":
    case "StepCompleted":
    case "ResultAwaited":
    case "ToolCallSettled":
      return true
    default:
      return isRunEnd(event)
  }
}
