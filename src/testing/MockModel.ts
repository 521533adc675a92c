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
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import type * as Pull from "effect/Pull"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { CurrentAgent } from "../agent/CurrentAgent.ts"
import * as Delivery from "./Delivery.ts"
import { type Answer, type Declined, type Handler, UnansweredRequest } from "./Handler.ts"
import * as MockRequest from "./MockRequest.ts"
import * as MockResponse from "./MockResponse.ts"

export * from "./Handler.ts"
export type { MockRequest } from "./MockRequest.ts"

/**
 * A request with its response, a failing one too. A call that is in flight, was interrupted or died has no response, nor
 * has a stream that wasn't read to its end.
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
class Session<R> {
  readonly calls: Array<Call> = []
  readonly #answer: Answer<R>
  readonly #services: Context.Context<R>
  readonly #taken = new Set<string>()
  #ids = 0

  constructor(answer: Answer<R>, services: Context.Context<R>) {
    this.#answer = answer
    this.#services = services
  }

  ask(options: LanguageModel.ProviderOptions, streaming: boolean): Effect.Effect<Sending, AiError.AiError> {
    return Effect.withFiber((fiber) => {
      const index = this.calls.length
      const request = MockRequest.make(options, fiber.getRef(CurrentAgent), index + 1, streaming)
      this.calls.push({ request })
      const answer = this.#answer(request)
      const provided: ReturnType<Answer> = Exit.isExit(answer)
        ? answer as ReturnType<Answer>
        : Effect.updateContext(answer, (context: Context.Context<never>) => Context.merge(this.#services, context))
      return Effect.matchEffect(provided, {
        onFailure: (error) => this.#send(index, MockResponse.fail(error)),
        onSuccess: (response) =>
          response._tag === "Declined" ? Effect.die(unanswered(request, response)) : this.#send(index, response)
      })
    })
  }

  #send(index: number, response: MockResponse.MockResponse): Effect.Effect<Sending> {
    for (const part of response.parts) {
      if (part.type === "tool-call" && part.id !== undefined) this.#taken.add(part.id)
    }
    const delivery = Delivery.address(response, this.#nextId)
    const sending = Effect.succeed({
      delivery,
      sent: () => {
        this.calls[index] = { request: this.calls[index]!.request, response: delivery }
      }
    })
    return delivery.delay === undefined ? sending : Effect.delay(sending, delivery.delay)
  }

  readonly #nextId = (): string => {
    let id
    do id = `call_${++this.#ids}`
    while (this.#taken.has(id))
    return id
  }
}

const unanswered = ({ agent, callCount, lastUserText }: MockRequest.MockRequest, { reason }: Declined) =>
  new UnansweredRequest({ agent, callCount, lastUserText, reason })

const whole = ({ delivery, sent }: Sending) => {
  if (delivery.hang !== undefined) return Effect.never
  sent()
  return delivery.failure === undefined
    ? Effect.succeed(Delivery.toParts(delivery))
    : Effect.fail(delivery.failure.error)
}

/** A response is sent once its last chunk, which finishes it, is pulled, or where it breaks. */
const streamed = ({ delivery, sent }: Sending): Pull.Pull<Delivery.Chunk, AiError.AiError> => {
  const chunks = Delivery.toChunks(delivery)
  const ends = Delivery.ends(delivery)
  let next = 0
  return Effect.suspend((): Pull.Pull<Delivery.Chunk, AiError.AiError> => {
    const index = next++
    if (index < chunks.length - 1 || (!ends && index < chunks.length)) return Effect.succeed(chunks[index]!)
    if (!ends) return Effect.never
    sent()
    if (index < chunks.length) return Effect.succeed(chunks[index]!)
    return delivery.failure === undefined ? Cause.done() : Effect.fail(delivery.failure.error)
  })
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
    const session = new Session(yield* handler.make, yield* Effect.context<R>())
    const model = yield* LanguageModel.make({
      generateText: (options) => Effect.flatMap(session.ask(options, false), whole),
      streamText: (options) => Stream.fromPull(Effect.map(session.ask(options, true), streamed))
    })
    return Context.make(LanguageModel.LanguageModel, model).pipe(
      Context.add(MockModel, { calls: Effect.sync(() => session.calls.slice()) })
    )
  }))
