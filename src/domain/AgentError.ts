/**
 * The error with which Troupe fails a run: what went wrong, and the state it went wrong in.
 *
 * The `reason` is a closed union, so `Effect.catchReason("AgentError", "StepLimitReached", …)` picks one. The `state` is
 * `Failed`, holds everything that was done, and can be stored, shown, reopened and resumed.
 *
 * @since 0.1.0
 */
import * as AiError from "effect/ai/AiError"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import { counted, listOf } from "./Described.ts"
import { ErrorClass, showShortly, StateErrorClass } from "./ErrorClass.ts"
import { Stage } from "./GuardrailStage.ts"
import type { AgentState } from "./StateSchema.ts"

/**
 * The model gave no answer, after all its attempts.
 *
 * `step` counts from 0. `attempts` is how often a model was asked, and `error` is what the last attempt failed with.
 *
 * @category errors
 * @since 0.1.0
 */
export class ModelCallFailed extends ErrorClass<ModelCallFailed>("troupe/domain/AgentError")(
  "ModelCallFailed",
  {
    agent: Schema.String,
    step: Schema.Int,
    attempts: Schema.Int,
    error: AiError.AiError
  },
  ({ agent, attempts, error, step }) =>
    `The model of agent "${agent}" gave no answer in step ${step + 1} after ${
      counted(attempts, "attempt")
    }: ${error.message}`
) {}

/**
 * The run took all the steps that it may take.
 *
 * `agent` is whose limit it is. `steps` counts the answers of the agents that it called too.
 *
 * @category errors
 * @since 0.1.0
 */
export class StepLimitReached extends ErrorClass<StepLimitReached>("troupe/domain/AgentError")("StepLimitReached", {
  agent: Schema.String,
  limit: Schema.Number,
  steps: Schema.Int
}, ({ agent, limit }) => `Agent "${agent}" reached its limit of ${counted(limit, "step")}`) {}

/**
 * The run used up a budget of `agent`: tokens, milliseconds, money, or calls, of one `tool` or of all.
 *
 * A cost budget counts as used up too if the cost of a request is unknown. `unpriced` is the number of such requests, if there are any;
 * `used` doesn't include them.
 *
 * @category errors
 * @since 0.1.0
 */
export class BudgetExceeded extends ErrorClass<BudgetExceeded>("troupe/domain/AgentError")("BudgetExceeded", {
  agent: Schema.String,
  budget: Schema.Literals(["tokens", "duration", "cost", "toolCalls"]),
  limit: Schema.Number,
  used: Schema.Number,
  tool: Schema.optionalKey(Schema.String),
  unpriced: Schema.optionalKey(Schema.Int)
}, ({ agent, budget, limit, tool, unpriced, used }) => {
  const what = {
    tokens: `used ${used} of ${limit} tokens`,
    duration: `ran for ${used} of ${limit} ms`,
    toolCalls: `made ${used} of ${limit} calls${tool === undefined ? "" : ` of "${tool}"`}`,
    cost: unpriced === undefined
      ? `cost ${used} of ${limit}`
      : `cost at least ${used} of ${limit}: the price of ${counted(unpriced, "request")} isn't known`
  }
  return `Agent "${agent}" ${what[budget]}`
}) {}

/**
 * The input can't be given to a model: there is neither a word nor a file (`Empty`), or the text has more than `limit` characters
 * (`TooLong`). `length` is how many it has.
 *
 * @category errors
 * @since 0.1.0
 */
export class InputRejected extends ErrorClass<InputRejected>("troupe/domain/AgentError")("InputRejected", {
  agent: Schema.String,
  issue: Schema.Literals(["Empty", "TooLong"]),
  length: Schema.Int,
  limit: Schema.Int
}, ({ agent, issue, length, limit }) =>
  issue === "Empty"
    ? `Agent "${agent}" was given an empty input`
    : `Agent "${agent}" was given an input of ${length} characters; its limit is ${limit}`)
{}

/**
 * The turns that can't be left out are more than the agent's context window has room for.
 *
 * In tokens, tools and the system message count too, and `limit` is the window without what is reserved. Tokens are estimated if nothing
 * counts them.
 *
 * @category errors
 * @since 0.1.0
 */
export class ContextWindowExceeded extends ErrorClass<ContextWindowExceeded>("troupe/domain/AgentError")(
  "ContextWindowExceeded",
  {
    agent: Schema.String,
    unit: Schema.Literals(["tokens", "turns"]),
    limit: Schema.Number,
    needed: Schema.Number,
    over: Schema.Number,
    isEstimated: Schema.Boolean
  },
  ({ agent, isEstimated, limit, needed, over, unit }) =>
    `Agent "${agent}" has to send ${isEstimated ? "about " : ""}${needed} ${unit}; ` +
    `its context window has room for ${limit}, which is ${over} less`
) {}

/**
 * The model's answer didn't fit the agent's output schema, after all corrections.
 *
 * @category errors
 * @since 0.1.0
 */
export class OutputInvalid extends ErrorClass<OutputInvalid>("troupe/domain/AgentError")(
  "OutputInvalid",
  { agent: Schema.String, corrections: Schema.Int, issue: Schema.String },
  ({ agent, corrections, issue }) =>
    `The answer of agent "${agent}" doesn't fit its output schema after ${counted(corrections, "correction")}: ${issue}`
) {}

const inWords: { readonly [On in Stage]: string } = {
  input: "input",
  output: "output",
  toolCall: "tool call",
  toolResult: "tool result",
  handoff: "handoff"
}

/**
 * A guardrail blocked an input, an answer, a handoff that a group's policy decided on, or the error of a fatal tool.
 *
 * `agent` is whose guardrail it is. Any other call, result or handoff that is blocked fails its call and not the run. A guardrail whose
 * check fails or takes too long blocks too, unless its `onError` is `"pass"`.
 *
 * @category errors
 * @since 0.1.0
 */
export class GuardrailBlocked extends ErrorClass<GuardrailBlocked>("troupe/domain/AgentError")(
  "GuardrailBlocked",
  { agent: Schema.String, guardrail: Schema.String, stage: Stage, reason: Schema.String },
  ({ agent, guardrail, reason, stage }) =>
    `Guardrail "${guardrail}" of agent "${agent}" blocked the ${inWords[stage]}: ${reason}`
) {}

/**
 * A fatal tool failed, its run stopped before it could end, and the run that continues can't read the tool's own error from the call's
 * result. `error` has the tag and the message of that error.
 *
 * @category errors
 * @since 0.1.0
 */
export class ToolFailed extends ErrorClass<ToolFailed>("troupe/domain/AgentError")("ToolFailed", {
  agent: Schema.String,
  tool: Schema.String,
  callId: Schema.String,
  error: Schema.Struct({ tag: Schema.NonEmptyString, message: Schema.String })
}, ({ agent, error, tool }) => `The fatal tool "${tool}" of agent "${agent}" failed: ${error.message}`) {}

/**
 * The agent that should take over isn't there, or with `group` the agent that this group's picker chose to begin. `available` names the
 * agents that are.
 *
 * @category errors
 * @since 0.1.0
 */
export class HandoffTargetNotFound extends ErrorClass<HandoffTargetNotFound>("troupe/domain/AgentError")(
  "HandoffTargetNotFound",
  {
    agent: Schema.String,
    target: Schema.String,
    available: Schema.Array(Schema.String),
    group: Schema.optional(Schema.String)
  },
  ({ agent, available, group, target }) =>
    `${
      group === undefined
        ? `Agent "${agent}" can't hand over to "${target}"`
        : `The picker of group "${group}" chose "${target}", which isn't there`
    }; available: ${listOf(available)}`
) {}

/**
 * The run reached its limit of handoffs. `trail` names the agents that were in control, in order.
 *
 * @category errors
 * @since 0.1.0
 */
export class HandoffLimitReached
  extends ErrorClass<HandoffLimitReached>("troupe/domain/AgentError")("HandoffLimitReached", {
    limit: Schema.Int,
    trail: Schema.Array(Schema.String)
  }, ({ limit, trail }) => `The run reached its limit of ${counted(limit, "handoff")}: ${trail.join(" → ")}`)
{}

/**
 * A state names an agent, a tool or a mode that the given agent doesn't have. `available` names those that it has.
 *
 * @category errors
 * @since 0.1.0
 */
export class AgentMismatch extends ErrorClass<AgentMismatch>("troupe/domain/AgentError")(
  "AgentMismatch",
  {
    agent: Schema.String,
    missing: Schema.Literals(["agent", "tool", "mode"]),
    wanted: Schema.String,
    available: Schema.Array(Schema.String)
  },
  ({ agent, available, missing, wanted }) =>
    `The state names the ${missing} "${wanted}", which agent "${agent}" doesn't have; available: ${listOf(available)}`
) {}

/**
 * A move between modes that was asked for can't be carried out, or an entered mode no longer accepts its stored parameters. `mode` is the
 * mode to enter, or `""` if the move enters none. A mode's set-up or clean-up that fails ends the run with its own error instead.
 *
 * @category errors
 * @since 0.1.0
 */
export class ModeFailed extends ErrorClass<ModeFailed>("troupe/domain/AgentError")(
  "ModeFailed",
  {
    agent: Schema.String,
    mode: Schema.String,
    issue: Schema.String
  },
  ({ agent, issue, mode }) =>
    `Agent "${agent}" can't ${mode === "" ? "leave its mode" : `enter mode "${mode}"`}: ${issue}`
) {}

/**
 * Schema for what went wrong in a run.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Reason = Schema.Union([
  ModelCallFailed,
  StepLimitReached,
  BudgetExceeded,
  InputRejected,
  ContextWindowExceeded,
  OutputInvalid,
  GuardrailBlocked,
  ToolFailed,
  HandoffTargetNotFound,
  HandoffLimitReached,
  AgentMismatch,
  ModeFailed
])

/**
 * What went wrong in a run.
 *
 * @category models
 * @since 0.1.0
 */
export type Reason = typeof Reason.Type

/** The state in an error isn't validated: it came from the run that failed. */
const State = Schema.declare(
  (u): u is AgentState => Predicate.hasProperty(u, "conversation") && Predicate.hasProperty(u, "status"),
  { identifier: "AgentState" }
)

/**
 * The error of a run: the `reason`, and the `state` it happened in.
 *
 * @category errors
 * @since 0.1.0
 */
export class AgentError extends StateErrorClass<AgentError>("troupe/domain")("AgentError", {
  state: State,
  reason: Reason
}, ({ reason }) => reason.message) {
  constructor(fields: { readonly state: AgentState; readonly reason: Reason }, options?: Schema.MakeOptions) {
    super(fields, options)
    showShortly(
      this,
      `\`reason\` is ${this.reason._tag}; \`state\` has all that was said and done (\`AgentState.toJson\`)`
    )
  }
}

/**
 * Checks whether something is the error of a run.
 *
 * @category guards
 * @since 0.1.0
 */
export const isAgentError = (u: unknown): u is AgentError => Predicate.isTagged(u, "AgentError")
