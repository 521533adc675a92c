/**
 * A language model that answers as a handler says, under the real `LanguageModel.make`.
 *
 * 1. All of `effect/ai` runs on it: parts are decoded, spans opened, streams streamed. Only the provider is a mock.
 * 2. State (a queue's position, the number of calls, what was recorded) belongs to the layer that is built and lives as
 *    long as it. Two layers of one handler share nothing.
 * 3. A request that no response was foreseen for is a defect, which says which request it was.
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
import type * as AiError from "effect/ai/AiError"
import * as LanguageModel from "effect/ai/LanguageModel"
import * as Channel from "effect/Channel"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { CurrentAgent } from "../agent/CurrentAgent.ts"
import * as Delivery from "./Delivery.ts"
import { type Answer, type Handler, UnansweredRequest } from "./Handler.ts"
import * as MockRequest from "./MockRequest.ts"
import * as MockResponse from "./MockResponse.ts"

export * from "./Handler.ts"
export type { MockRequest } from "./MockRequest.ts"

/**
 * A request with its response, a failing one too. A call in flight, one that died and a stream that wasn't read to its
 * end have no response.
 *
 * @category models
 * @since 0.1.0
 */
export interface Call {
  readonly request: MockRequest.MockRequest
  readonly response?: MockResponse.MockResponse
}

/**
 * The mock model whose calls can be read.
 *
 * @category services
 * @since 0.1.0
 */
export class MockModel extends Context.Service<MockModel, {
  readonly calls: Effect.Effect<ReadonlyArray<Call>>
}>()("troupe/testing/MockModel") {}

/**
 * Gives each request so far with its response, in the order in which they were made.
 *
 * @category getters
 * @since 0.1.0
 */
export const calls: Effect.Effect<ReadonlyArray<Call>, never, MockModel> = Effect.flatMap(
  MockModel,
  (model) => model.calls
)

/** A response that is about to be sent, and what to do once it is. */
interface Sending {
  readonly delivery: Delivery.Delivery
  readonly sent: () => void
}

/** The calls of one layer, and the ids of the tool calls in them. */
class Session {
  readonly calls: Array<Call> = []
  readonly #answer: Answer
  readonly #taken = new Set<string>()
  #ids = 0

  constructor(answer: Answer) {
    this.#answer = answer
  }

  ask(options: LanguageModel.ProviderOptions, streaming: boolean): Effect.Effect<Sending, AiError.AiError> {
    return Effect.withFiber((fiber) => {
      const index = this.calls.length
      const request = MockRequest.make(options, fiber.getRef(CurrentAgent), index + 1, streaming)
      this.calls.push({ request })
      return this.#answer(request).pipe(
        Effect.catch((error) => Effect.succeed(MockResponse.fail(error))),
        Effect.flatMap((response) => {
          if (response._tag === "Declined") {
            const { agent, callCount, lastUserText } = request
            return Effect.die(new UnansweredRequest({ callCount, agent, lastUserText, reason: response.reason }))
          }
          for (const id of Delivery.ownIds(response)) this.#taken.add(id)
          const delivery = Delivery.address(response, this.#nextId)
          const sending = Effect.succeed({
            delivery,
            sent: () => {
              this.calls[index] = { request, response: delivery }
            }
          })
          return delivery.delay === undefined ? sending : Effect.delay(sending, delivery.delay)
        })
      )
    })
  }

  readonly #nextId = (): string => {
    let id
    do id = `call_${++this.#ids}`
    while (this.#taken.has(id))
    return id
  }
}

const generate = ({ delivery, sent }: Sending) => {
  sent()
  return delivery.failure === undefined
    ? Effect.succeed(Delivery.toParts(delivery))
    : Effect.fail(delivery.failure.error)
}

const stream = ({ delivery, sent }: Sending) => {
  const [chunks, finish] = Delivery.toChunks(delivery)
  return Stream.concat(
    Stream.fromChannel(Channel.fromArray(chunks)),
    Stream.suspend(() => {
      sent()
      return delivery.failure === undefined ? Stream.fromArray(finish) : Stream.fail(delivery.failure.error)
    })
  )
}

/**
 * Provides a language model that answers as the handler says, and `calls` with what it was asked.
 *
 * What the handler needs, the layer needs. Where a caller has a service of the same kind, the handler sees the caller's.
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = <R>(
  handler: Handler<R>
): Layer.Layer<LanguageModel.LanguageModel | MockModel, never, Exclude<R, Scope.Scope>> =>
  Layer.effectContext(Effect.gen(function*() {
    const services = yield* Effect.context<R>()
    const answer = yield* handler.make
    const session = new Session((request) =>
      Effect.updateContext(
        Effect.suspend(() => answer(request)),
        (context: Context.Context<never>) => Context.merge(services, context)
      )
    )
    const model = yield* LanguageModel.make({
      generateText: (options) => Effect.flatMap(session.ask(options, false), generate),
      streamText: (options) => Stream.unwrap(Effect.map(session.ask(options, true), stream))
    })
    return Context.make(LanguageModel.LanguageModel, model).pipe(
      Context.add(MockModel, { calls: Effect.sync(() => session.calls.slice()) })
    )
  }))
