/**
 * The one error of a run: what went wrong, and the state it went wrong in.
 *
 * The `reason` is a closed union, so `Effect.catchReason("AgentError", "StepLimitReached", …)` picks one. The `state` is
 * `Failed`, holds everything that was done, and can be stored, shown, reopened and resumed.
 *
 * @since 0.1.0
 */
import * as AiError from "effect/ai/AiError"
import { NodeInspectSymbol } from "effect/Inspectable"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import { listOf, showShortly } from "./Described.ts"
import { Stage } from "./GuardrailStage.ts"
import type { AgentState } from "./StateSchema.ts"

/**
 * The model gave no answer, after all its attempts.
 *
 * @category errors
 * @since 0.1.0
 */
export class ModelCallFailed extends Schema.TaggedError<ModelCallFailed>("troupe/domain/AgentError/ModelCallFailed")(
  "ModelCallFailed",
  { agent: Schema.String, step: Schema.Int, attempts: Schema.Int, error: AiError.AiError }
) {
  override get message(): string {
    const attempts = this.attempts === 1 ? "1 attempt" : `${this.attempts} attempts`
    return `The model of agent "${this.agent}" gave no answer in step ${this.step} after ${attempts}: ${this.error.message}`
  }
}

/**
 * The run took all the steps that it may take.
 *
 * @category errors
 * @since 0.1.0
 */
export class StepLimitReached extends Schema.TaggedError<StepLimitReached>("troupe/domain/AgentError/StepLimitReached")(
  "StepLimitReached",
  { agent: Schema.String, limit: Schema.Number, steps: Schema.Int }
) {
  override get message(): string {
    return `Agent "${this.agent}" reached its limit of ${this.limit} steps`
  }
}

/**
 * The run used up a budget: tokens, milliseconds, money, or calls, of one `tool` or of all. With `unpriced` it isn't known what so many
 * requests cost, and `used` is the rest.
 *
 * @category errors
 * @since 0.1.0
 */
export class BudgetExceeded extends Schema.TaggedError<BudgetExceeded>("troupe/domain/AgentError/BudgetExceeded")(
  "BudgetExceeded",
  {
    agent: Schema.String,
    budget: Schema.Literals(["tokens", "duration", "cost", "toolCalls"]),
    limit: Schema.Number,
    used: Schema.Number,
    tool: Schema.optionalKey(Schema.String),
    unpriced: Schema.optionalKey(Schema.Int)
  }
) {
  override get message(): string {
    const { limit, tool, unpriced, used } = this
    const what = {
      tokens: `used ${used} of ${limit} tokens`,
      duration: `ran for ${used} of ${limit} ms`,
      toolCalls: `made ${used} of ${limit} calls${tool === undefined ? "" : ` of "${tool}"`}`,
      cost: unpriced === undefined
        ? `cost ${used} of ${limit}`
        : `cost at least ${used} of ${limit}: the price of ${unpriced} request${unpriced === 1 ? "" : "s"} isn't known`
    }
    return `Agent "${this.agent}" ${what[this.budget]}`
  }
}

/**
 * The input can't be given to a model.
 *
 * @category errors
 * @since 0.1.0
 */
export class InputRejected extends Schema.TaggedError<InputRejected>("troupe/domain/AgentError/InputRejected")(
  "InputRejected",
  { agent: Schema.String, issue: Schema.Literals(["Empty", "TooLong"]), length: Schema.Int, limit: Schema.Int }
) {
  override get message(): string {
    return this.issue === "Empty"
      ? `Agent "${this.agent}" was given an empty input`
      : `Agent "${this.agent}" was given an input of ${this.length} characters; its limit is ${this.limit}`
  }
}

/**
 * What has to be sent, whatever is left out, is more than the agent's context window has room for.
 *
 * Of tokens, tools and system message count, and `limit` is what isn't reserved; they are estimated where nothing counts them.
 *
 * @category errors
 * @since 0.1.0
 */
export class ContextWindowExceeded
  extends Schema.TaggedError<ContextWindowExceeded>("troupe/domain/AgentError/ContextWindowExceeded")(
    "ContextWindowExceeded",
    {
      agent: Schema.String,
      unit: Schema.Literals(["tokens", "turns"]),
      limit: Schema.Number,
      needed: Schema.Number,
      over: Schema.Number,
      isEstimated: Schema.Boolean
    }
  )
{
  override get message(): string {
    return `Agent "${this.agent}" has to send ${this.isEstimated ? "about " : ""}${this.needed} ${this.unit}; ` +
      `its context window has room for ${this.limit}, which is ${this.over} less`
  }
}

/**
 * The model's answer didn't fit the agent's output schema, after all corrections.
 *
 * @category errors
 * @since 0.1.0
 */
export class OutputInvalid extends Schema.TaggedError<OutputInvalid>("troupe/domain/AgentError/OutputInvalid")(
  "OutputInvalid",
  { agent: Schema.String, corrections: Schema.Int, issue: Schema.String }
) {
  override get message(): string {
    return `The answer of agent "${this.agent}" doesn't fit its output schema after ${this.corrections} corrections: ${this.issue}`
  }
}

/**
 * A guardrail blocked what it stands on.
 *
 * @category errors
 * @since 0.1.0
 */
export class GuardrailBlocked extends Schema.TaggedError<GuardrailBlocked>("troupe/domain/AgentError/GuardrailBlocked")(
  "GuardrailBlocked",
  { agent: Schema.String, guardrail: Schema.String, stage: Stage, reason: Schema.String }
) {
  override get message(): string {
    return `Guardrail "${this.guardrail}" of agent "${this.agent}" blocked the ${this.stage}: ${this.reason}`
  }
}

/**
 * The agent that should take over isn't there.
 *
 * @category errors
 * @since 0.1.0
 */
export class HandoffTargetNotFound
  extends Schema.TaggedError<HandoffTargetNotFound>("troupe/domain/AgentError/HandoffTargetNotFound")(
    "HandoffTargetNotFound",
    { agent: Schema.String, target: Schema.String, available: Schema.Array(Schema.String) }
  )
{
  override get message(): string {
    return `Agent "${this.agent}" can't hand over to "${this.target}"; available: ${listOf(this.available)}`
  }
}

/**
 * The run changed hands as often as it may.
 *
 * @category errors
 * @since 0.1.0
 */
export class HandoffLimitReached
  extends Schema.TaggedError<HandoffLimitReached>("troupe/domain/AgentError/HandoffLimitReached")(
    "HandoffLimitReached",
    { limit: Schema.Int, trail: Schema.Array(Schema.String) }
  )
{
  override get message(): string {
    return `The run reached its limit of ${this.limit} handoffs: ${this.trail.join(" → ")}`
  }
}

/**
 * A state names an agent, a tool or a mode that the given definition doesn't have.
 *
 * @category errors
 * @since 0.1.0
 */
export class AgentMismatch extends Schema.TaggedError<AgentMismatch>("troupe/domain/AgentError/AgentMismatch")(
  "AgentMismatch",
  {
    agent: Schema.String,
    missing: Schema.Literals(["agent", "tool", "mode"]),
    wanted: Schema.String,
    available: Schema.Array(Schema.String)
  }
) {
  override get message(): string {
    return `The state names the ${this.missing} "${this.wanted}", which agent "${this.agent}" doesn't have; available: ${
      listOf(this.available)
    }`
  }
}

/**
 * A move between modes that was asked for can't be taken.
 *
 * @category errors
 * @since 0.1.0
 */
export class ModeFailed extends Schema.TaggedError<ModeFailed>("troupe/domain/AgentError/ModeFailed")("ModeFailed", {
  agent: Schema.String,
  mode: Schema.String,
  issue: Schema.String
}) {
  override get message(): string {
    return `Agent "${this.agent}" can't enter mode "${this.mode}": ${this.issue}`
  }
}

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

/** A state in an error isn't checked part by part: it came from the run that failed. */
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
export class AgentError extends Schema.TaggedError<AgentError>("troupe/domain/AgentError")("AgentError", {
  state: State,
  reason: Reason
}) {
  override get message(): string {
    return this.reason.message
  }
  /** The state alone has a hundred lines. */
  constructor(fields: { readonly state: AgentState; readonly reason: Reason }, options?: Schema.MakeOptions) {
    super(fields, options)
    showShortly(
      this,
      `\`reason\` is ${this.reason._tag}; \`state\` has all that was said and done (\`AgentState.toJson\`)`
    )
  }
  override [NodeInspectSymbol](): string {
    return this.stack ?? this.message
  }
}

/**
 * Checks whether something is the error of a run.
 *
 * @category guards
 * @since 0.1.0
 */
export const isAgentError = (u: unknown): u is AgentError => Predicate.isTagged(u, "AgentError")
