/**
 * Which events end what an event started (`AgentEvent.starts`), without the schemas of events, which a run doesn't need.
 *
 * @since 0.1.0
 */

/** The events that end what an event started. */
export const starts = {
  RunStarted: ["RunCompleted", "RunInterrupted", "RunFailed"],
  StepStarted: ["StepCompleted"],
  ModelCallStarted: ["ModelResponded", "ModelCallFailed"],
  ToolCallStarted: ["ToolCallSettled", "ToolCallSuspended", "ResultAwaited"],
  GuardrailStarted: ["GuardrailSettled"],
  HandoffRequested: ["HandoffCompleted", "HandoffSuspended"],
  ModeEntering: ["ModeEntered", "ModeFailed"],
  ModeExiting: ["ModeExited"]
} as const
