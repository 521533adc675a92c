/**
 * What an agent is made of, prepared once: everything that a step needs and that depends on the agent alone.
 *
 * @since 0.1.0
 */
import type * as AiError from "effect/ai/AiError"
import type * as LanguageModel from "effect/ai/LanguageModel"
import * as Tool from "effect/ai/Tool"
import type * as Toolkit from "effect/ai/Toolkit"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as ExecutionPlan from "effect/ExecutionPlan"
import type * as Layer from "effect/Layer"
import type * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import * as SchemaAST from "effect/SchemaAST"
import type { AgentState, User } from "../../domain/StateSchema.ts"
import type * as AgentPicker from "../../handoff/AgentPicker.ts"
import * as Handoff from "../../handoff/Handoff.ts"
import type * as HandoffPolicy from "../../handoff/HandoffPolicy.ts"
import type * as ModeType from "../../modes/ModeType.ts"
import type { Standing } from "../guardrail/AgentGuardrails.ts"
import type { StopWhen } from "../StopWhen.ts"
import type * as ContextWindow from "../window/WindowType.ts"
import type { Codec } from "./Codec.ts"
import type { OutputCodec, OutputTool } from "./OutputCodec.ts"
import * as ToolPolicy from "./ToolPolicy.ts"

/**
 * A tool that a handler of the user's answers, from the environment or from the toolkit itself. One that belongs to `modes` is
 * there while one of them is entered.
 */
export interface HandledTool {
  readonly _tag: "Handled"
  readonly tool: Tool.Any
  readonly policy: ToolPolicy.ToolPolicy
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
  readonly policy: ToolPolicy.ToolPolicy
  readonly decode: Codec
  readonly roster: () => Roster
  readonly toInput: (params: unknown) => User["parts"]
  readonly toResult: (child: AgentState) => Schema.Json
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

/** The model that an agent brings itself, instead of taking it from the environment. */
export type OwnModel =
  | { readonly _tag: "Layer"; readonly layer: Layer.Layer<LanguageModel.LanguageModel, unknown, unknown> }
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
  readonly request: (state: AgentState, isNested: boolean) => Request
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
  readonly guardrails: Standing
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

/** Who can be in control of a run, who begins, and how they collaborate. */
export interface Roster {
  readonly first: Definition
  readonly agents: ReadonlyMap<string, Definition>
  readonly maxHandoffs: number
  readonly picker: AgentPicker.Any | undefined
  readonly decide: (state: AgentState) => HandoffPolicy.Decision | undefined
  readonly transforms: ReadonlyArray<HandoffPolicy.Transform>
}

/**
 * Prepares a tool whose handler comes from the environment, or from a toolkit that has its handlers.
 *
 * Results are encoded as JSON, whatever their schema holds (dates, bytes, nothing at all), since a state keeps them.
 */
export const handledTool = (
  tool: Tool.Any,
  isFatal: boolean,
  handle: HandledTool["handle"]
): HandledTool => ({
  _tag: "Handled",
  tool,
  policy: ToolPolicy.get(tool),
  isFatal,
  decode: decoder(tool),
  encodeSuccess: resultEncoder(tool.successSchema),
  encodeFailure: Schema.encodeUnknownEffect(Schema.toCodecJson(tool.failureSchema)),
  handle,
  encodeParams: Schema.encodeUnknownEffect(tool.parametersSchema)
})

/** Gives the encoder of a tool's results. Where the schema takes anything, a result is what JSON makes of it. */
const resultEncoder = (schema: Schema.Constraint): Codec => {
  if (!SchemaAST.isUnknown(schema.ast) && !SchemaAST.isAny(schema.ast)) {
    return Schema.encodeUnknownEffect(Schema.toCodecJson(schema))
  }
  const encode = Schema.encodeUnknownEffect(Schema.Json)
  return (u) => encode(throughJson(u))
}

/** What has no JSON at all, such as a circle, stays as it is. */
const throughJson = (u: unknown): unknown => {
  try {
    return JSON.parse(JSON.stringify(u) ?? "null")
  } catch {
    return u
  }
}

/**
 * Gives the decoder of a tool's parameters, which are JSON whatever their schema holds: a date is a text.
 *
 * A tool described by JSON schema alone takes them as they are.
 */
export const decoder = (tool: Tool.Any): Codec =>
  Tool.isDynamic(tool) && tool.jsonSchema !== undefined
    ? Effect.succeed
    : Schema.decodeUnknownEffect(Schema.toCodecJson(tool.parametersSchema))

/** Prepares a tool whose call lets another agent take over. */
export const handoffTool = (handoff: Handoff.Any): HandoffTool => {
  const { tool, when } = Handoff.internalsOf(handoff)
  return { _tag: "Handoff", tool, handoff, when }
}
