/**
 * What happened in a run, one value for each thing, in the past tense.
 *
 * 1. `AgentState.reduce` takes events in; the state after a run is the fold of its events over the state before it.
 * 2. Every start has exactly one end, whatever happens: `starts` says which ends which.
 * 3. Some change no state, such as `TextDelta` and whatever else only starts or shows something: `reduce` lists them.
 * 4. `sequence` grows by one from event to event of a run, the events of called agents included.
 *
 * @since 0.1.0
 */
import * as Response from "effect/ai/Response"
import * as Exit from "effect/Exit"
import * as Schema from "effect/Schema"
import { Adjustment } from "./Adjustment.ts"
import { Failure, HandoffRequest } from "./AgentStatus.ts"
import { Stage } from "./GuardrailStage.ts"
import { Isolation } from "./Isolation.ts"
import { ModeTransition } from "./ModeTransition.ts"
import * as Part from "./Part.ts"
import { AgentState, AssistantPart, Blocked, CallState, Conversation, Outcome } from "./StateSchema.ts"
import { Summarized } from "./Summarized.ts"
import { RequestUsage } from "./Usage.ts"

const Count = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))

/** Events that were stored before runs had ids are of a run without one. */
const run = Schema.String.pipe(
  Schema.withDecodingDefaultKey(Exit.succeed("")),
  Schema.withConstructorDefault(Exit.succeed(""))
)

/**
 * Fields that every event has.
 *
 * `run` is the id of its run, `path` names the agents from the outermost to the one it happened in, `calls` the calls that lead
 * there (one less than `path` has names), `step` is the iteration of that agent's loop, from 0, and `at` the time in epoch
 * milliseconds.
 */
const envelope = {
  run,
  path: Schema.NonEmptyArray(Schema.String),
  calls: Schema.Array(Schema.String),
  step: Count,
  sequence: Count,
  at: Schema.Int
}

/** `stack` names the modes that are entered, the innermost last. One that is being entered or left is among them, one that was left isn't. */
const mode = { name: Schema.NonEmptyString, stack: Schema.Array(Schema.String), params: Schema.Json }

const call = { callId: Schema.NonEmptyString, name: Schema.String }

/** What something failed with, in words. */
const error = { tag: Schema.String, message: Schema.String }

/** `callId` is there where the guardrail looks at a call, its result, or a handoff that a call asks for. */
const guardrail = { guardrail: Schema.NonEmptyString, stage: Stage, callId: Schema.optionalKey(Schema.NonEmptyString) }

/**
 * Schema for what a context window made of a request: how many turns were sent as they are, and how many weren't, because they
 * were left out, summarized or changed. Where it counts tokens, `tokens` is how many it took the request for, tools and system
 * message included, and `by` how it counted: by a function, by the provider's `Tokenizer`, or by an estimate.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Window = Schema.Struct({
  turns: Count,
  left: Count,
  tokens: Schema.optionalKey(Count),
  by: Schema.optionalKey(Schema.Literals(["count", "tokenizer", "estimate"]))
})

/** What a context window made of a request. */
export interface Window extends Schema.Schema.Type<typeof Window> {}

/**
 * Schema for where a run begins: how many turns the conversation had, how often models had answered, and how many events came
 * before, if the keeper of the log knows.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Position = Schema.Struct({ turns: Count, steps: Count, events: Schema.optionalKey(Count) })

/** Where a run begins. */
export interface Position extends Schema.Schema.Type<typeof Position> {}

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
  ApprovalRequested: { ...envelope, ...call, params: Schema.Json },
  CallApproved: { ...envelope, ...call, params: Schema.optionalKey(Schema.Json) },
  CallDenied: { ...envelope, ...call, reason: Schema.String },
  ToolCallStarted: { ...envelope, ...call, params: Schema.Json, asked: Schema.optionalKey(Schema.Json) },
  ToolCallProgressed: { ...envelope, ...call, result: Schema.Json },
  ToolCallSuspended: { ...envelope, ...call },
  ToolCallSettled: {
    ...envelope,
    ...call,
    outcome: Outcome,
    result: Schema.Json,
    modelOutput: CallState.cases.Settled.fields.modelOutput,
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
      Schema.Struct({ params: Schema.Json })
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
 * A run began with `input`, or went on where it had stopped, when there is none. One that had ended was reopened first if it
 * `isReopened`. `position` says what a reader lacks who begins here. If guardrails look at the input, it is what they made of it, and
 * `blocked` says who let it not pass.
 */
export interface RunStarted extends Case<"RunStarted"> {}
/** A step began: one answer of the model and the calls in it. */
export interface StepStarted extends Case<"StepStarted"> {}
/** A mode, on its way in or out, said something in the user's place. */
export interface InputGiven extends Case<"InputGiven"> {}
/** A program called a tool as if the model had; `refused` says why guardrails didn't let that pass. */
export interface ToolInvoked extends Case<"ToolInvoked"> {}
/**
 * A text was made that a context window sends in the place of the first `upTo` turns, but for those `except`. `duration` is in
 * milliseconds; `usage` is there where a model made it, and `model` where that said its name.
 */
export interface ConversationSummarized extends Case<"ConversationSummarized"> {}
/**
 * The model was asked; `attempt` counts from 0 within the step. `window` says what the agent's context window made of the
 * request, where it has one.
 */
export interface ModelCallStarted extends Case<"ModelCallStarted"> {}
/** A piece of the model's text arrived. */
export interface TextDelta extends Case<"TextDelta"> {}
/** A piece of the model's reasoning arrived. */
export interface ReasoningDelta extends Case<"ReasoningDelta"> {}
/**
 * A piece of a call's parameters arrived, as JSON text. `callId` is the model's own; the call gets another one where
 * that is empty or taken.
 */
export interface ToolParamsDelta extends Case<"ToolParamsDelta"> {}
/**
 * The model's whole answer arrived; its calls are pending, or settled where the provider ran them. `counted` is how many tokens
 * a context window took the request for, before it was corrected by what the provider had reported. With `feedback` a
 * guardrail sent it back: the model reads that next.
 */
export interface ModelResponded extends Case<"ModelResponded"> {}
/**
 * The model gave no answer: `tag` is the reason of the `AiError`, or `Interrupted`, or `Defect`; or it gave one, for the tokens in
 * `usage`, that was blocked: `GuardrailBlocked`. One that `isBrokenOff` used tokens that nobody knows.
 */
export interface ModelCallFailed extends Case<"ModelCallFailed"> {}
/** A call waits for approval. */
export interface ApprovalRequested extends Case<"ApprovalRequested"> {}
/** Somebody approved a call, with other `params` than the model's if there are any. */
export interface CallApproved extends Case<"CallApproved"> {}
/** Somebody denied a call; the model reads the reason. */
export interface CallDenied extends Case<"CallDenied"> {}
/**
 * A call's handler, or the agent that answers the call, was started. `asked` is what the model had written, if somebody approved
 * the call with other parameters.
 */
export interface ToolCallStarted extends Case<"ToolCallStarted"> {}
/** A handler gave a preliminary result. */
export interface ToolCallProgressed extends Case<"ToolCallProgressed"> {}
/** The agent that answers the call stopped before its end, for an approval or a limit; the call stays open. */
export interface ToolCallSuspended extends Case<"ToolCallSuspended"> {}
/** A call has its result. A call that never started is settled without a start. `duration` is in milliseconds. */
export interface ToolCallSettled extends Case<"ToolCallSettled"> {}
/** Troupe told the model something, for example why an answer wasn't accepted. */
export interface FeedbackGiven extends Case<"FeedbackGiven"> {}
/** A guardrail began to look at something. */
export interface GuardrailStarted extends Case<"GuardrailStarted"> {}
/**
 * A guardrail gave its verdict, or was interrupted; `started` is the `sequence` of its start. `reason` says why it didn't simply
 * pass. The last that was asked says what stands in the state in the place of what they looked at, if anything `replaced` it: what a user
 * said in a turn, or the parameters of a call. `duration` is in milliseconds.
 */
export interface GuardrailSettled extends Case<"GuardrailSettled"> {}
/** A limit was met that lets the model answer once more: `limit` says which, `text` is what the model is told. */
export interface LimitReached extends Case<"LimitReached"> {}
/** Text that was shown before the guardrails had seen all of it isn't the answer after all: a page that shows it takes it back. */
export interface TextWithdrawn extends Case<"TextWithdrawn"> {}
/** Another agent is to take over, once the other calls of the turn are settled. */
export interface HandoffRequested extends Case<"HandoffRequested"> {}
/** What a policy would make of the conversation on its way failed: it crosses without that. */
export interface TransformFailed extends Case<"TransformFailed"> {}
/** Another agent took over; `conversation` is there where not all of it crossed. Its own events name it in their path. */
export interface HandoffCompleted extends Case<"HandoffCompleted"> {}
/** The run ended before the other agent took over; the state still asks for it. */
export interface HandoffSuspended extends Case<"HandoffSuspended"> {}
/** A mode is about to be entered; it is on the stack, and its set-up runs next. A resumed one was on it already. */
export interface ModeEntering extends Case<"ModeEntering"> {}
/** A mode was entered. `duration` is how long that took, in milliseconds; `note` is what a model is told that goes on. */
export interface ModeEntered extends Case<"ModeEntered"> {}
/** A mode is about to be left; it is on the stack, and its clean-up runs next. */
export interface ModeExiting extends Case<"ModeExiting"> {}
/**
 * A mode was left, or is kept because its clean-up said so. `duration` is how long it was entered, in milliseconds; `note` is
 * what a model is told that goes on. Where it `endsRun`, the run's question and its answer stay, also out of a fork.
 */
export interface ModeExited extends Case<"ModeExited"> {}
/** A mode's set-up, body or clean-up failed, or was interrupted. What a set-up did is undone. */
export interface ModeFailed extends Case<"ModeFailed"> {}
/** Somebody asked for a move between modes; the latest is taken before the next request to the model. */
export interface ModeTransitionRequested extends Case<"ModeTransitionRequested"> {}
/**
 * The state was changed by hand: a mode's value, a piece of the prompt, the settings, the view of the conversation. `mode` says
 * for which of the modes that are entered, from 0 at the bottom, where that isn't the innermost: one that is set up again.
 */
export interface StateAdjusted extends Case<"StateAdjusted"> {}
/** A step ended, well or not. Where it `endsRun`, a step that was taken by hand found nothing left to do. */
export interface StepCompleted extends Case<"StepCompleted"> {}
/** The run ended, or stopped for approvals, or had ended before it was resumed, maybe `Failed`; `state` says which. */
export interface RunCompleted extends Case<"RunCompleted"> {}
/** The run was interrupted; `state` can be resumed. */
export interface RunInterrupted extends Case<"RunInterrupted"> {}
/** The run failed; `state` is `Failed` and can be reopened. */
export interface RunFailed extends Case<"RunFailed"> {}

/**
 * What happened in a run.
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
 * A `ToolCallSettled` may come without a start: the call had no tool, no valid parameters, or no permission to run. A
 * `ModeFailed` ends an entering in the phase `SetUp` only.
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
} = {
  RunStarted: ["RunCompleted", "RunInterrupted", "RunFailed"],
  StepStarted: ["StepCompleted"],
  ModelCallStarted: ["ModelResponded", "ModelCallFailed"],
  ToolCallStarted: ["ToolCallSettled", "ToolCallSuspended"],
  GuardrailStarted: ["GuardrailSettled"],
  HandoffRequested: ["HandoffCompleted", "HandoffSuspended"],
  ModeEntering: ["ModeEntered", "ModeFailed"],
  ModeExiting: ["ModeExited"]
}

/**
 * Checks whether an event ends the whole run, not that of an agent that was called. Its `state` is the last one.
 *
 * @category guards
 * @since 0.1.0
 */
export const isRunEnd = (event: AgentEvent): event is RunCompleted | RunInterrupted | RunFailed =>
  event.calls.length === 0 && isEnd(event)

const isEnd = AgentEvent.isAnyOf(["RunCompleted", "RunInterrupted", "RunFailed"])
