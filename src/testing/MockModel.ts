/**
 * A language model that answers as a handler says, under the real `LanguageModel.make`.
 *
 * 1. All of `effect/ai` runs on it: parts are decoded, spans opened, streams streamed. Only the provider is a mock.
 * 2. State (a queue's position, the number of calls, what was recorded) belongs to the layer that is built and lives as
 *    long as it. Two layers of one handler share nothing.
 * 3. A request without a scripted response is a defect, which names the request.
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
import * as NativeModel from "../model/NativeModel.ts"
import { type Building, CurrentBuilding, type Handler } from "./Handler.ts"
import { shownRequest } from "./handler/Shown.ts"
import type { StateMachine } from "./handler/StateMachine.ts"
import type { GivenResult } from "./MockResponse.ts"
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
  readonly given: (id: string) => GivenResult | undefined
  readonly told: Building["told"]
}

/**
 * The mock model whose calls can be read.
 *
 * @category services
 * @since 0.1.0
 */
export class MockModel extends Context.Service<MockModel, Service>()("troupe/testing/MockModel") {}

/**
 * Returns each request so far with its response, in order.
 *
 * @category getters
 * @since 0.1.0
 */
export const calls: Effect.Effect<ReadonlyArray<Call>, never, MockModel> = Effect.flatMap(
  MockModel,
  (model) => model.calls
)

/**
 * Returns each call of a tool so far that `handlers` answered, with its outcome.
 *
 * @category getters
 * @since 0.1.0
 */
export const toolCalls: Effect.Effect<ReadonlyArray<CallOfTool>, never, MockModel> = Effect.map(
  MockModel,
  (model) => model.toolCalls.slice()
)

/**
 * Returns the states that a machine went through, the initial one first and the current one last.
 *
 * A machine that answers for several agents has a history for each. Without an agent this is that of the first.
 *
 * @category getters
 * @since 0.1.0
 */
export const history = <Name extends string>(
  machine: StateMachine<Name, unknown>,
  agent?: string
): Effect.Effect<ReadonlyArray<Name>, never, MockModel> =>
  Effect.flatMap(MockModel, ({ told }) => {
    const found = told.find((told) => told.handler === machine && (agent === undefined || told.agent === agent))
    return found?.history === undefined
      ? Effect.die(new Error("The mock model isn't made of this state machine"))
      : Effect.succeed(found.history() as ReadonlyArray<Name>)
  })

/**
 * Error for a script that wasn't used up. `assertDrained` dies with it.
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
 * Error for an unexpected number of requests. `expectCalls` dies with it.
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
    return [`Expected ${this.expected} calls of the model, and there were ${this.calls.length}`, ...this.calls].join(
      "\n  "
    )
  }
}

/**
 * Dies unless all replies of queues, transcripts, failures and counted repetitions were used.
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
 * Dies unless the model was called so many times.
 *
 * @category assertions
 * @since 0.1.0
 */
export const expectCalls = (count: number): Effect.Effect<void, never, MockModel> =>
  Effect.flatMap(calls, (calls) =>
    calls.length === count
      ? Effect.void
      : Effect.die(
        new UnexpectedCalls({ expected: count, calls: calls.map(({ request }) => shownRequest(request)) })
      ))

/**
 * How a mock model is provided.
 *
 * With `replacesOwn` it also answers for agents, modes and context windows with a model of their own, which isn't built then.
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
 * The layer needs what the handler needs. If a caller has a service of the same kind, the handler gets the caller's.
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = <R>(
  handler: Handler<R>,
  options?: LayerOptions
): Layer.Layer<LanguageModel.LanguageModel | MockModel, never, Exclude<R, Scope.Scope>> =>
  Layer.effectContext(Effect.gen(function*() {
    const told: Building["told"] = []
    const make = Effect.provideService(handler.make, CurrentBuilding, { agent: "", told })
    const session = new ModelSession(yield* make, yield* Effect.context<R>())
    const model = yield* NativeModel.make(providerOf(session))
    const provided = Context.make(LanguageModel.LanguageModel, model).pipe(
      Context.add(MockModel, {
        calls: Effect.sync(() => session.calls.slice()),
        toolCalls: [],
        given: (id) => session.given(id),
        told
      })
    )
    if (options?.replacesOwn !== true) return provided
    const override = Layer.succeed(LanguageModel.LanguageModel, model)
    return Context.add(provided, CurrentOverrides, { model: () => override })
  }))

/**
 * Provides handlers for a toolkit that answer each call with the result that the script gave for it by
 * `MockResponse.toolCall`, else from a table, and take down the calls for `toolCalls`.
 *
 * **Details**
 *
 * Results are what the tools' own handlers would return, so `effect/ai` encodes them by the schema of the tool. A call without a result in
 * the script or the table is a defect, which names the call.
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
  toolkit.toLayer(
    Effect.map(
      MockModel,
      ({ given, toolCalls }) => handlersOf(toolkit, table, given, toolCalls) as Toolkit.HandlersFrom<Tools>
    )
  )
