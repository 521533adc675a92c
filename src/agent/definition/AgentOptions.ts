/**
 * The options of an agent, and what its type collects from them.
 *
 * @since 0.1.0
 */
import type * as AiError from "effect/ai/AiError"
import type * as LanguageModel from "effect/ai/LanguageModel"
import type * as Tool from "effect/ai/Tool"
import type * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Schedule from "effect/Schedule"
import type * as Schema from "effect/Schema"
import type * as AgentState from "../../domain/AgentState.ts"
import type * as Handoff from "../../handoff/Handoff.ts"
import type { AnyToolkit, ToolOf } from "../../modes/AnyToolkit.ts"
import type * as Mode from "../../modes/ModeType.ts"
import type { AnyAsTool, AsTool } from "./AgentTool.ts"
import type { StopWhen } from "./StopWhen.ts"
import type { ContextWindow } from "./window/WindowType.ts"

/** The tool of an agent with an output schema. An agent without one has no encoded output. */
type AnswerName<EncodedOutput> = unknown extends EncodedOutput ? never : "final_answer"
type HandoffName<T> = T extends { readonly toolName: infer Name extends string } ? Name : never
type AgentName<T> = T extends AsTool<infer Name, unknown> ? Name : never
export type AgentServices<T> = T extends AsTool<string, infer R> ? R : never

/**
 * Options of an agent; everything is optional.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options<
  Kit extends AnyToolkit,
  Fatal extends string,
  Agents extends ReadonlyArray<AnyAsTool>,
  Handoffs extends ReadonlyArray<Handoff.AnyOffer>,
  Modes extends ReadonlyArray<Mode.Any>,
  Output,
  EncodedOutput,
  InstructionsE,
  InstructionsR,
  RetryE,
  RetryR,
  Guards,
  WindowE,
  WindowR
> {
  /** What the agent is for, in words for the models of other agents; none by default. */
  readonly description?: string | undefined
  /**
   * The system message: a text, or a function of the state that returns one, directly or in an Effect. The function is called for each
   * request. None by default.
   */
  readonly instructions?:
    | string
    | ((state: AgentState.AgentState) => string | Effect.Effect<string, InstructionsE, InstructionsR>)
    | undefined
  /** Tools of the agent; none by default. Their handlers come from the environment, unless the toolkit has handlers. */
  readonly toolkit?: Kit | undefined
  /** Agents that this agent may call as tools, made by `Agent.asTool`; none by default. */
  readonly agents?: Agents | undefined
  /** Agents that may take the conversation over, made by `Handoff.to` or `Handoff.suspend`; none by default. */
  readonly handoffs?: Handoffs | undefined
  /** Modes of the agent, made by `Mode.make`; none by default. Its model can enter those that are invokable. */
  readonly modes?: Modes | undefined
  /**
   * How often a run that begins with this agent may change hands; 10 times by default. One more handoff fails it with
   * `HandoffLimitReached`.
   */
  readonly maxHandoffs?: number | undefined
  /** Names of tools whose own typed error fails the run; none by default. The model reads the errors of all other tools. */
  readonly fatal?: ReadonlyArray<Fatal> | undefined
  /**
   * When a run stops; `StopWhen.maxSteps(20)` by default. The 20 steps apply too unless this has a limit that every run must reach at some
   * time: `maxSteps`, `toolCalls(n)`, `duration`, or `cost` if none of its prices is 0 for all tokens. With `tokens` alone, only answers
   * whose tokens weren't reported count as such steps.
   */
  readonly stopWhen?: StopWhen | undefined
  /** How many calls of a turn run at once, at least 1; 10 by default. */
  readonly toolConcurrency?: number | "unbounded" | undefined
  /**
   * Which tools the model must or may use; `"auto"` by default. A choice that forces a call applies only to the first request after an
   * input or a handoff.
   */
  readonly toolChoice?:
    | LanguageModel.ToolChoice<
      NoInfer<
        Tool.Name<ToolOf<Kit>> | AgentName<Agents[number]> | AnswerName<EncodedOutput> | HandoffName<Handoffs[number]>
      >
    >
    | undefined
  /** Request settings: services that each request runs with, such as a provider's configuration of its model; none by default. */
  readonly settings?: Context.Context<never> | undefined
  /** When to ask the model again after a failure that `AiError` calls retryable; never by default. */
  readonly retry?: Schedule.Schedule<unknown, AiError.AiError, RetryE, RetryR> | undefined
  /** What the agent's answer must be; text by default. Read it by `AgentState.output`. */
  readonly output?: Schema.Codec<Output, EncodedOutput> | undefined
  /**
   * How often a run sends an answer back to the model because it doesn't fit `output`, or because a guardrail wants another one; once by
   * default. After that the run fails with `OutputInvalid` or `GuardrailBlocked`.
   */
  readonly outputRetries?: number | undefined
  /** How much of the conversation each request sends, made by `ContextWindow.make`; all of it by default. */
  readonly contextWindow?: ContextWindow<WindowE, WindowR> | undefined
  /** How many characters the text of an input may have; 1,000,000 by default. A longer one fails the run with `InputRejected`. */
  readonly maxInputLength?: number | undefined
  /** Guardrails on inputs, answers, calls, results and handoffs; none by default. */
  readonly guardrails?: Guards | undefined
}
