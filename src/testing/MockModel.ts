/**
 * A language model that answers as a handler says.
 *
 * 1. Only the provider is a mock: an agent asks it as it asks a model of `troupe/ai-sdk`, and any other program asks it through the real
 *    `LanguageModel.make`.
 * 2. State (a queue's position, the number of requests, the recorded requests) belongs to the layer that is built, and lives as long as that
 *    layer. Two layers of one handler share nothing.
 * 3. A request without a scripted response dies with `UnansweredRequest`, which names the request.
 *
 * **Example** (A queue of answers, and what was asked)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { LanguageModel } from "effect/ai"
 * import { MockModel } from "troupe/testing"
 *
 * const program = Effect.gen(function*() {
 *   const first = yield* LanguageModel.generateText({ prompt: "Who are you?" })
 *   const second = yield* LanguageModel.generateText({ prompt: "And who am I?" })
 *   const calls = yield* MockModel.calls
 *   return { said: [first.text, second.text], asked: calls.map((call) => call.request.lastUserText) }
 * })
 *
 * const result = await Effect.runPromise(
 *   program.pipe(Effect.provide(MockModel.layer(MockModel.queue("A mock.", "A test."))))
 * )
 *
 * result.said // => ["A mock.", "A test."]
 * result.asked // => ["Who are you?", "And who am I?"]
 * ```
 *
 * **Example** (Answers that depend on the request)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { LanguageModel } from "effect/ai"
 * import { MockModel, MockResponse } from "troupe/testing"
 *
 * const handler = MockModel.conditional(
 *   MockModel.when((request) => request.lastToolResults.length > 0, "It is 22 °C."),
 *   MockModel.when(
 *     (request) => /weather/i.test(request.lastUserText),
 *     MockResponse.toolCall("get_weather", { city: "Paris" })
 *   ),
 *   MockModel.otherwise((request) => `What is "${request.lastUserText}"?`)
 * )
 *
 * const program = LanguageModel.generateText({ prompt: "xyzzy" }).pipe(
 *   Effect.map((response) => response.text),
 *   Effect.provide(MockModel.layer(handler))
 * )
 *
 * await Effect.runPromise(program) // => 'What is "xyzzy"?'
 * ```
 *
 * @since 0.1.0
 */
import * as LanguageModel from "effect/ai/LanguageModel"
import type * as Tool from "effect/ai/Tool"
import type * as Toolkit from "effect/ai/Toolkit"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import { CurrentOverrides } from "../agent/definition/Overrides.ts"
import * as StandIn from "../agent/definition/StandIn.ts"
import { listOf } from "../domain/Described.ts"
import { countOf } from "../domain/InvalidLimit.ts"
import * as NativeModel from "../model/NativeModel.ts"
import { type Building, CurrentBuilding, type Handler, handlerOf } from "./Handler.ts"
import { shownRequest } from "./handler/Shown.ts"
import type { StateMachine } from "./handler/StateMachine.ts"
import { type CallOfTool, handlersOf, type ToolTable } from "./MockTools.ts"
import { type Call, ModelSession, providerOf } from "./ModelSession.ts"

export {
  type Answer,
  type Declined,
  type Handler,
  type Reply,
  type ReplyFunction,
  UnansweredRequest
} from "./Handler.ts"
export * from "./handler/Combined.ts"
export { type Case, type Condition, conditional, otherwise, type Pattern, when } from "./handler/Conditional.ts"
export * from "./handler/Debug.ts"
export * from "./handler/FromSchemas.ts"
export * from "./handler/Replies.ts"
export * from "./handler/StateMachine.ts"
export * from "./handler/Transcript.ts"
export type { MockRequest } from "./MockRequest.ts"
export { type CallOfTool, type ToolTable, UnansweredCall } from "./MockTools.ts"
export type { Call } from "./ModelSession.ts"

/** The records of a mock model: its requests, the calls of tools, and the states of its handlers. */
interface Service {
  readonly calls: Effect.Effect<ReadonlyArray<Call>>
  readonly toolCalls: Array<CallOfTool>
  readonly given: ModelSession<unknown>["given"]
  readonly told: Building["told"]
}

/**
 * The service of a mock model, from which `calls`, `toolCalls`, `history` and the assertions read.
 *
 * @category services
 * @since 0.1.0
 */
export class MockModel extends Context.Service<MockModel, Service>()("troupe/testing/MockModel") {}

/**
 * Returns each request so far with its response, in the order in which the requests came.
 *
 * @category getters
 * @since 0.1.0
 */
export const calls: Effect.Effect<ReadonlyArray<Call>, never, MockModel> = Effect.flatMap(
  MockModel,
  (model) => model.calls
)

/**
 * Returns each call of a tool that `handlers` got so far, in order, with its outcome once it has one.
 *
 * @category getters
 * @since 0.1.0
 */
export const toolCalls: Effect.Effect<ReadonlyArray<CallOfTool>, never, MockModel> = Effect.map(
  MockModel,
  (model) => model.toolCalls.slice()
)

/** Says why a machine has no history for an agent. `agents` are those that it has histories for: `""` outside of a `byAgent`. */
const noHistory = (agent: string | undefined, agents: ReadonlyArray<string>): string =>
  agents.length === 0
    ? "The mock model isn't made of this state machine, or has it only inside a `repeat`, which keeps no history"
    : agents.includes("")
    ? `This state machine has one history for all agents, and none for agent "${agent}" alone: leave the agent out`
    : `This state machine has no history for agent "${agent}"; available: ${listOf(agents)}`

/**
 * Returns the states that a machine went through, the initial one first and the current one last.
 *
 * A machine that answers for several agents in `byAgent` has a history for each: without `agent`, that of the first is returned. Dies if
 * the mock model isn't made of this machine, has it only inside a `repeat`, or doesn't have it for `agent`.
 *
 * @category getters
 * @since 0.1.0
 */
export const history = <Name extends string>(
  machine: StateMachine<Name, unknown>,
  agent?: string
): Effect.Effect<ReadonlyArray<Name>, never, MockModel> =>
  Effect.flatMap(MockModel, ({ told }) => {
    const histories = told.filter(({ handler }) => handler === machine)
    const found = histories.find((told) => agent === undefined || told.agent === agent)
    return found?.history === undefined
      ? Effect.die(new Error(noHistory(agent, histories.map(({ agent }) => agent))))
      : Effect.succeed(found.history() as ReadonlyArray<Name>)
  })

/**
 * Error for a script that wasn't used up. `assertDrained` dies with it. `left` says in words what each handler has left.
 *
 * @category errors
 * @since 0.1.0
 */
export class LeftOver extends Schema.TaggedError<LeftOver>("troupe/testing/MockModel/LeftOver")("LeftOver", {
  left: Schema.Array(Schema.String)
}) {
  override get message(): string {
    return `Never asked for: ${this.left.join("; ")}`
  }
}

/**
 * Error for an unexpected number of requests. `expectCalls` dies with it. `calls` has a line for each request.
 *
 * @category errors
 * @since 0.1.0
 */
export class UnexpectedCalls
  extends Schema.TaggedError<UnexpectedCalls>("troupe/testing/MockModel/UnexpectedCalls")("UnexpectedCalls", {
    expected: Schema.Int,
    calls: Schema.Array(Schema.String)
  })
{
  override get message(): string {
    return [`Expected ${this.expected} requests to the model, and there were ${this.calls.length}`, ...this.calls].join(
      "\n  "
    )
  }
}

/**
 * Dies with `LeftOver` unless all replies of `queue`, `transcript`, `failTimes` and `repeat` with `times` were used.
 *
 * Of a `repeat` only the repetitions are counted: a queue inside it may have replies left.
 *
 * @category assertions
 * @since 0.1.0
 */
export const assertDrained: Effect.Effect<void, never, MockModel> = Effect.flatMap(MockModel, ({ told }) => {
  const left = told.flatMap(({ agent, left }) => {
    const what = left?.()
    return what === undefined ? [] : [agent === "" ? what : `${what} of agent "${agent}"`]
  })
  return left.length === 0 ? Effect.void : Effect.die(new LeftOver({ left }))
})

/**
 * Dies with `UnexpectedCalls` unless the model got exactly `count` requests, failed ones and those in flight included. An invalid `count`,
 * such as a negative number or a fraction, dies with `InvalidLimit`.
 *
 * @category assertions
 * @since 0.1.0
 */
export const expectCalls = (count: number): Effect.Effect<void, never, MockModel> =>
  Effect.flatMap(calls, (calls) =>
    calls.length === countOf("expectCalls", count, 0)
      ? Effect.void
      : Effect.die(
        new UnexpectedCalls({ expected: count, calls: calls.map(({ request }) => shownRequest(request)) })
      ))

/**
 * Options of `layer`.
 *
 * With `replacesOwn`, `false` by default, the mock also answers for agents, modes and context windows that have their own model. Those
 * models aren't built then.
 *
 * @category models
 * @since 0.1.0
 */
export interface LayerOptions {
  readonly replacesOwn?: boolean
}

/**
 * Provides a language model that answers as the handler says, and records its `calls`.
 *
 * A request for which the handler has no answer dies with `UnansweredRequest`. The layer needs the services that the handler needs. If the
 * caller of the model provides such a service, the handler gets the caller's.
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = <R>(
  handler: Handler<R>,
  options?: LayerOptions
): Layer.Layer<LanguageModel.LanguageModel | MockModel, never, Exclude<R, Scope.Scope>> => {
  const script = handlerOf("The handler of `MockModel.layer`", handler)
  return Layer.effectContext(Effect.gen(function*() {
    const told: Building["told"] = []
    const make = Effect.provideService(script.make, CurrentBuilding, { agent: "", told })
    const session = new ModelSession(yield* make, yield* Effect.context<R>())
    const model = yield* NativeModel.make(providerOf(session))
    const provided = Context.make(LanguageModel.LanguageModel, model).pipe(
      Context.add(MockModel, {
        calls: Effect.sync(() => session.calls.slice()),
        toolCalls: [],
        given: (id, turn, agent) => session.given(id, turn, agent),
        told
      })
    )
    if (options?.replacesOwn !== true) return provided
    const override = Layer.succeed(LanguageModel.LanguageModel, model)
    return Context.add(provided, CurrentOverrides, { model: () => override })
  }))
}

/**
 * Provides mock handlers for a toolkit, in place of those from the environment and of those that an agent's toolkit brings.
 *
 * Each call returns the `result` that the script set in `MockResponse.toolCall`, or else what `table` has for its tool. `toolCalls` returns
 * these calls.
 *
 * **Details**
 *
 * Results are what the tools' own handlers would return, so they are encoded by the schema of the tool. With `isFailure` the handler fails
 * with the `result`. A call without a result in the script or the table dies with `UnansweredCall`.
 *
 * They stand in for handlers that a toolkit brings (`yield* toolkit`) only in runs of agents, not where `effect/ai` itself runs the tools.
 * Nor do they reach another tool of the same name.
 *
 * **Example** (A tool that is never run)
 *
 * ```ts
 * import { Effect, Layer, Schema } from "effect"
 * import { Tool, Toolkit } from "effect/ai"
 * import { Agent, AgentState } from "troupe"
 * import { MockModel, MockResponse } from "troupe/testing"
 *
 * const Weather = Toolkit.make(
 *   Tool.make("get_weather", { parameters: Schema.Struct({ city: Schema.String }), success: Schema.Finite })
 * )
 * const agent = Agent.make("weather", { toolkit: Weather })
 *
 * const model = MockModel.layer(MockModel.queue(
 *   MockResponse.toolCall("get_weather", { city: "Paris" }, { result: 22 }),
 *   (request) => `It is ${request.lastToolResults[0]?.result} °C.`
 * ))
 *
 * const program = Effect.gen(function*() {
 *   const state = yield* Agent.run(agent, "How warm is Paris?")
 *   const calls = yield* MockModel.toolCalls
 *   return { text: AgentState.text(state), called: calls.map((call) => call.params) }
 * })
 *
 * const result = await Effect.runPromise(
 *   program.pipe(Effect.provide(MockModel.handlers(Weather).pipe(Layer.provideMerge(model))))
 * )
 *
 * result.text // => "It is 22 °C."
 * result.called // => [{ city: "Paris" }]
 * ```
 *
 * @category layers
 * @since 0.1.0
 */
export const handlers = <Tools extends Record<string, Tool.Any>>(
  toolkit: Toolkit.Toolkit<Tools>,
  table: ToolTable<Tools> = {}
): Layer.Layer<Tool.HandlersFor<Tools>, never, MockModel> =>
  Layer.effectContext(Effect.flatMap(MockModel, ({ given, toolCalls }) => {
    const made = handlersOf(toolkit, table, given, toolCalls)
    return Effect.map(
      toolkit.toHandlers(made as Toolkit.HandlersFrom<Tools>),
      (handlers) =>
        Object.entries(made).reduce(
          (context, [name, handler]) => StandIn.add(context, toolkit.tools[name]!, handler),
          handlers
        )
    )
  }))
