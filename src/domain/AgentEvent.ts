/**
 * What happened in a run, one value for each thing, in the past tense.
 *
 * 1. `AgentState.reduce` takes events in; the state after a run is the fold of its events over the state before it.
 * 2. Every start has exactly one end, whatever happens: `starts` says which ends which.
 * 3. Events that only start or show something, such as `TextDelta`, change no state: `docs/events.md` lists them.
 * 4. `sequence` grows by one from event to event of one operation, such as `run` or `resume`, the events of called agents included.
 *
 * @since 0.1.0
 */
import * as Response from "effect/ai/Response"
import * as Schema from "effect/Schema"
import * as Struct from "effect/Struct"
import { Adjustment } from "./Adjustment.ts"
import { Failure, HandoffRequest } from "./AgentStatus.ts"
import { Count } from "./Count.ts"
import { call, envelope, error, guardrail, mode, Position, Window } from "./EventFields.ts"
import * as EventStarts from "./EventStarts.ts"
import { FatalReason } from "./FatalCall.ts"
import { Isolation } from "./Isolation.ts"
import { ModeTransition } from "./ModeTransition.ts"
import * as Part from "./Part.ts"
import { AgentState, AssistantPart, Blocked, CallState, Conversation, Outcome } from "./StateSchema.ts"
import { Summarized } from "./Summarized.ts"
import { RequestUsage } from "./Usage.ts"

export { Position, Window } from "./EventFields.ts"

/**
 * Schema for what happened in a run.
 *
 * @category schemas
 * @since 0.1.0
 */
export const AgentEvent = Schema.TaggedUnion({
  RunStarted: {
    ...envelope,
    input: Schema.optionalKey(Schema.Array(Part.UserPart)),
    blocked: Schema.optionalKey(Blocked),
    mode: Schema.optionalKey(Schema.NonEmptyString),
    isReopened: Schema.optionalKey(Schema.Literal(true)),
    error: Schema.optionalKey(Failure),
    position: Schema.optionalKey(Position)
  },
  InputGiven: {
    ...envelope,
    input: Schema.Array(Part.UserPart),
    mode: Schema.NonEmptyString,
    blocked: Schema.optionalKey(Blocked)
  },
  ToolInvoked: { ...envelope, ...call, params: Schema.Json, refused: Schema.optionalKey(Schema.String) },
  StepStarted: envelope,
  ConversationSummarized: {
    ...envelope,
    ...Summarized.fields,
    duration: Count,
    usage: Schema.optionalKey(RequestUsage),
    model: Schema.optionalKey(Schema.String)
  },
  ModelCallStarted: { ...envelope, attempt: Count, window: Schema.optionalKey(Window) },
  TextDelta: { ...envelope, delta: Schema.String },
  ReasoningDelta: { ...envelope, delta: Schema.String },
  ToolParamsDelta: { ...envelope, callId: Schema.String, name: Schema.String, delta: Schema.String },
  ModelResponded: {
    ...envelope,
    parts: Schema.Array(AssistantPart),
    usage: RequestUsage,
    model: Schema.optionalKey(Schema.String),
    finishReason: Response.FinishReason,
    counted: Schema.optionalKey(Count),
    feedback: Schema.optionalKey(Schema.String)
  },
  ModelCallFailed: {
    ...envelope,
    attempt: Count,
    ...error,
    usage: Schema.optionalKey(RequestUsage),
    model: Schema.optionalKey(Schema.String),
    isBrokenOff: Schema.optionalKey(Schema.Literal(true))
  },
  ApprovalRequested: {
    ...envelope,
    ...call,
    params: Schema.Json,
    ...Struct.omit(CallState.cases.AwaitingApproval.fields, ["_tag"])
  },
  CallApproved: {
    ...envelope,
    ...call,
    params: Schema.optionalKey(Schema.Json),
    ...Struct.omit(CallState.cases.Approved.fields, ["_tag"])
  },
  CallDenied: { ...envelope, ...call, reason: Schema.String },
  ToolCallStarted: { ...envelope, ...call, params: Schema.Json, asked: Schema.optionalKey(Schema.Json) },
  ResultAwaited: { ...envelope, ...call, params: Schema.Json },
  ResultGiven: { ...envelope, ...call, ...Struct.omit(CallState.cases.Answered.fields, ["_tag"]) },
  ToolCallProgressed: { ...envelope, ...call, result: Schema.Json },
  ToolCallSuspended: { ...envelope, ...call },
  ToolCallSettled: {
    ...envelope,
    ...call,
    outcome: Outcome,
    result: Schema.Json,
    modelOutput: CallState.cases.Settled.fields.modelOutput,
    fatal: Schema.optionalKey(FatalReason),
    duration: Count
  },
  FeedbackGiven: { ...envelope, text: Schema.String },
  GuardrailStarted: { ...envelope, ...guardrail },
  GuardrailSettled: {
    ...envelope,
    ...guardrail,
    started: Count,
    verdict: Schema.Literals(["Pass", "Replace", "Warn", "Retry", "Block", "Interrupted"]),
    reason: Schema.optionalKey(Schema.String),
    replaced: Schema.optionalKey(Schema.Union([
      Schema.Struct({ turn: Count, input: Schema.Array(Part.UserPart), blocked: Schema.optionalKey(Blocked) }),
      Schema.Struct({ params: Schema.Json, refused: Schema.optionalKey(Schema.String) })
    ])),
    duration: Count
  },
  LimitReached: { ...envelope, limit: Schema.String, text: Schema.String },
  TextWithdrawn: { ...envelope, reason: Schema.String },
  HandoffRequested: { ...envelope, request: HandoffRequest },
  TransformFailed: { ...envelope, request: HandoffRequest, ...error },
  HandoffCompleted: {
    ...envelope,
    request: HandoffRequest,
    conversation: Schema.optionalKey(Conversation),
    systemMessage: Schema.optionalKey(Schema.String)
  },
  HandoffSuspended: { ...envelope, request: HandoffRequest },
  ModeEntering: { ...envelope, ...mode, isolation: Isolation, isResumed: Schema.optionalKey(Schema.Literal(true)) },
  ModeEntered: { ...envelope, ...mode, duration: Count, note: Schema.optionalKey(Schema.String) },
  ModeExiting: { ...envelope, ...mode },
  ModeExited: {
    ...envelope,
    ...mode,
    duration: Count,
    isKept: Schema.optionalKey(Schema.Literal(true)),
    note: Schema.optionalKey(Schema.String),
    endsRun: Schema.optionalKey(Schema.Literal(true))
  },
  ModeFailed: {
    ...envelope,
    ...mode,
    phase: Schema.Literals(["SetUp", "Body", "CleanUp"]),
    ...error,
    isResumed: Schema.optionalKey(Schema.Literal(true))
  },
  ModeTransitionRequested: { ...envelope, transition: ModeTransition },
  StateAdjusted: { ...envelope, adjustment: Adjustment, mode: Schema.optionalKey(Count) },
  StepCompleted: { ...envelope, endsRun: Schema.optionalKey(Schema.Literal(true)) },
  RunCompleted: { ...envelope, state: AgentState },
  RunInterrupted: { ...envelope, state: AgentState },
  RunFailed: { ...envelope, error: Failure, state: AgentState }
})

type Case<Tag extends keyof typeof AgentEvent.cases> = Schema.Schema.Type<(typeof AgentEvent.cases)[Tag]>

/**
 * A run began with `input`, or without one continued where it had stopped. With `isReopened` the run had failed and was reopened first.
 * `input` is what guardrails left of what was said, and `blocked` names the guardrail that refused it. `mode` names the mode whose set-up
 * or clean-up said it, if one did. `position` says how much came before, for a reader who begins with this event. With `error` the run
 * fails at once.
 */
export interface RunStarted extends Case<"RunStarted"> {}
/** A step began: one answer of the model and the calls in it, or calls that were still open. */
export interface StepStarted extends Case<"StepStarted"> {}
/** The set-up or clean-up of `mode` said something in the user's place; `blocked` names the guardrail that refused it. */
export interface InputGiven extends Case<"InputGiven"> {}
/** A program called a tool as if the model had; `refused` is the reason if a guardrail blocked the call. */
export interface ToolInvoked extends Case<"ToolInvoked"> {}
/**
 * A summary was made, which a context window sends instead of the first `upTo` turns, apart from those in `except`. `duration` is in
 * milliseconds. `usage` is present if a model wrote the summary, `model` if that model said its name.
 */
export interface ConversationSummarized extends Case<"ConversationSummarized"> {}
/**
 * The model was asked; `attempt` counts from 0 within the step. `window` says how the agent's context window changed the request, if the
 * agent has one.
 */
export interface ModelCallStarted extends Case<"ModelCallStarted"> {}
/** A piece of the model's text arrived. */
export interface TextDelta extends Case<"TextDelta"> {}
/** A piece of the model's reasoning arrived. */
export interface ReasoningDelta extends Case<"ReasoningDelta"> {}
/**
 * A piece of a call's parameters arrived, as JSON text. `callId` is the model's own; the call gets another id if that one is empty or
 * taken.
 */
export interface ToolParamsDelta extends Case<"ToolParamsDelta"> {}
/**
 * The model's whole answer arrived. Its calls are pending, or settled if the provider ran them. `counted` is the context window's own count
 * of the request's tokens, before the provider's report corrected it. With `feedback` a guardrail rejected the answer, and the model reads
 * the feedback next.
 */
export interface ModelResponded extends Case<"ModelResponded"> {}
/**
 * The model gave no usable answer. `tag` is the reason of the `AiError`, `Interrupted`, `Defect`, or `GuardrailBlocked` if a guardrail
 * blocked the answer, or the input while the model was asked. `usage` is present if the provider may charge the request. With `isBrokenOff`
 * the answer broke off, and `usage` has only what was reported by then.
 */
export interface ModelCallFailed extends Case<"ModelCallFailed"> {}
/** A call waits for approval. `judged` names the guardrails that let its parameters pass, if there are any. */
export interface ApprovalRequested extends Case<"ApprovalRequested"> {}
/**
 * Somebody approved a call. `params`, if present, replace the model's parameters; `judged` names the guardrails that let them pass, if any
 * have judged them.
 */
export interface CallApproved extends Case<"CallApproved"> {}
/** Somebody denied a call; the model reads the reason. */
export interface CallDenied extends Case<"CallDenied"> {}
/**
 * A call's handler, or the agent that answers the call, was started. `asked` holds the model's own parameters if the call was approved with
 * others.
 */
export interface ToolCallStarted extends Case<"ToolCallStarted"> {}
/** A handler ended without a result, which comes later; the call stays open. */
export interface ResultAwaited extends Case<"ResultAwaited"> {}
/**
 * Somebody gave a call its result, or said that it failed. The model reads it once the run continues and `ToolCallSettled` follows. With
 * `judged`, the guardrails that it names let it pass; then `modelOutput`, if present, is what the model reads instead.
 */
export interface ResultGiven extends Case<"ResultGiven"> {}
/** A handler gave a preliminary result. */
export interface ToolCallProgressed extends Case<"ToolCallProgressed"> {}
/** A started call stays open: the agent that answers it stopped before its end, or the run stopped and the call may run again. */
export interface ToolCallSuspended extends Case<"ToolCallSuspended"> {}
/**
 * A call has its result; the model reads `modelOutput` instead, if present. A call that never started is settled without a start.
 * `duration` is in milliseconds. With `fatal` the run fails once the other calls of the turn are settled: with the error of the call's
 * tool, or because a guardrail didn't let that error pass.
 */
export interface ToolCallSettled extends Case<"ToolCallSettled"> {}
/** Troupe told the model something, for example why an answer wasn't accepted. */
export interface FeedbackGiven extends Case<"FeedbackGiven"> {}
/** A guardrail began to judge a value. */
export interface GuardrailStarted extends Case<"GuardrailStarted"> {}
/**
 * A guardrail gave its verdict, or gave none: then `verdict` is `Interrupted`, also after a defect. `started` is the `sequence` of its
 * start. `reason` is present unless the verdict is `Pass` or `Interrupted`. The last guardrail that ran, and the last one before parallel
 * guardrails, may also carry `replaced`: the user's words or the call's parameters that the state holds instead of those that were judged;
 * `refused` is what the model reads of a call that isn't run. `duration` is in milliseconds.
 */
export interface GuardrailSettled extends Case<"GuardrailSettled"> {}
/** A limit was met that still lets the model answer once: `limit` says which limit, `text` is what the model is told. */
export interface LimitReached extends Case<"LimitReached"> {}
/**
 * Text was streamed before guardrails had judged all of it, and isn't the answer after all: `reason` says why. A page that shows it must
 * remove it.
 */
export interface TextWithdrawn extends Case<"TextWithdrawn"> {}
/** A handoff was requested: the other agent takes over once the other calls of the turn are settled. */
export interface HandoffRequested extends Case<"HandoffRequested"> {}
/** A policy's transform of the conversation failed. The conversation crosses without it. */
export interface TransformFailed extends Case<"TransformFailed"> {}
/**
 * Another agent took over. `conversation` is what crossed, and is missing if the whole conversation crossed unchanged. `systemMessage` is
 * the one that the state had, if it crossed. Later events have the new agent in their `path`.
 */
export interface HandoffCompleted extends Case<"HandoffCompleted"> {}
/**
 * The other agent didn't take over yet. The run ended or stopped first, and another `HandoffRequested` follows if it continues; or a mode's set-up or clean-up talks
 * to the agent first, and another `HandoffRequested` follows.
 */
export interface HandoffSuspended extends Case<"HandoffSuspended"> {}
/**
 * A mode is being entered: it is on the stack, and its set-up runs next. With `isResumed` it was on the stack already. `stack` names the
 * entered modes in all events of modes, the innermost last; one that was left isn't in it.
 */
export interface ModeEntering extends Case<"ModeEntering"> {}
/** A mode was entered. `duration` is how long that took, in milliseconds; `note` is what the model is told if it continues. */
export interface ModeEntered extends Case<"ModeEntered"> {}
/** A mode is being left: it is still on the stack, and its clean-up runs next. */
export interface ModeExiting extends Case<"ModeExiting"> {}
/**
 * A mode was left, or is kept because its clean-up said so. `duration` is how long it was entered, in milliseconds; `note` is what the
 * model is told if it continues. With `endsRun` the run's question and answer stay in the conversation, even if the mode was a fork.
 */
export interface ModeExited extends Case<"ModeExited"> {}
/**
 * A mode's set-up, body or clean-up failed, or was interrupted (then `tag` is `Interrupted`). The effects of a failed set-up on the state
 * are undone, except for the steps and tokens that it used; with `isResumed` they stay, and so does the mode.
 */
export interface ModeFailed extends Case<"ModeFailed"> {}
/** A move between modes was requested, or withdrawn by `Stay`. The latest request is carried out before the model is asked next. */
export interface ModeTransitionRequested extends Case<"ModeTransitionRequested"> {}
/**
 * The state was changed by hand: a mode's value, a piece of the prompt, the conversation settings, the view of the conversation, or a pin.
 * `mode` is the place of the mode in the stack, from 0 at the bottom; it is missing if the mode is the innermost.
 */
export interface StateAdjusted extends Case<"StateAdjusted"> {}
/** A step ended, with success or not. With `endsRun` it was taken by `Agent.step`, and left nothing to do. */
export interface StepCompleted extends Case<"StepCompleted"> {}
/** The run ended, or stopped for approvals or results. `state` says which. */
export interface RunCompleted extends Case<"RunCompleted"> {}
/** The run was interrupted, or a limit of an agent that called this one stopped it; `state` can be resumed. */
export interface RunInterrupted extends Case<"RunInterrupted"> {}
/** The run failed; `state` is `Failed` and can be reopened. */
export interface RunFailed extends Case<"RunFailed"> {}

/**
 * What happened in a run.
 *
 * In every event `run` is the id of its run, `path` names the agents from the outermost to the one it happened in, and `calls` are the
 * calls that lead there. `step` counts that agent's answers, from 0 and anew after an input or a handoff. `sequence` grows by one from
 * event to event of one operation, and `at` is the time in epoch milliseconds.
 *
 * @category models
 * @since 0.1.0
 */
export type AgentEvent =
  | RunStarted
  | InputGiven
  | ToolInvoked
  | StepStarted
  | ConversationSummarized
  | ModelCallStarted
  | TextDelta
  | ReasoningDelta
  | ToolParamsDelta
  | ModelResponded
  | ModelCallFailed
  | ApprovalRequested
  | CallApproved
  | CallDenied
  | ToolCallStarted
  | ResultAwaited
  | ResultGiven
  | ToolCallProgressed
  | ToolCallSuspended
  | ToolCallSettled
  | FeedbackGiven
  | GuardrailStarted
  | GuardrailSettled
  | LimitReached
  | TextWithdrawn
  | HandoffRequested
  | TransformFailed
  | HandoffCompleted
  | HandoffSuspended
  | ModeEntering
  | ModeEntered
  | ModeExiting
  | ModeExited
  | ModeFailed
  | ModeTransitionRequested
  | StateAdjusted
  | StepCompleted
  | RunCompleted
  | RunInterrupted
  | RunFailed

/**
 * Which events end what an event started, as data.
 *
 * A `ToolCallSettled` may come without a start. Either the call never ran: for example, it had no tool or invalid parameters, was
 * blocked, asked for a handoff, moved between modes, or its run stopped first. Or its result came later, and `ResultAwaited` ended the
 * start. A `ModeFailed` ends a `ModeEntering` only if its `phase` is `SetUp`.
 *
 * @category constants
 * @since 0.1.0
 */
export const starts: {
  readonly [
    Tag in
      | "RunStarted"
      | "StepStarted"
      | "ModelCallStarted"
      | "ToolCallStarted"
      | "GuardrailStarted"
      | "HandoffRequested"
      | "ModeEntering"
      | "ModeExiting"
  ]: ReadonlyArray<AgentEvent["_tag"]>
} = EventStarts.starts

/**
 * Checks whether an event ends the whole run, and not only the run of an agent that was called. The event's `state` is the last one; events
 * of a conversation on a cluster have none.
 *
 * @category guards
 * @since 0.1.0
 */
export const isRunEnd = <Event extends Pick<AgentEvent, "_tag" | "calls">>(
  event: Event
): event is Extract<Event, Pick<RunCompleted | RunInterrupted | RunFailed, "_tag">> =>
  event.calls.length === 0 && starts.RunStarted.includes(event._tag)
