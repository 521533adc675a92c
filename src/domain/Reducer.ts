/**
 * How events change a state.
 *
 * `reduce` is total. An event that doesn't fit leaves the state as it is, such as one of an agent that wasn't called, one for a settled
 * call, or one whose move `AgentStatus.moves` doesn't list. An answer's calls whose ids are taken get other ids; a program's call
 * (`ToolInvoked`) whose id is taken doesn't fit. An event's `calls` lead to the agent it happened in; what that agent used counts for every
 * agent above it.
 *
 * @since 0.1.0
 */
import type { AgentEvent, ConversationSummarized, ModelResponded, ToolInvoked } from "./AgentEvent.ts"
import * as AgentStatus from "./AgentStatus.ts"
import { control, make, reopen, start } from "./Beginning.ts"
import * as CallChange from "./CallChange.ts"
import { withUniqueIds } from "./CallIds.ts"
import { addSummary } from "./conversation/Summaries.ts"
import { appendUnchecked } from "./conversation/Turns.ts"
import { statusOf, withConversation } from "./ImpliedStatus.ts"
import * as ModeStack from "./ModeStack.ts"
import { putInPlace } from "./Replacement.ts"
import * as RunRecord from "./RunRecord.ts"
import { withModel } from "./Spending.ts"
import type { AgentState, Turn, User } from "./StateSchema.ts"
import * as TakenIds from "./TakenIds.ts"
import { takeOver } from "./Takeover.ts"
import * as Usage from "./Usage.ts"
import { outlastsRun } from "./WaitingCall.ts"

/** Adds a turn, and derives the status from the conversation. */
const append = (self: AgentState, turn: Turn): AgentState =>
  withConversation(self, appendUnchecked(self.conversation, turn))

const respond = (self: AgentState, { counted, feedback, finishReason, parts, usage }: ModelResponded): AgentState => {
  const responded = append(self, {
    _tag: "Assistant",
    agent: self.agent,
    parts,
    usage,
    finishReason,
    ...(counted === undefined ? undefined : { counted })
  })
  return feedback === undefined ? responded : giveFeedback(responded, feedback)
}

/** Tells the model what is wrong with its answer. */
const giveFeedback = (self: AgentState, text: string): AgentState =>
  append({ ...self, run: RunRecord.correct(self.run) }, { _tag: "Feedback", text })

/** Forgets the call that ends the run. */
const withoutFatal = (self: AgentState): AgentState =>
  self.run.fatal === undefined ? self : { ...self, run: RunRecord.withoutFatal(self.run) }

/** Records a call that a program makes. The call counts as approved, and its turn used no tokens. */
const invoke = (self: AgentState, { callId: id, name, params, refused }: ToolInvoked): AgentState =>
  append(withoutFatal(self), {
    _tag: "Assistant",
    agent: self.agent,
    parts: [{
      _tag: "Call",
      id,
      name,
      params,
      state: { _tag: "Approved" },
      metadata: { troupe: { invoked: true, ...(refused === undefined ? undefined : { refused }) } }
    }],
    usage: {},
    finishReason: "tool-calls"
  })

/** Counts an answer of a model, as so many steps. With `isOwn` it counts in the run's `iteration` too. */
const spend = (self: AgentState, used: RunRecord.Used, isOwn: boolean, steps = 1): AgentState => {
  const run = RunRecord.spend(self.run, used, steps, isOwn)
  return {
    ...self,
    steps: self.steps + steps,
    // The sums of a first run are those of its conversation.
    usage: self.usage === self.run.usage ? run.usage : Usage.add(self.usage, used.usage),
    ...(used.model === undefined ? undefined : { models: withModel(self.models, used.model, used.usage) }),
    run
  }
}

/** Checks whether an answer used tokens, even if it was blocked. */
const isUsed = (event: AgentEvent): event is AgentEvent & RunRecord.Used =>
  (event._tag === "ModelResponded" || event._tag === "ModelCallFailed") && event.usage !== undefined

/** A blocked answer counts as a step; one that broke off doesn't. */
const stepsOf = (event: AgentEvent): number => event._tag === "ModelCallFailed" && event.isBrokenOff === true ? 0 : 1

/** Counts what a model used for a summary. That isn't a step. */
const spendOnSummary = (self: AgentState, { model, usage }: ConversationSummarized): AgentState =>
  usage === undefined ? self : spend(self, { usage, ...(model === undefined ? undefined : { model }) }, false, 0)

const rest = (self: AgentState, at: number, status: AgentStatus.AgentStatus): AgentState => ({
  ...self,
  status,
  run: RunRecord.rest(self.run, at)
})

/** Checks whether a state may ask for a handoff: the call that asks is open, if there is one. */
const isRequestable = (self: AgentState, { callId }: AgentStatus.HandoffRequest): boolean => {
  const state = callId === undefined ? undefined : CallChange.callOf(self, callId)?.state
  return callId === undefined || (state !== undefined && state._tag !== "Settled")
}

const isRequested = ({ status }: AgentState, request: AgentStatus.HandoffRequest): boolean =>
  status._tag === "HandoffRequested" && status.request.target === request.target &&
  status.request.callId === request.callId

const reduceOwn = (self: AgentState, event: AgentEvent): AgentState => {
  switch (event._tag) {
    case "RunStarted": {
      const before = event.isReopened === true ? reopen(self) : self
      const started = event.input === undefined
        ? { ...before, run: RunRecord.goOn(before.run, event.at) }
        : start(control(before, event.path[event.path.length - 1]!), event.input, event.at, event.mode, event.blocked)
      return event.error === undefined ? started : { ...started, status: AgentStatus.failed(event.error) }
    }
    case "ModelResponded":
      return respond(spend(self, event, true), event)
    case "ModelCallFailed":
      return isUsed(event) ? spend(self, event, false, stepsOf(event)) : self
    case "GuardrailSettled":
      return event.replaced === undefined ? self : putInPlace(self, event.replaced, event.callId)
    case "ConversationSummarized": {
      const conversation = addSummary(self.conversation, event)
      return conversation === self.conversation ? self : { ...spendOnSummary(self, event), conversation }
    }
    case "ApprovalRequested":
      return CallChange.awaitApproval(self, event)
    case "CallApproved":
      return CallChange.approve(self, event)
    case "CallDenied":
      return CallChange.deny(self, event)
    case "ResultAwaited":
      return CallChange.awaitResult(self, event)
    case "ResultGiven":
      return CallChange.giveResult(self, event)
    case "ToolCallSettled":
      return CallChange.settle(self, event)
    case "LimitReached":
      return append({ ...self, run: RunRecord.land(self.run) }, { _tag: "Feedback", text: event.text })
    case "FeedbackGiven":
      return giveFeedback(self, event.text)
    case "InputGiven": {
      const { blocked, input: parts, mode } = event
      const turn: User = { _tag: "User", parts, mode, ...(blocked === undefined ? undefined : { blocked }) }
      const conversation = appendUnchecked(self.conversation, turn)
      return { ...self, conversation, status: statusOf(conversation) }
    }
    case "ToolInvoked":
      return TakenIds.of(self).names.has(event.callId) ? self : invoke(self, event)
    case "ModeEntering":
      return event.isResumed === true ? ModeStack.resume(self, event) : ModeStack.enter(self, event, event.at)
    case "ModeEntered":
      return event.note === undefined ? self : ModeStack.tell(self, event.note)
    case "ModeFailed":
      return event.phase === "SetUp" && event.isResumed !== true && event.name === ModeStack.top(self)?.name
        ? TakenIds.keep(self, ModeStack.undo(self, event.tag === "Interrupted"))
        : self
    case "ModeExited": {
      if (event.name !== ModeStack.top(self)?.name) return self
      const left = event.isKept === true
        ? self
        : TakenIds.keep(self, ModeStack.leave(self, event.note !== undefined, event.endsRun))
      return event.note === undefined ? left : ModeStack.tell(left, event.note)
    }
    case "ModeTransitionRequested":
      return ModeStack.request(self, event.transition)
    case "StateAdjusted":
      return TakenIds.keep(self, ModeStack.adjust(self, event.adjustment, event.mode))
    case "HandoffRequested":
      return isRequestable(self, event.request)
        ? { ...self, status: AgentStatus.handoffRequested(event.request) }
        : self
    case "HandoffCompleted":
      return isRequested(self, event.request) ? takeOver(self, event, event.at) : self
    case "RunCompleted":
      return rest(self, event.at, self.status._tag === "InProgress" ? AgentStatus.complete : self.status)
    case "StepCompleted":
      return event.endsRun === true && self.status._tag === "InProgress"
        ? { ...self, status: AgentStatus.complete }
        : self
    case "RunInterrupted":
      return rest(self, event.at, self.status)
    case "RunFailed":
      return rest(withoutFatal(self), event.at, AgentStatus.failed(event.error))
    case "StepStarted":
    case "ModelCallStarted":
    case "TextDelta":
    case "ReasoningDelta":
    case "ToolParamsDelta":
    case "ToolCallStarted":
    case "ToolCallProgressed":
    case "ToolCallSuspended":
    case "GuardrailStarted":
    case "TextWithdrawn":
    case "TransformFailed":
    case "HandoffSuspended":
    case "ModeExiting":
      return self
  }
}

/** Returns the state after an event, or the state before it if the move isn't listed. Staying isn't a move. */
const moved = (before: AgentState, after: AgentState): AgentState => {
  const [from, to] = [before.status, after.status]
  return from === to || from._tag === to._tag || AgentStatus.moves[from._tag].includes(to._tag) ? after : before
}

/**
 * Takes an event into the state of an agent that is `depth` calls below the outermost.
 *
 * The ids of an answer's calls aren't checked: the loop has made them unique, and `reduce` checks events from elsewhere. So a step's cost
 * doesn't grow with its run.
 *
 * @category combinators
 * @since 0.1.0
 */
export const reduceAt = (self: AgentState, event: AgentEvent, depth: number): AgentState => {
  const callId = event.calls[depth]
  if (callId === undefined) return moved(self, reduceOwn(self, event))
  const call = CallChange.callOf(self, callId)
  if (call === undefined || call.state._tag === "Settled" || outlastsRun(call.state)) return self
  const agent = event.path[depth + 1]
  const before = call.state._tag === "Delegated"
    ? call.state.child
    : event._tag === "RunStarted" && agent !== undefined
    ? make(agent)
    : undefined
  if (before === undefined) return self
  const child = reduceAt(before, event, depth + 1)
  if (child === before) return self
  const updated = moved(self, CallChange.withCallState(self, callId, { _tag: "Delegated", child }))
  if (updated === self) return self
  if (event._tag === "ConversationSummarized") return spendOnSummary(updated, event)
  if (event._tag === "ToolCallSettled") return CallChange.countCall(updated, event)
  return isUsed(event) ? spend(updated, event, false, stepsOf(event)) : updated
}

/**
 * Returns the state after an event. It never fails: an event that doesn't fit returns the state itself.
 *
 * For example, an event doesn't fit if its agent wasn't called, if its call is settled, or if `AgentStatus.moves` doesn't list its move. An
 * event of a called agent changes the state in the call that leads to it. An answer's calls whose ids are taken get other ids; a program's
 * call (`ToolInvoked`) whose id is taken doesn't fit.
 *
 * @category combinators
 * @since 0.1.0
 */
export const reduce = (self: AgentState, event: AgentEvent): AgentState => {
  if (event._tag !== "ModelResponded") return reduceAt(self, event, 0)
  const parts = withUniqueIds(event.parts, TakenIds.of(self).names)
  return reduceAt(self, parts === event.parts ? event : { ...event, parts }, 0)
}
