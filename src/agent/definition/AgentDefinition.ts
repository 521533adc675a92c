/**
 * What an agent is made of, prepared once: everything that a step needs and that depends on the agent alone.
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
import type * as Layer from "effect/Layer"
import type * as Schedule from "effect/Schedule"
import type { AgentState, User } from "../../domain/StateSchema.ts"
import type * as AgentPicker from "../../handoff/AgentPicker.ts"
import type * as Handoff from "../../handoff/Handoff.ts"
import type * as HandoffPolicy from "../../handoff/HandoffPolicy.ts"
import type * as ModeType from "../../modes/ModeType.ts"
import type { AgentGuardrails } from "../guardrail/AgentGuardrails.ts"
import type * as ContextWindow from "../window/WindowType.ts"
import type { Codec } from "./Codec.ts"
import type { OutputCodec, OutputTool } from "./OutputCodec.ts"
import type { StopWhen } from "./StopWhen.ts"
import type { ToolPolicy } from "./ToolPolicy.ts"

/**
 * A tool that a handler of the user's answers, from the environment or from the toolkit itself. One that belongs to `modes` is
 * there while one of them is entered.
 */
export interface HandledTool {
  readonly _tag: "Handled"
  readonly tool: Tool.Any
  readonly policy: ToolPolicy
  readonly isFatal: boolean
  readonly decode: Codec
  readonly encodeSuccess: Codec
  readonly encodeFailure: Codec
  readonly handle: Toolkit.WithHandler<Record<string, Tool.Any>>["handle"] | undefined
  readonly encodeParams: Codec
  readonly modes?: ReadonlyArray<string>
}

/** A tool that another agent answers. */
export interface AgentTool {
  readonly _tag: "Agent"
  readonly tool: Tool.Any
  readonly policy: ToolPolicy
  readonly decode: Codec
  readonly roster: () => Roster
  readonly toInput: (params: unknown) => User["parts"]
}

/** A tool whose call lets another agent take over. */
export interface HandoffTool {
  readonly _tag: "Handoff"
  readonly tool: Tool.Any
  readonly handoff: Handoff.Any
  readonly when: ((state: AgentState) => boolean) | undefined
}

/** A tool whose call asks for a move between modes: into `mode`, or out of the one on top. */
export interface ModeTool {
  readonly _tag: "Mode"
  readonly tool: Tool.Any
  readonly mode: ModeType.Definition | undefined
  readonly decode: Codec
}

/** A mode that an agent has, with what reads its parameters from JSON and writes them there. */
export interface ModeEntry {
  readonly self: ModeType.Any
  readonly mode: ModeType.Definition
  readonly model: OwnModel | undefined
  readonly decode: Codec
  readonly encode: Codec
}

/** A tool whose calls are run. */
export type RunTool = HandledTool | AgentTool | OutputTool

/** How a call of some name is answered. */
export type ToolEntry = RunTool | HandoffTool | ModeTool

/** A model as a Layer. */
export type ModelLayer = Layer.Layer<LanguageModel.LanguageModel, unknown, unknown>

/** The model that an agent or a mode brings along, instead of taking it from the environment. */
export type OwnModel =
  | { readonly _tag: "Layer"; readonly layer: ModelLayer }
  | { readonly _tag: "Plan"; readonly plan: Plan }

/** Models to try one after the other. */
export type Plan = ExecutionPlan.ExecutionPlan<
  { provides: LanguageModel.LanguageModel; input: AiError.AiError; error: unknown; requirements: unknown }
>

/** What an agent's system message is made of. */
type Instructions =
  | string
  | ((state: AgentState) => string | Effect.Effect<string, unknown, unknown>)

/** What an agent is made of. */
export interface Definition {
  readonly name: string
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

/** What has a definition: an agent. */
export interface Defined {
  readonly [TypeId]: { readonly definition: Definition }
}

/** Gives the definition of an agent. */
export const definitionOf = (agent: Defined): Definition => agent[TypeId].definition

/** What every request of an agent says beside its prompt. */
export interface Request {
  readonly toolkit: Toolkit.WithHandler<Record<string, Tool.Any>>
  readonly toolChoice: LanguageModel.ToolChoice<string>
  readonly disableToolCallResolution: true
  readonly toolCallValidation: "deferred"
}

/**
 * The requests of an agent, prepared: `first` and `later` are those of a run in which all tools are offered, and the rest is what
 * others are made of. A toolkit that `hasOthers` has tools that aren't the agent's.
 */
export interface Requests {
  readonly names: ReadonlyArray<string>
  readonly toolkit: Request["toolkit"]
  readonly hasOthers: boolean
  readonly isConditional: boolean
  readonly first: Request
  readonly later: Request
}

/** Who can be in control of a run, who begins, and how they collaborate. */
export interface Roster {
  readonly first: Definition
  readonly agents: ReadonlyMap<string, Definition>
  readonly maxHandoffs: number
  readonly picker: AgentPicker.Any | undefined
  readonly decide: (state: AgentState) => HandoffPolicy.Decision | undefined
  readonly transforms: ReadonlyArray<HandoffPolicy.Transform>
}
