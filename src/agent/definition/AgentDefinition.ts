/**
 * The definition of an agent, prepared once: everything that a step needs and that doesn't depend on the state.
 *
 * @since 0.1.0
 */
import type * as AiError from "effect/ai/AiError"
import type * as LanguageModel from "effect/ai/LanguageModel"
import type * as Tool from "effect/ai/Tool"
import type * as Toolkit from "effect/ai/Toolkit"
import type * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as ExecutionPlan from "effect/ExecutionPlan"
import type * as Schedule from "effect/Schedule"
import type { AgentState, User } from "../../domain/StateSchema.ts"
import type * as AgentPicker from "../../handoff/AgentPicker.ts"
import type * as Handoff from "../../handoff/Handoff.ts"
import type * as HandoffPolicy from "../../handoff/HandoffPolicy.ts"
import type * as Runnable from "../../handoff/Runnable.ts"
import type * as ModeType from "../../modes/ModeType.ts"
import type { Codec } from "./Codec.ts"
import type { AgentGuardrails } from "./guardrail/AgentGuardrails.ts"
import type { ModelLayer } from "./ModelLayer.ts"
import type { OutputCodec, OutputTool } from "./OutputCodec.ts"
import type { StopWhen } from "./StopWhen.ts"
import type { ToolPolicy } from "./ToolPolicy.ts"
import type * as ContextWindow from "./window/WindowType.ts"

/** A tool whose calls a handler answers: one of the environment, or `handle` of a toolkit that has its own. */
export interface HandledTool {
  readonly _tag: "Handled"
  readonly tool: Tool.Any
  readonly policy: ToolPolicy
  readonly isFatal: boolean
  readonly decode: Codec
  readonly encodeSuccess: Codec
  readonly decodeSuccess: Codec
  readonly encodeFailure: Codec
  readonly handle: Toolkit.WithHandler<Record<string, Tool.Any>>["handle"] | undefined
  readonly encodeParams: Codec
  /** The modes that bring the tool, if it isn't the agent's own. */
  readonly modes?: ReadonlyArray<string>
}

/** A tool whose calls another agent answers. */
export interface AgentTool {
  readonly _tag: "Agent"
  readonly tool: Tool.Any
  readonly policy: ToolPolicy
  readonly decode: Codec
  readonly agent: Runnable.Any
  readonly roster: () => Roster
  readonly toInput: (params: unknown) => User["parts"]
}

/** A tool whose call lets another agent take over. */
export interface HandoffTool {
  readonly _tag: "Handoff"
  readonly tool: Tool.Any
  readonly handoff: Handoff.Any
}

/** A tool whose call requests a move between modes: into `mode`, or out of the mode on top. */
export interface ModeTool {
  readonly _tag: "Mode"
  readonly tool: Tool.Any
  readonly mode: ModeType.Definition | undefined
  readonly decode: Codec
}

/** A mode of an agent, with the codecs of its parameters. */
export interface ModeEntry {
  readonly self: ModeType.Any
  readonly mode: ModeType.Definition
  readonly model: OwnModel | undefined
  readonly decode: Codec
  readonly encode: Codec
}

/** A tool whose calls have a result of their own. A handoff or a move between modes has none: it happens after the turn. */
export type RunTool = HandledTool | AgentTool | OutputTool

/** A tool of an agent, with what answers its calls. */
export type ToolEntry = RunTool | HandoffTool | ModeTool

/** The model that an agent or a mode has itself, instead of taking it from the environment. */
export type OwnModel =
  | { readonly _tag: "Layer"; readonly layer: ModelLayer }
  | { readonly _tag: "Plan"; readonly plan: Plan }

/** Models that are tried one after the other. */
export type Plan = ExecutionPlan.ExecutionPlan<
  { provides: LanguageModel.LanguageModel; input: AiError.AiError; error: unknown; requirements: unknown }
>

/** The text of an agent's system message, or a function that makes it from a state. */
type Instructions =
  | string
  | ((state: AgentState) => string | Effect.Effect<string, unknown, unknown>)

/** The definition of an agent. */
export interface Definition {
  readonly name: string
  /** The path of the agent's events, unless another agent has called it. Events share it, so it is frozen. */
  readonly path: readonly [name: string]
  readonly description: string | undefined
  readonly instructions: Instructions | undefined
  readonly tools: ReadonlyMap<string, ToolEntry>
  readonly toolChoice: LanguageModel.ToolChoice<string> | undefined
  readonly requests: Requests
  readonly modes: ReadonlyMap<string, ModeEntry>
  readonly models: ReadonlyMap<string, OwnModel>
  readonly maxHandoffs: number
  readonly stopWhen: StopWhen
  readonly toolConcurrency: number | "unbounded"
  readonly settings: Context.Context<never> | undefined
  readonly retry: Schedule.Schedule<unknown, AiError.AiError, unknown, unknown> | undefined
  readonly model: OwnModel | undefined
  readonly output: OutputCodec | undefined
  readonly outputRetries: number
  readonly maxInputLength: number
  readonly guardrails: AgentGuardrails
  readonly contextWindow: ContextWindow.Any | undefined
}

/** Marks an agent. */
export const TypeId = "~troupe/agent/Agent"

/** An agent, for code that needs only its definition. */
export interface Defined {
  readonly [TypeId]: { readonly definition: Definition }
}

/** The definition of an agent. */
export const definitionOf = (agent: Defined): Definition => agent[TypeId].definition

/** A request without its prompt. Its calls come back as the model wrote them (`docs/decisions/0003`). */
export interface Request {
  readonly toolkit: Toolkit.WithHandler<Record<string, Tool.Any>>
  /** The offered tools of the toolkit. */
  readonly tools: ReadonlyArray<Tool.Any>
  readonly toolChoice: LanguageModel.ToolChoice<string>
  readonly disableToolCallResolution: true
  readonly toolCallValidation: "deferred"
}

/**
 * The prepared requests of an agent. While all tools are offered, a run's first request is `first` and the others are `later`; any other
 * request is made from `names` and `toolkit`.
 */
export interface Requests {
  readonly names: ReadonlyArray<string>
  readonly toolkit: Request["toolkit"]
  /** Whether the toolkit has tools that aren't the agent's. */
  readonly hasOthers: boolean
  /** Whether the offered tools depend on the state even outside of modes and without conversation settings. */
  readonly isConditional: boolean
  readonly first: Request
  readonly later: Request
}

/** Who can be in control of a run, who begins, and how they collaborate. */
export interface Roster {
  readonly first: Definition
  /** The state of `first` before any run, with which its conversations begin. */
  readonly initial: AgentState
  readonly agents: ReadonlyMap<string, Definition>
  readonly maxHandoffs: number
  readonly picker: AgentPicker.Any | undefined
  /** The name of the group, if it isn't a single agent that runs. */
  readonly group: string | undefined
  readonly decide: (state: AgentState) => HandoffPolicy.Decision | undefined
  readonly transforms: ReadonlyArray<HandoffPolicy.Transform>
}
