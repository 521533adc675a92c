/**
 * How events change the calls of an agent's last turn.
 *
 * @since 0.1.0
 */
import * as Equal from "effect/Equal"
import * as Struct from "effect/Struct"
import type {
  ApprovalRequested,
  CallApproved,
  CallDenied,
  ResultAwaited,
  ResultGiven,
  ToolCallSettled
} from "./AgentEvent.ts"
import * as AgentStatus from "./AgentStatus.ts"
import { changeCall, lastAssistant } from "./conversation/Turns.ts"
import { deniedState } from "./DeniedCall.ts"
import { statusIn } from "./ImpliedStatus.ts"
import * as RunRecord from "./RunRecord.ts"
import type { AgentState, AwaitingApproval, Call, CallState, Settled } from "./StateSchema.ts"
import * as TakenIds from "./TakenIds.ts"

/** Returns the call of this id in the last turn of the agent. */
export const callOf = (self: AgentState, callId: string): Call | undefined => {
  const part = lastAssistant(self.conversation)?.parts.find((part) => part._tag === "Call" && part.id === callId)
  return part?._tag === "Call" ? part : undefined
}

/**
 * Changes an open call. A run that has ended stays ended, even if a person answers the call, or if something happens in the agent that
 * answers it.
 */
const withCall = (self: AgentState, callId: string, change: (call: Call) => Call, run = self.run): AgentState => {
  const conversation = changeCall(self.conversation, callId, change)
  if (conversation === self.conversation) return self
  const status = AgentStatus.isTerminal(self.status) ? self.status : statusIn(self, conversation)
  return { ...self, conversation, status, run }
}

/** Changes the state of an open call. */
export const withCallState = (self: AgentState, callId: string, state: CallState, run = self.run): AgentState =>
  withCall(self, callId, (call) => ({ ...call, state }), run)

/** Takes in that a call waits for an approval. */
export const awaitApproval = (self: AgentState, { callId, judged }: ApprovalRequested): AgentState =>
  callOf(self, callId)?.state._tag === "Pending"
    ? withCallState(self, callId, { _tag: "AwaitingApproval", ...(judged === undefined ? undefined : { judged }) })
    : self

/** Changes a call that awaits approval. */
const answer = (
  self: AgentState,
  callId: string,
  change: (call: Call, state: AwaitingApproval) => Call
): AgentState => {
  const state = callOf(self, callId)?.state
  return state?._tag === "AwaitingApproval" ? withCall(self, callId, (call) => change(call, state)) : self
}

/**
 * Takes in that a call was approved, maybe with other parameters. Guardrails that let the model's parameters pass haven't judged the other
 * ones, so for those only the event's `judged` counts.
 */
export const approve = (self: AgentState, { callId, judged, params }: CallApproved): AgentState =>
  answer(self, callId, (call, asked) => {
    const isOther = params !== undefined && !Equal.equals(params, call.params)
    const by = judged ?? (isOther ? undefined : asked.judged)
    return {
      ...call,
      ...(isOther ? { params, asked: call.params } : undefined),
      state: { _tag: "Approved", ...(by === undefined ? undefined : { judged: by }) }
    }
  })

/** Takes in that a call was denied. */
export const deny = (self: AgentState, { callId, reason }: CallDenied): AgentState =>
  answer(self, callId, (call) => ({ ...call, state: deniedState(reason, call.approvalId !== undefined) }))

/** Takes in that a call waits for its result. */
export const awaitResult = (self: AgentState, { callId }: ResultAwaited): AgentState => {
  const before = callOf(self, callId)?.state._tag
  return before === "Pending" || before === "Approved"
    ? withCallState(self, callId, { _tag: "AwaitingResult" })
    : self
}

/** Takes in the result that somebody gave a call. */
export const giveResult = (self: AgentState, event: ResultGiven): AgentState =>
  callOf(self, event.callId)?.state._tag === "AwaitingResult"
    ? withCallState(self, event.callId, {
      _tag: "Answered",
      ...Struct.pick(event, ["outcome", "result", "modelOutput", "judged"])
    })
    : self

/** Counts a call that has its result. A handoff that is carried out isn't one, whether this event or the takeover settles its call. */
const counted = (run: RunRecord.Run, { name, outcome }: ToolCallSettled, isOwn: boolean): RunRecord.Run =>
  outcome === "HandedOff" ? run : RunRecord.call(run, name, isOwn && outcome === "Succeeded")

/** Counts a call of a called agent for an agent above it: in `calls`, but not in `succeeded`. */
export const countCall = (self: AgentState, event: ToolCallSettled): AgentState => ({
  ...self,
  run: counted(self.run, event, false)
})

/** Takes in the result of a call, and whether the call ends its run. */
export const settle = (self: AgentState, event: ToolCallSettled): AgentState => {
  const { callId, fatal, modelOutput, name, outcome, result } = event
  const state: Settled = {
    _tag: "Settled",
    outcome,
    result,
    ...(modelOutput === undefined ? undefined : { modelOutput })
  }
  const own = counted(self.run, event, true)
  const run = fatal === undefined ? own : RunRecord.endBy(own, { callId, name, reason: fatal })
  const settled = withCallState(self, callId, state, run)
  if (settled === self) return self
  const before = callOf(self, callId)?.state
  return before?._tag === "Delegated" ? TakenIds.retireAll(settled, before.child) : settled
}
