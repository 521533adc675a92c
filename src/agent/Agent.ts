/**
 * An agent: a model with instructions and tools, and a loop that goes on until it has an answer.
 *
 * An agent is a value and holds no state: one definition serves any number of conversations at once. What a run may fail
 * with and what it needs is collected from everything it can reach: tools, instructions, models, other agents.
 *
 * A run takes at most 20 steps unless `stopWhen` says otherwise.
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
import type * as AiError from "effect/ai/AiError"
import type * as LanguageModel from "effect/ai/LanguageModel"
import * as Tool from "effect/ai/Tool"
import type * as Toolkit from "effect/ai/Toolkit"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as ExecutionPlan from "effect/ExecutionPlan"
import { dual } from "effect/Function"
import type * as Layer from "effect/Layer"
import { type Pipeable, pipeArguments } from "effect/Pipeable"
import * as Predicate from "effect/Predicate"
import * as Result from "effect/Result"
import type * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import type { AgentError } from "../domain/AgentError.ts"
import type { AgentEvent } from "../domain/AgentEvent.ts"
import * as AgentState from "../domain/AgentState.ts"
import { text, type UserPart } from "../domain/Part.ts"
import type { User } from "../domain/StateSchema.ts"
import * as Definition from "./Definition.ts"
import * as EventStream from "./EventStream.ts"
import * as Output from "./Output.ts"
import * as Run from "./Run.ts"
import * as StopWhen from "./StopWhen.ts"

export { CurrentAgent, type RunningAgent } from "./CurrentAgent.ts"
export { CurrentObservers, observe, type Observer } from "./Observer.ts"
export { RecordContent } from "./Telemetry.ts"

const TypeId = "~troupe/agent/Agent"

/**
 * An agent: `Output` is what its answers decode to, `E` what a run of it may fail with beside `AgentError`, and `R`
 * what a run of it needs.
 *
 * @category models
 * @since 0.1.0
 */
export interface Agent<out Name extends string, out Output = string, out E = never, out R = never>
  extends AgentState.GivesOutput<Output>, Pipeable
{
  readonly [TypeId]: Variance<E, R>
  readonly name: Name
  readonly description: string | undefined
}

interface Variance<out E, out R> {
  readonly definition: Definition.Definition
  readonly _E?: () => E
  readonly _R?: () => R
}

/** Any agent. */
export type Any = Agent<string, unknown, unknown, unknown>

/** What a run of an agent may fail with beside `AgentError`. */
export type RunError<A extends Any> = A extends Agent<infer _Name, infer _Output, infer E, infer _R> ? E : never

/** What a run of an agent needs. */
export type Services<A extends Any> = A extends Agent<infer _Name, infer _Output, infer _E, infer R> ? R : never

/**
 * An agent as a tool of other agents. `R` is what a run of it needs.
 *
 * @category models
 * @since 0.1.0
 */
export interface AsTool<out Name extends string, out R = never> {
  readonly [ToolTypeId]: { readonly entry: Definition.AgentTool; readonly _R?: () => R }
  readonly name: Name
}

const ToolTypeId = "~troupe/agent/Agent/AsTool"

/** A toolkit whose handlers come from the environment, or one that has them. */
type AnyToolkit = Toolkit.Any | Toolkit.WithHandler<Record<string, Tool.Any>>

type ToolsOf<T> = T extends Toolkit.Any ? Toolkit.Tools<T> : Toolkit.WithHandlerTools<T>
type ToolOf<T> = Extract<ToolsOf<T>[keyof ToolsOf<T>], Tool.Any>

type HandlersOf<T> = T extends Toolkit.Toolkit<infer Tools> ? Tool.HandlersFor<Tools> : never
type ToolServices<T> = HandlersOf<T> | Tool.HandlerServices<ToolOf<T>>

type FailureOf<T, Name extends string> = Tool.Failure<Extract<ToolOf<T>, { readonly name: Name }>>

type AgentServices<Agents extends ReadonlyArray<AsTool<string, unknown>>> = Agents[number] extends
  AsTool<string, infer R> ? R : never

/**
 * What an agent is made of; everything is optional.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options<
  Kit extends AnyToolkit,
  Fatal extends string,
  Agents extends ReadonlyArray<AsTool<string, unknown>>,
  Output,
  EncodedOutput,
  InstructionsE,
  InstructionsR,
  RetryE,
  RetryR
> {
  /** What the agent is for, in words for other agents and their models. */
  readonly description?: string
  /** The system message: a text, or a function of the state that gives one, possibly with an effect. */
  readonly instructions?:
    | string
    | ((state: AgentState.AgentState) => string | Effect.Effect<string, InstructionsE, InstructionsR>)
  /** Tools of the agent, with handlers from the environment or its own. */
  readonly toolkit?: Kit
  /** Agents that this agent may call as tools, made by `Agent.asTool`. */
  readonly agents?: Agents
  /** Tools whose own typed error ends the run; the errors of all others are told to the model. */
  readonly fatal?: ReadonlyArray<Fatal>
  /** When a run stops; `StopWhen.maxSteps(20)` by default. */
  readonly stopWhen?: StopWhen.StopWhen
  /** How many calls of a turn run at once; 10 by default. */
  readonly toolConcurrency?: number | "unbounded"
  /** Which tools the model must or may use; `"auto"` by default. One that forces a call holds for a run's first request. */
  readonly toolChoice?: LanguageModel.ToolChoice<NoInfer<Tool.Name<ToolOf<Kit>> | Agents[number]["name"]>>
  /** Services that each request runs with, such as a provider's configuration of its model. */
  readonly settings?: Context.Context<never>
  /** When to ask the model again after a failure that `AiError` calls retryable; never by default. */
  readonly retry?: Schedule.Schedule<unknown, AiError.AiError, RetryE, RetryR>
  /** What the agent's answer must be; text by default. Read it by `AgentState.output`. */
  readonly output?: Schema.Codec<Output, EncodedOutput>
  /** How often an answer that doesn't fit `output` goes back to the model; once by default. */
  readonly outputRetries?: number
  /** How many characters an input may have; 1,000,000 by default. */
  readonly maxInputLength?: number
}

const Proto = {
  pipe() {
    return pipeArguments(this, arguments)
  },
  toJSON(this: Any) {
    return { _id: "Agent", name: this.name }
  }
}

const fromDefinition = <Name extends string, Output, E, R>(
  name: Name,
  definition: Definition.Definition
): Agent<Name, Output, E, R> =>
  Object.assign(Object.create(Proto), {
    [TypeId]: { definition },
    [AgentState.ReadOutput]: (state: AgentState.AgentState) => readOutput(definition, state),
    name,
    description: definition.description
  })

const definitionOf = (agent: Any): Definition.Definition => agent[TypeId].definition

/**
 * Error for a definition that can't be: two tools of an agent share a name.
 *
 * @category errors
 * @since 0.1.0
 */
export class DuplicateTool extends Schema.TaggedError<DuplicateTool>("troupe/agent/Agent/DuplicateTool")(
  "DuplicateTool",
  { agent: Schema.String, name: Schema.String }
) {
  override get message(): string {
    return `Agent "${this.agent}" has two tools of the name "${this.name}"`
  }
}

const isWithHandler = (toolkit: AnyToolkit): toolkit is Toolkit.WithHandler<Record<string, Tool.Any>> =>
  "handle" in toolkit

const entriesOf = (
  agent: string,
  toolkit: AnyToolkit | undefined,
  agents: ReadonlyArray<AsTool<string, unknown>>,
  fatal: ReadonlyArray<string>,
  output: Output.OutputCodec | undefined
): ReadonlyMap<string, Definition.ToolEntry> => {
  const entries = new Map<string, Definition.ToolEntry>()
  const add = (entry: Definition.ToolEntry): void => {
    if (entries.has(entry.tool.name)) throw new DuplicateTool({ agent, name: entry.tool.name })
    entries.set(entry.tool.name, entry)
  }
  const handle = toolkit !== undefined && isWithHandler(toolkit) ? toolkit.handle : undefined
  for (const tool of Object.values(toolkit?.tools ?? {})) {
    add(Definition.handledTool(tool, fatal.includes(tool.name), handle))
  }
  for (const asTool of agents) add(asTool[ToolTypeId].entry)
  if (output !== undefined) add(Output.entry(output))
  return entries
}

const isForced = (choice: LanguageModel.ToolChoice<string> | undefined): boolean =>
  choice === "required" || (typeof choice === "object" && ("tool" in choice || choice.mode === "required"))

/**
 * Makes an agent.
 *
 * Throws `DuplicateTool` when two of its tools share a name.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = <
  const Name extends string,
  Kit extends AnyToolkit = Toolkit.Toolkit<{}>,
  const Fatal extends Tool.Name<ToolOf<Kit>> = never,
  const Agents extends ReadonlyArray<AsTool<string, unknown>> = [],
  Output = string,
  EncodedOutput = unknown,
  InstructionsE = never,
  InstructionsR = never,
  RetryE = never,
  RetryR = never
>(
  name: Name,
  options?: Options<Kit, Fatal, Agents, Output, EncodedOutput, InstructionsE, InstructionsR, RetryE, RetryR>
): Agent<
  Name,
  Output,
  FailureOf<Kit, Fatal> | InstructionsE | RetryE,
  LanguageModel.LanguageModel | ToolServices<Kit> | AgentServices<Agents> | InstructionsR | RetryR
> => {
  const output = options?.output === undefined
    ? undefined
    : Output.makeCodec(Schema.toCodecJson(options.output as Schema.Codec<unknown, unknown>))
  const tools = entriesOf(name, options?.toolkit, options?.agents ?? [], options?.fatal ?? [], output)
  const toolChoice = options?.toolChoice as LanguageModel.ToolChoice<string> | undefined
  const request = Definition.makeRequest(tools.values(), toolChoice)
  return fromDefinition(name, {
    name,
    description: options?.description,
    instructions: options?.instructions,
    tools,
    request,
    laterRequest: isForced(toolChoice) ? Definition.makeRequest(tools.values(), "auto") : request,
    stopWhen: options?.stopWhen ?? StopWhen.defaultCondition,
    toolConcurrency: options?.toolConcurrency ?? 10,
    settings: options?.settings,
    retry: options?.retry,
    model: undefined,
    output,
    outputRetries: options?.outputRetries ?? 1,
    maxInputLength: options?.maxInputLength ?? 1_000_000
  })
}

/**
 * Checks whether something is an agent.
 *
 * @category guards
 * @since 0.1.0
 */
export const isAgent = (u: unknown): u is Any => Predicate.hasProperty(u, TypeId)

/**
 * Gives an agent its own model: a Layer, or an `ExecutionPlan` whose steps are models to fall back on.
 *
 * The model is built once in each run and kept until its end. With a plan, a request that fails with one model is made
 * with the next; what was done before stays done.
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
  <PE, PR, Provides>(
    plan: ExecutionPlan.ExecutionPlan<{ provides: Provides; input: any; error: PE; requirements: PR }>
  ): <Name extends string, Output, E, R>(
    self: Agent<Name, Output, E, R>
  ) => Agent<Name, Output, E | PE, Exclude<R, Provides> | PR>
  <Name extends string, Output, E, R, LE, LR>(
    self: Agent<Name, Output, E, R>,
    model: Layer.Layer<LanguageModel.LanguageModel, LE, LR>
  ): Agent<Name, Output, E | LE, Exclude<R, LanguageModel.LanguageModel> | LR>
  <Name extends string, Output, E, R, PE, PR, Provides>(
    self: Agent<Name, Output, E, R>,
    plan: ExecutionPlan.ExecutionPlan<{ provides: Provides; input: any; error: PE; requirements: PR }>
  ): Agent<Name, Output, E | PE, Exclude<R, Provides> | PR>
} = dual(2, (self: Any, model: unknown): Any =>
  fromDefinition(self.name, {
    ...definitionOf(self),
    model: ExecutionPlan.isExecutionPlan(model)
      ? { _tag: "Plan", plan: model }
      : { _tag: "Layer", layer: model as Layer.Layer<LanguageModel.LanguageModel, unknown, unknown> }
  }))

/**
 * What a user says: a text, or parts that may be files.
 *
 * @category models
 * @since 0.1.0
 */
export type Input = string | ReadonlyArray<UserPart>

const partsOf = (input: Input): User["parts"] => typeof input === "string" ? [text(input)] : input

const isState = (from: Input | AgentState.AgentState): from is AgentState.AgentState =>
  typeof from === "object" && "conversation" in from

const begin = (agent: Any, from: Input | AgentState.AgentState): Run.From =>
  isState(from) ? { state: from, input: undefined } : { state: AgentState.make(agent.name), input: partsOf(from) }

/**
 * Parameters of an agent that is a tool, when none are given: what it is to do, in words.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Task = Schema.Struct({ task: Schema.String })

/**
 * Makes a tool of an agent, for the `agents` of another one.
 *
 * The model gives it a `task` in words, or the `parameters` of a schema, which reach the agent as JSON text or as what
 * `toInput` makes of them. The agent's state lives in the call it answers: its approvals surface in the caller's state,
 * what it uses counts for the caller, its failure is a failed call. Its last text answers the call, or its output.
 *
 * @category combinators
 * @since 0.1.0
 */
export const asTool = <
  Name extends string,
  Output,
  E,
  R,
  const ToolName extends string = Name,
  Params = unknown,
  Encoded = unknown
>(
  agent: Agent<Name, Output, E, R>,
  options?: {
    readonly name?: ToolName
    readonly description?: string
    readonly parameters?: Schema.Codec<Params, Encoded>
    readonly toInput?: (params: Params) => Input
    readonly needsApproval?: boolean
  }
): AsTool<ToolName, R> => {
  const definition = definitionOf(agent)
  const parameters = (options?.parameters ?? Task) as Schema.Codec<unknown, unknown>
  const description = options?.description ?? definition.description
  const tool = Tool.make(options?.name ?? definition.name, {
    parameters,
    success: Schema.Unknown,
    ...(description === undefined ? undefined : { description }),
    ...(options?.needsApproval === undefined ? undefined : { needsApproval: options.needsApproval })
  }) as Tool.Any
  const toJson = Schema.encodeUnknownSync(Schema.toCodecJson(parameters))
  const toInput = options?.toInput as ((params: unknown) => Input) | undefined
  const entry: Definition.AgentTool = {
    _tag: "Agent",
    tool,
    policy: {},
    decode: Definition.decoder(tool),
    definition,
    toInput: (params) =>
      partsOf(
        toInput !== undefined
          ? toInput(params)
          : options?.parameters === undefined
          ? (params as typeof Task.Type).task
          : JSON.stringify(toJson(params))
      ),
    toResult: (child) => Output.toResult(definition.output, child)
  }
  return { [ToolTypeId]: { entry }, name: tool.name }
}

/**
 * Runs an agent on what a user says, in a new conversation, until it has an answer or waits for approvals.
 *
 * Fails with `AgentError`, which holds the state, or with the own error of a tool that the agent names in `fatal`.
 *
 * @category running
 * @since 0.1.0
 */
export const run: {
  (input: Input, options?: RunOptions): <Name extends string, Output, E, R>(
    self: Agent<Name, Output, E, R>
  ) => Effect.Effect<AgentState.AgentState, AgentError | E, R>
  <Name extends string, Output, E, R>(
    self: Agent<Name, Output, E, R>,
    input: Input,
    options?: RunOptions
  ): Effect.Effect<AgentState.AgentState, AgentError | E, R>
} = dual((args) => isAgent(args[0]), (self: Any, input: Input, options?: RunOptions) =>
  Run.run(
    definitionOf(self),
    { state: AgentState.make(self.name, options), input: partsOf(input) },
    undefined,
    "Fail"
  ) as Effect.Effect<AgentState.AgentState, never>)

/** Options of a new conversation: a system message of its own, beside the agent's instructions. */
export interface RunOptions {
  readonly systemMessage?: string
}

/**
 * Runs an agent on what the user says next in a conversation.
 *
 * The state may be in any status. While approvals are pending the words wait behind them: the calls that may run are run,
 * and the model reads the words once all are settled.
 *
 * @category running
 * @since 0.1.0
 */
export const continueConversation: {
  (state: AgentState.AgentState, input: Input): <Name extends string, Output, E, R>(
    self: Agent<Name, Output, E, R>
  ) => Effect.Effect<AgentState.AgentState, AgentError | E, R>
  <Name extends string, Output, E, R>(
    self: Agent<Name, Output, E, R>,
    state: AgentState.AgentState,
    input: Input
  ): Effect.Effect<AgentState.AgentState, AgentError | E, R>
} = dual(
  3,
  (self: Any, state: AgentState.AgentState, input: Input) =>
    Run.run(definitionOf(self), { state, input: partsOf(input) }, undefined, "Fail") as Effect.Effect<
      AgentState.AgentState,
      never
    >
)

/**
 * Runs an agent on several inputs, one after the other in one conversation, and gives the last state.
 *
 * @category running
 * @since 0.1.0
 */
export const runMultiTurn: {
  (inputs: readonly [Input, ...Array<Input>]): <Name extends string, Output, E, R>(
    self: Agent<Name, Output, E, R>
  ) => Effect.Effect<AgentState.AgentState, AgentError | E, R>
  <Name extends string, Output, E, R>(
    self: Agent<Name, Output, E, R>,
    inputs: readonly [Input, ...Array<Input>]
  ): Effect.Effect<AgentState.AgentState, AgentError | E, R>
} = dual(2, (self: Any, inputs: readonly [Input, ...Array<Input>]) =>
  Effect.reduce(
    inputs,
    () => AgentState.make(self.name),
    (state, input) => Run.run(definitionOf(self), { state, input: partsOf(input) }, undefined, "Fail")
  ) as Effect.Effect<AgentState.AgentState, never>)

/**
 * Goes on with a state where it stopped: after approvals, an interruption, or a restart.
 *
 * A state that has ended is given back as it is; `AgentState.reopen` makes one that goes on. Fails with `AgentMismatch`
 * when the state names an agent, a tool or a mode that this one doesn't have.
 *
 * @category running
 * @since 0.1.0
 */
export const resume: {
  (state: AgentState.AgentState): <Name extends string, Output, E, R>(
    self: Agent<Name, Output, E, R>
  ) => Effect.Effect<AgentState.AgentState, AgentError | E, R>
  <Name extends string, Output, E, R>(
    self: Agent<Name, Output, E, R>,
    state: AgentState.AgentState
  ): Effect.Effect<AgentState.AgentState, AgentError | E, R>
} = dual(
  2,
  (self: Any, state: AgentState.AgentState) =>
    Run.run(definitionOf(self), { state, input: undefined }, undefined, "Fail") as Effect.Effect<
      AgentState.AgentState,
      never
    >
)

/**
 * Runs an agent on an input, or goes on with a state, and gives the last state also when the run fails: its status is
 * `Failed` then. Interruptions and defects stay what they are.
 *
 * @category running
 * @since 0.1.0
 */
export const settle: {
  (from: Input | AgentState.AgentState): <Name extends string, Output, E, R>(
    self: Agent<Name, Output, E, R>
  ) => Effect.Effect<AgentState.AgentState, never, R>
  <Name extends string, Output, E, R>(
    self: Agent<Name, Output, E, R>,
    from: Input | AgentState.AgentState
  ): Effect.Effect<AgentState.AgentState, never, R>
} = dual(
  2,
  (self: Any, from: Input | AgentState.AgentState) =>
    Run.run(definitionOf(self), begin(self, from), undefined, "Keep") as Effect.Effect<AgentState.AgentState, never>
)

/**
 * Takes one step: one answer of the model and the calls in it, or the calls that are open. No run starts or ends.
 *
 * A state that needs nothing, because it has ended or waits for approvals, is given back as it is. `AgentState.ask`
 * makes a state to begin with.
 *
 * @category running
 * @since 0.1.0
 */
export const step: {
  (state: AgentState.AgentState): <Name extends string, Output, E, R>(
    self: Agent<Name, Output, E, R>
  ) => Effect.Effect<AgentState.AgentState, AgentError | E, R>
  <Name extends string, Output, E, R>(
    self: Agent<Name, Output, E, R>,
    state: AgentState.AgentState
  ): Effect.Effect<AgentState.AgentState, AgentError | E, R>
} = dual(
  2,
  (self: Any, state: AgentState.AgentState) =>
    Run.step(definitionOf(self), state) as Effect.Effect<AgentState.AgentState, never>
)

/**
 * Runs an agent and streams every event, text as it arrives.
 *
 * Takes an input, a state to go on with, or both (`{ state }`) to continue a conversation. The model is asked to stream.
 * The last event, `RunCompleted`, `RunFailed` or `RunInterrupted`, holds the last state, whatever happened; the stream
 * then ends as the run did.
 *
 * @category running
 * @since 0.1.0
 */
export const stream: {
  (from: Input | AgentState.AgentState, options?: StreamOptions): <Name extends string, Output, E, R>(
    self: Agent<Name, Output, E, R>
  ) => Stream.Stream<AgentEvent, AgentError | E, R>
  <Name extends string, Output, E, R>(
    self: Agent<Name, Output, E, R>,
    from: Input | AgentState.AgentState,
    options?: StreamOptions
  ): Stream.Stream<AgentEvent, AgentError | E, R>
} = dual(
  (args) => isAgent(args[0]),
  (self: Any, from: Input | AgentState.AgentState, options?: StreamOptions) =>
    EventStream.make(definitionOf(self), startOf(self, from, options)) as Stream.Stream<AgentEvent, never>
)

/** Options of a streamed run: the state of the conversation that the input continues. */
export interface StreamOptions {
  readonly state?: AgentState.AgentState
}

const startOf = (self: Any, from: Input | AgentState.AgentState, options: StreamOptions | undefined): Run.From => {
  const start = begin(self, from)
  return options?.state === undefined ? start : { ...start, state: options.state }
}

/**
 * Runs an agent and streams every state, from the one with the input to the last one. A failure comes after its state.
 *
 * @category running
 * @since 0.1.0
 */
export const states: {
  (from: Input | AgentState.AgentState, options?: StreamOptions): <Name extends string, Output, E, R>(
    self: Agent<Name, Output, E, R>
  ) => Stream.Stream<AgentState.AgentState, AgentError | E, R>
  <Name extends string, Output, E, R>(
    self: Agent<Name, Output, E, R>,
    from: Input | AgentState.AgentState,
    options?: StreamOptions
  ): Stream.Stream<AgentState.AgentState, AgentError | E, R>
} = dual((args) => isAgent(args[0]), (self: Any, from: Input | AgentState.AgentState, options?: StreamOptions) => {
  const start = startOf(self, from, options)
  return EventStream.make(definitionOf(self), start).pipe(
    Stream.mapAccum(() => start.state, (before, event) => {
      const after = AgentState.reduce(before, event)
      return [after, after === before ? [] : [after]]
    })
  ) as Stream.Stream<AgentState.AgentState, never>
})

const readOutput = (
  definition: Definition.Definition,
  state: AgentState.AgentState
): Result.Result<unknown, AgentState.NoOutput> => {
  const fail = (issue: string): AgentState.NoOutput =>
    new AgentState.NoOutput({ agent: state.agent, status: state.status._tag, issue })
  if (state.status._tag !== "Complete") return Result.fail(fail("the run hasn't ended with an answer"))
  return definition.output === undefined
    ? Result.succeed(AgentState.text(state))
    : Result.mapError(Output.read(definition.output, state), (error) => fail(error.message))
}
