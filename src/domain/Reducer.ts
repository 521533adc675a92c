/**
 * How events change a state.
 *
 * `reduce` is total: an event that doesn't fit (of an agent that wasn't called, for a call that is settled) leaves the
 * state as it is, and calls whose ids are taken get others. It follows an event's `calls` down to the agent it happened
 * in; what that agent used counts for every agent above it.
 *
 * @since 0.1.0
 */
import { dual } from "effect/Function"
import type { AgentEvent, ConversationSummarized, ModelResponded, ToolCallSettled, ToolInvoked } from "./AgentEvent.ts"
import * as AgentStatus from "./AgentStatus.ts"
import { withUniqueIds } from "./CallIds.ts"
import { appendUnchecked, empty, hasOpenCalls, lastAssistant, textOf, updateCall } from "./Conversation.ts"
import { addSummary } from "./conversation/Summaries.ts"
import { statusOf } from "./ImpliedStatus.ts"
import * as ModeStack from "./ModeStack.ts"
import * as Part from "./Part.ts"
import { putInPlace } from "./Replacement.ts"
import * as Spending from "./Spending.ts"
import type { AgentState, Call, CallState, Conversation, User } from "./StateSchema.ts"
import { stillRequested, takeOver } from "./Takeover.ts"
import * as Usage from "./Usage.ts"

/**
 * Makes the state of an agent before its first run, possibly with a conversation from elsewhere.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (
  agent: string,
  options?: { readonly systemMessage?: string | undefined; readonly conversation?: Conversation | undefined }
): AgentState => ({
  version: 1,
  agent,
  conversation: options?.conversation ?? empty,
  status: statusOf(options?.conversation ?? empty),
  ...(options?.systemMessage === undefined ? undefined : { systemMessage: options.systemMessage }),
  steps: 0,
  usage: Usage.empty,
  run: { startedAt: 0, elapsed: 0, iteration: 0, steps: 0, corrections: 0, usage: Usage.empty },
  trail: [agent],
  modes: [],
  prompt: [],
  logs: []
})

/**
 * Gives a state another conversation, and the status that it implies.
 *
 * A handoff that was asked for and whose call is still open goes on being asked for.
 *
 * @category combinators
 * @since 0.1.0
 */
export const withConversation: {
  (conversation: Conversation): (self: AgentState) => AgentState
  (self: AgentState, conversation: Conversation): AgentState
} = dual(
  2,
  (self: AgentState, conversation: Conversation): AgentState =>
    conversation === self.conversation
      ? self
      : { ...self, conversation, status: stillRequested(self, conversation) ? self.status : statusOf(conversation) }
)

const withCall = (self: AgentState, callId: string, state: CallState): AgentState =>
  withConversation(self, updateCall(self.conversation, callId, state))

const respond = (
  self: AgentState,
  { counted, feedback, finishReason, parts, usage }: ModelResponded
): AgentState => {
  const responded = withConversation(
    self,
    appendUnchecked(self.conversation, {
      _tag: "Assistant",
      agent: self.agent,
      parts,
      usage,
      finishReason,
      ...(counted === undefined ? undefined : { counted })
    })
  )
  return feedback === undefined ? responded : giveFeedback(responded, feedback)
}

/** Tells the model what is wrong with its answer. */
const giveFeedback = (self: AgentState, text: string): AgentState =>
  withConversation(
    { ...self, run: { ...self.run, corrections: self.run.corrections + 1 } },
    appendUnchecked(self.conversation, { _tag: "Feedback", text })
  )

/** Records a call that is about to run. Whoever invokes a tool approves of the call; the turn used nothing. */
const invoke = (self: AgentState, { callId: id, name, params }: ToolInvoked): AgentState =>
  withConversation(
    self,
    appendUnchecked(self.conversation, {
      _tag: "Assistant",
      agent: self.agent,
      parts: [
        { _tag: "Call", id, name, params, state: { _tag: "Approved" }, metadata: { troupe: { invoked: true } } }
      ],
      usage: {},
      finishReason: "tool-calls"
    })
  )

const callOf = (self: AgentState, callId: string): Call | undefined => {
  const part = lastAssistant(self.conversation)?.parts.find((part) => part._tag === "Call" && part.id === callId)
  return part?._tag === "Call" ? part : undefined
}

/** Puts an agent in control of a new run. While calls are open, or a handoff is, the one that has them keeps it. */
const control = (self: AgentState, agent: string): AgentState => {
  if (agent === self.agent || self.status._tag === "HandoffRequested" || hasOpenCalls(self.conversation)) return self
  const { handoff: _, ...rest } = self
  return { ...rest, agent, trail: self.conversation.turns.length === 0 ? [agent] : [...self.trail, agent] }
}

const start = (self: AgentState, input: User["parts"], at: number, mode?: string): AgentState => {
  const turn: User = { _tag: "User", parts: input, ...(mode === undefined ? undefined : { mode }) }
  const started = withConversation(self, appendUnchecked(self.conversation, turn))
  // Words that wait behind open calls don't begin the way through the agents anew.
  const isWaiting = self.status._tag === "WaitingForTools" || self.status._tag === "HandoffRequested"
  const handoffs = isWaiting ? self.run.handoffs : undefined
  // What a mode says is no input of a user.
  const given = mode === undefined ? 1 : 0
  const inputs = isWaiting ? (self.run.inputs ?? 1) + given : given
  const query = self.initialQuery ?? (mode === undefined ? textOf(turn) : undefined)
  return {
    ...started,
    ...(query === undefined ? undefined : { initialQuery: query }),
    run: {
      startedAt: at,
      elapsed: 0,
      iteration: 0,
      steps: 0,
      corrections: 0,
      usage: Usage.empty,
      ...(handoffs === undefined ? undefined : { handoffs }),
      ...(inputs === 1 ? undefined : { inputs })
    }
  }
}

/**
 * Begins a run by hand: the state with what a user says, at a time in epoch milliseconds, for `Agent.step`.
 *
 * @category combinators
 * @since 0.1.0
 */
export const ask: {
  (input: string | User["parts"], at: number): (self: AgentState) => AgentState
  (self: AgentState, input: string | User["parts"], at: number): AgentState
} = dual(
  3,
  (self: AgentState, input: string | User["parts"], at: number): AgentState =>
    start(self, typeof input === "string" ? [Part.text(input)] : input, Math.floor(at))
)

/** Counts an answer of a model in so many steps: for the agent whose model it was, and for each agent above it. */
const spend = (self: AgentState, { model, usage }: Used, isOwn: boolean, steps = 1): AgentState => ({
  ...self,
  steps: self.steps + steps,
  usage: Usage.add(self.usage, usage),
  run: {
    ...self.run,
    iteration: self.run.iteration + (isOwn ? 1 : 0),
    steps: self.run.steps + steps,
    usage: Usage.add(self.run.usage, usage),
    ...(model === undefined ? undefined : { models: Spending.withModel(self.run.models, model, usage) })
  }
})

/** What an answer used, also one that was blocked. */
type Used = { readonly usage: Usage.RequestUsage; readonly model?: string }

const isUsed = (event: AgentEvent): event is AgentEvent & Used =>
  (event._tag === "ModelResponded" || event._tag === "ModelCallFailed") && event.usage !== undefined

/** Counts a call that has its result: for the agent whose call it was, and for each agent above it. */
const countCall = (self: AgentState, name: string): AgentState => ({
  ...self,
  run: { ...self.run, calls: Spending.withCall(self.run.calls, name) }
})

const settle = (self: AgentState, { callId, modelOutput, name, outcome, result }: ToolCallSettled): AgentState => {
  const settled = withCall(self, callId, {
    _tag: "Settled",
    outcome,
    result,
    ...(modelOutput === undefined ? undefined : { modelOutput })
  })
  return settled === self ? self : countCall(settled, name)
}

/** Counts what a model used that summarized, which is no step. */
const spendOnSummary = (self: AgentState, { model, usage }: ConversationSummarized): AgentState =>
  usage === undefined ? self : spend(self, { usage, ...(model === undefined ? undefined : { model }) }, false, 0)

const rest = (self: AgentState, at: number, status: AgentStatus.AgentStatus): AgentState => ({
  ...self,
  status,
  run: { ...self.run, startedAt: at, elapsed: self.run.elapsed + Math.max(0, at - self.run.startedAt) }
})

/** Checks whether a state may ask for a handoff: it hasn't failed, and the call that asks is open, where there is one. */
const isRequestable = (self: AgentState, { callId }: AgentStatus.HandoffRequest): boolean => {
  const state = callId === undefined ? undefined : callOf(self, callId)?.state
  return self.status._tag !== "Failed" && (callId === undefined || (state !== undefined && state._tag !== "Settled"))
}

const isRequested = ({ status }: AgentState, request: AgentStatus.HandoffRequest): boolean =>
  status._tag === "HandoffRequested" && status.request.target === request.target &&
  status.request.callId === request.callId

const reduceOwn = (self: AgentState, event: AgentEvent): AgentState => {
  switch (event._tag) {
    case "RunStarted":
      return event.input === undefined
        ? { ...self, run: { ...self.run, startedAt: event.at } }
        : start(control(self, event.path[event.path.length - 1]!), event.input, event.at, event.mode)
    case "ModelResponded":
      return respond(spend(self, event, true), event)
    case "ModelCallFailed":
      return isUsed(event) ? spend(self, event, false) : self
    case "GuardrailSettled":
      return event.replaced === undefined ? self : putInPlace(self, event.replaced, event.callId)
    case "ConversationSummarized": {
      const conversation = addSummary(self.conversation, event)
      return conversation === self.conversation ? self : { ...spendOnSummary(self, event), conversation }
    }
    case "ApprovalRequested":
      return callOf(self, event.callId)?.state._tag === "Pending"
        ? withCall(self, event.callId, { _tag: "AwaitingApproval" })
        : self
    case "ToolCallSettled":
      return settle(self, event)
    case "LimitReached": {
      const told = appendUnchecked(self.conversation, { _tag: "Feedback", text: event.text })
      return withConversation({ ...self, run: { ...self.run, landing: self.run.iteration } }, told)
    }
    case "FeedbackGiven":
      return giveFeedback(self, event.text)
    case "InputGiven": {
      const turn: User = { _tag: "User", parts: event.input, mode: event.mode }
      const conversation = appendUnchecked(self.conversation, turn)
      return { ...self, conversation, status: statusOf(conversation) }
    }
    case "ToolInvoked":
      return ModeStack.allCallIds(self).includes(event.callId) ? self : invoke(self, event)
    case "ModeEntering":
      return event.isResumed === true ? self : ModeStack.enter(self, event, event.at)
    case "ModeEntered":
      return event.note === undefined ? self : ModeStack.tell(self, event.note)
    case "ModeFailed":
      return event.phase === "SetUp" && event.isResumed !== true && event.name === ModeStack.top(self)?.name
        ? ModeStack.undo(self, event.tag === "Interrupted")
        : self
    case "ModeExited": {
      if (event.name !== ModeStack.top(self)?.name) return self
      const left = event.isKept === true ? self : ModeStack.leave(self, event.note !== undefined, event.endsRun)
      return event.note === undefined ? left : ModeStack.tell(left, event.note)
    }
    case "ModeTransitionRequested":
      return ModeStack.request(self, event.transition)
    case "StateAdjusted":
      return ModeStack.adjust(self, event.adjustment, event.mode)
    case "HandoffRequested":
      return isRequestable(self, event.request)
        ? { ...self, status: AgentStatus.handoffRequested(event.request) }
        : self
    case "HandoffCompleted":
      return isRequested(self, event.request) ? takeOver(self, event, event.at) : self
    case "RunCompleted":
      return rest(self, event.at, self.status._tag === "InProgress" ? AgentStatus.complete : self.status)
    case "RunInterrupted":
      return rest(self, event.at, self.status)
    case "RunFailed":
      return rest(self, event.at, AgentStatus.failed(event.error))
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
    case "StepCompleted":
      return self
  }
}

/**
 * Takes an event into the state of an agent that is `depth` calls below the outermost.
 *
 * The ids of an answer's calls are taken as they are: the loop gives each its own, and `reduce` sees to those of events
 * from elsewhere, so that a step's cost doesn't grow with its run.
 *
 * @category combinators
 * @since 0.1.0
 */
export const reduceAt = (self: AgentState, event: AgentEvent, depth: number): AgentState => {
  const callId = event.calls[depth]
  if (callId === undefined) return reduceOwn(self, event)
  const call = callOf(self, callId)
  if (call === undefined || call.state._tag === "Settled" || call.state._tag === "AwaitingApproval") return self
  const agent = event.path[depth + 1]
  const before = call.state._tag === "Delegated"
    ? call.state.child
    : event._tag === "RunStarted" && agent !== undefined
    ? make(agent)
    : undefined
  if (before === undefined) return self
  const child = reduceAt(before, event, depth + 1)
  if (child === before) return self
  const updated = withCall(self, callId, { _tag: "Delegated", child })
  if (event._tag === "ConversationSummarized") return spendOnSummary(updated, event)
  if (event._tag === "ToolCallSettled") return countCall(updated, event.name)
  return isUsed(event) ? spend(updated, event, false) : updated
}

/** Gives the state of the agent that an event happened in, where it is there. */
const stateOf = (self: AgentState, event: AgentEvent): AgentState | undefined => {
  let at: AgentState | undefined = self
  for (const callId of event.calls) {
    const call: Call | undefined = at === undefined ? undefined : callOf(at, callId)
    at = call?.state._tag === "Delegated" ? call.state.child : undefined
  }
  return at
}

/**
 * Takes an event into a state.
 *
 * @category combinators
 * @since 0.1.0
 */
export const reduce = (self: AgentState, event: AgentEvent): AgentState => {
  if (event._tag !== "ModelResponded") return reduceAt(self, event, 0)
  const taken = new Set(ModeStack.allCallIds(stateOf(self, event) ?? self))
  const parts = withUniqueIds(event.parts, taken)
  return reduceAt(self, parts === event.parts ? event : { ...event, parts }, 0)
}
