/**
 * An agent: a model with instructions and tools, and a loop that continues until there is an answer.
 *
 * An agent is a value and holds no state: one definition serves any number of conversations at once. What a run may fail
 * with and what it needs is collected from everything it can reach: tools, instructions, models, other agents.
 *
 * An agent takes at most 20 steps in a run, those of the agents that it calls included, unless `stopWhen` has a limit that every run must
 * reach at some time. If it limits only tokens, the 20 count only answers whose tokens weren't reported. If an agent takes over in a run,
 * its steps count from there.
 *
 * **Example** (A run with a tool)
 *
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Tool, Toolkit } from "effect/ai"
 * import { Agent, AgentState } from "troupe"
 * import { MockModel, MockResponse } from "troupe/testing"
 *
 * const GetWeather = Tool.make("get_weather", {
 *   parameters: Schema.Struct({ city: Schema.String }),
 *   success: Schema.Struct({ celsius: Schema.Finite })
 * })
 * const Weather = Toolkit.make(GetWeather)
 * const assistant = Agent.make("assistant", { instructions: "Be brief.", toolkit: Weather })
 *
 * const program = Agent.run(assistant, "How warm is Paris?").pipe(
 *   Effect.map(AgentState.text),
 *   Effect.provide(Weather.toLayer({ get_weather: () => Effect.succeed({ celsius: 22 }) })),
 *   Effect.provide(MockModel.layer(MockModel.queue(
 *     MockResponse.toolCall("get_weather", { city: "Paris" }),
 *     "It is 22 °C in Paris."
 *   )))
 * )
 *
 * await Effect.runPromise(program) // => "It is 22 °C in Paris."
 * ```
 *
 * @since 0.1.0
 */
import type * as LanguageModel from "effect/ai/LanguageModel"
import type * as Tool from "effect/ai/Tool"
import type * as Toolkit from "effect/ai/Toolkit"
import type * as ExecutionPlan from "effect/ExecutionPlan"
import { dual } from "effect/Function"
import type * as Layer from "effect/Layer"
import type * as Schema from "effect/Schema"
import { countOf } from "../domain/InvalidLimit.ts"
import { agentNamed } from "../domain/InvalidName.ts"
import * as Wanted from "../domain/Wanted.ts"
import type * as Handoff from "../handoff/Handoff.ts"
import { isHandoff } from "../handoff/HandoffType.ts"
import type { AnyModel, ModelError, ModelServices } from "../modes/AnyModel.ts"
import type { AnyToolkit, FailureOf, ToolOf, ToolServices } from "../modes/AnyToolkit.ts"
import type * as Mode from "../modes/ModeType.ts"
import * as Definition from "./definition/AgentDefinition.ts"
import { addModes, ownModel } from "./definition/AgentModes.ts"
import type { AgentServices, Options } from "./definition/AgentOptions.ts"
import { type AnyAsTool, isTool, ToolTypeId } from "./definition/AgentTool.ts"
import type { Agent, Any } from "./definition/AgentType.ts"
import { type Guardrails, type GuardrailServices, prepareGuardrails } from "./definition/guardrail/AgentGuardrails.ts"
import { withLastResort } from "./definition/LastResort.ts"
import * as Output from "./definition/OutputCodec.ts"
import * as RequestTools from "./definition/RequestTools.ts"
import { entriesOf } from "./definition/ToolEntries.ts"
import { fromDefinition } from "./run/MakeAgent.ts"

export { InvalidLimit } from "../domain/InvalidLimit.ts"
export { InvalidName } from "../domain/InvalidName.ts"
export { failedState } from "../handoff/FailedState.ts"
export { RecordContent } from "../model/RecordContent.ts"
export type { Options } from "./definition/AgentOptions.ts"
export { type AsTool, asTool, Task } from "./definition/AgentTool.ts"
export { type Agent, type Any, isAgent, type RunError, type Services } from "./definition/AgentType.ts"
export {
  AmbiguousTool,
  DuplicateAgent,
  DuplicateHandoff,
  DuplicateMode,
  DuplicateTool
} from "./definition/DuplicateName.ts"
export type { Input } from "./definition/Input.ts"
export { InvalidParams } from "./definition/InvalidParams.ts"
export { CurrentAgent, type RunningAgent } from "./journal/CurrentAgent.ts"
export { CurrentObservers, observe, type Observer } from "./journal/Observer.ts"
export * from "./run/RunAgent.ts"
export type { FromOptions } from "./run/RunStart.ts"

/**
 * Makes an agent.
 *
 * Throws `InvalidName` if the name is empty, and `InvalidLimit` if a limit is invalid. Throws `DuplicateTool` if two tools share a name,
 * `DuplicateHandoff` if the tools of two handoffs do, and `DuplicateMode` if two modes do. Throws `DuplicateAgent` if two different agents
 * of one name can be reached by handoffs, and `AmbiguousTool` if agents that run together have different tools of one name. Throws
 * `InvalidParams` if a parameter of a tool, or a part of `output`, can't be written as JSON.
 *
 * Agents in `Handoff.suspend` are checked when the agent first runs, a session of it is made, or the layer of its conversations on a cluster
 * is built: if they have such an error, the run, `Session.make` or the layer dies with it.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = <
  const Name extends string,
  Kit extends AnyToolkit = Toolkit.Toolkit<{}>,
  const Fatal extends Tool.Name<ToolOf<Kit>> = never,
  const Agents extends ReadonlyArray<AnyAsTool> = [],
  const Handoffs extends ReadonlyArray<Handoff.AnyOffer> = [],
  const Modes extends ReadonlyArray<Mode.Any> = [],
  Output = string,
  EncodedOutput = unknown,
  InstructionsE = never,
  InstructionsR = never,
  RetryE = never,
  RetryR = never,
  const Guards extends Guardrails<Output> = {},
  WindowE = never,
  WindowR = never
>(
  name: Name,
  options?: Options<
    Kit,
    Fatal,
    Agents,
    Handoffs,
    Modes,
    Output,
    EncodedOutput,
    InstructionsE,
    InstructionsR,
    RetryE,
    RetryR,
    Guards,
    WindowE,
    WindowR
  >
): Agent<
  Name,
  Output | Handoff.Output<Handoffs[number]>,
  | FailureOf<Kit, Fatal>
  | InstructionsE
  | RetryE
  | WindowE
  | Handoff.Error<Handoffs[number]>
  | Mode.Error<Modes[number]>,
  | LanguageModel.LanguageModel
  | ToolServices<Kit>
  | AgentServices<Agents[number]>
  | InstructionsR
  | RetryR
  | GuardrailServices<Guards>
  | WindowR
  | Handoff.Services<Handoffs[number]>
  | Mode.Services<Modes[number]>
> => {
  agentNamed(name)
  const output = options?.output === undefined
    ? undefined
    // The value's type is in the agent's own type; the codec needs no services by the type of the option.
    : Output.makeCodec(name, options.output as Schema.Codec<unknown, unknown>)
  const own = entriesOf(
    name,
    options?.toolkit,
    options?.fatal ?? [],
    Wanted.members(name, "agents", "Agent.asTool", isTool, options?.agents).map((agent) => agent[ToolTypeId].entry),
    output,
    // The type of any handoff leaves out its parameters, so that inference takes them from the handoff.
    Wanted.members(name, "handoffs", "Handoff.to", isHandoff, options?.handoffs) as ReadonlyArray<Handoff.Any>
  )
  const { modes, tools } = addModes(name, { modes: new Map(), tools: own }, options?.modes ?? [])
  const toolChoice = RequestTools.withToolNames(options?.toolChoice, tools)
  return fromDefinition(name, {
    name,
    path: Object.freeze([name] as const),
    description: options?.description,
    instructions: options?.instructions,
    tools,
    toolChoice,
    requests: RequestTools.make(tools, toolChoice),
    modes,
    models: new Map(),
    stopWhen: withLastResort(options?.stopWhen),
    toolConcurrency: options?.toolConcurrency === "unbounded"
      ? "unbounded"
      : countOf("toolConcurrency", options?.toolConcurrency ?? 10, 1),
    settings: options?.settings,
    retry: options?.retry,
    model: undefined,
    output,
    outputRetries: countOf("outputRetries", options?.outputRetries ?? 1, 0),
    maxInputLength: countOf("maxInputLength", options?.maxInputLength ?? 1_000_000, 1),
    maxHandoffs: countOf("maxHandoffs", options?.maxHandoffs ?? 10, 0),
    guardrails: prepareGuardrails(name, options?.guardrails),
    contextWindow: options?.contextWindow
  })
}

/**
 * Gives an agent its own model: a Layer, or an `ExecutionPlan` whose steps are models to fall back on.
 *
 * Each run builds the model at most once, when the agent first has something to do, and keeps it until the run ends. With a plan, a request that fails
 * with one model is sent to the next. The answers and calls before that request aren't repeated, and the next request begins with the first model again. The agent's
 * `retry` asks a model of the plan again before the plan takes the next one.
 *
 * In a run, handlers, judges and summaries ask this model too, and so do agents without a model of their own that this agent calls or hands
 * over to.
 *
 * @category combinators
 * @since 0.1.0
 */
export const withModel: {
  <LE, LR>(
    model: Layer.Layer<LanguageModel.LanguageModel, LE, LR>
  ): <Name extends string, Output, E, R>(
    self: Agent<Name, Output, E, R>
  ) => Agent<Name, Output, E | LE, Exclude<R, LanguageModel.LanguageModel> | LR>
  <PE, PR, Provides, In>(
    plan: ExecutionPlan.ExecutionPlan<{ provides: Provides; input: In; error: PE; requirements: PR }>
  ): <Name extends string, Output, E, R>(
    self: Agent<Name, Output, E, R>
  ) => Agent<Name, Output, E | PE, Exclude<R, Extract<Provides, LanguageModel.LanguageModel>> | PR>
  <Name extends string, Output, E, R, LE, LR>(
    self: Agent<Name, Output, E, R>,
    model: Layer.Layer<LanguageModel.LanguageModel, LE, LR>
  ): Agent<Name, Output, E | LE, Exclude<R, LanguageModel.LanguageModel> | LR>
  <Name extends string, Output, E, R, PE, PR, Provides, In>(
    self: Agent<Name, Output, E, R>,
    plan: ExecutionPlan.ExecutionPlan<{ provides: Provides; input: In; error: PE; requirements: PR }>
  ): Agent<Name, Output, E | PE, Exclude<R, Extract<Provides, LanguageModel.LanguageModel>> | PR>
} = dual(2, (self: Any, model: unknown): Any =>
  fromDefinition(self.name, {
    ...Definition.definitionOf(self),
    model: ownModel(model)
  }))

/** Models by their names. */
interface Models {
  readonly [name: string]: AnyModel
}

/**
 * Gives an agent models by name, in place of those that it had. If `Mode.configure({ model })` or a session's `configure` names one of
 * these, that model is asked instead of the agent's own. The model of an entered mode takes precedence over both. A run builds each model
 * at most once, when it asks that model.
 *
 * @category combinators
 * @since 0.1.0
 */
export const withModels: {
  <const M extends Models>(
    models: M
  ): <Name extends string, Output, E, R>(
    self: Agent<Name, Output, E, R>
  ) => Agent<Name, Output, E | ModelError<M[keyof M]>, R | ModelServices<M[keyof M]>>
  <Name extends string, Output, E, R, const M extends Models>(
    self: Agent<Name, Output, E, R>,
    models: M
  ): Agent<Name, Output, E | ModelError<M[keyof M]>, R | ModelServices<M[keyof M]>>
} = dual(2, (self: Any, models: Record<string, unknown>): Any =>
  fromDefinition(self.name, {
    ...Definition.definitionOf(self),
    models: new Map(Object.entries(models).map(([name, model]) => [name, ownModel(model)]))
  }))
