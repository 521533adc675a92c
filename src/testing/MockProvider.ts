/**
 * A model provider on the wire, in its clients' protocols, whose models answer as a handler says.
 *
 * 1. It speaks as the providers do: OpenAI's chat completions and responses, Anthropic's messages, streamed or not.
 * 2. The same request gets exactly the same response, ids and times included, if the handler's answer is the same.
 * 3. A request that the provider would refuse is refused, in the provider's words as clients have reported them in public: common messages
 *    are exact, rare ones may differ.
 * 4. A request that carries an `InstructionChain` is answered by its step.
 * 5. It opens no socket by itself: it is a `fetch`, or answers for an `HttpClient`, or is served by an `HttpServer`.
 * 6. It stores nothing: `previous_response_id` is never found, and an `item_reference` stands for an item of the kind that the prefix of
 *    its id names. A request with a `thread`, a conversation that Anthropic would store, is refused, so that the client sends the whole
 *    conversation.
 * 7. If Anthropic's thinking is `enabled`, a turn that calls tools begins with a thinking block, which is empty if the script has none.
 *
 * **Example** (Ask it as a client does)
 *
 * ```ts
 * import { MockModel, MockProvider } from "troupe/testing"
 *
 * const provider = MockProvider.make({ handler: MockModel.queue("It is 22 °C.") })
 *
 * const response = await provider.fetch("https://api.openai.com/v1/chat/completions", {
 *   method: "POST",
 *   body: JSON.stringify({ model: "gpt-5", messages: [{ role: "user", content: "How warm is Paris?" }] })
 * })
 * const completion = await response.json()
 *
 * response.status // => 200
 * completion.choices[0].message.content // => "It is 22 °C."
 * completion.choices[0].finish_reason // => "stop"
 * ```
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as HttpClient from "effect/http/HttpClient"
import * as HttpEffect from "effect/http/HttpEffect"
import * as HttpServer from "effect/http/HttpServer"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import { type Answer, type Handler, handlerOf } from "./Handler.ts"
import type * as InstructionChain from "./InstructionChain.ts"
import type { Asked, Bodies } from "./provider/Asked.ts"
import type { ChatRequest } from "./provider/ChatRequest.ts"
import { choose } from "./provider/Choosing.ts"
import { type Entry, Journal, type Miss, type Outcome } from "./provider/Journal.ts"
import type { MessagesRequest } from "./provider/MessagesRequest.ts"
import type { ResponsesRequest } from "./provider/ResponsesRequest.ts"
import { type Arrived, respond } from "./provider/Session.ts"
import { counter, type Status } from "./provider/Statuses.ts"

export type { ChatRequest, Entry, MessagesRequest, Miss, Outcome, ResponsesRequest, Status }

const isOf = <Name extends keyof Bodies>(
  asked: Asked | undefined,
  name: Name
): asked is Asked & { readonly body: Bodies[Name] } => asked?.protocol === name

/**
 * What a mock provider answers, and how it fails.
 *
 * **Details**
 *
 * - `chain` answers conversations that carry no instruction chain of their own: the model's turn n with its step n.
 * - `handler` answers if no step of an instruction chain does. Without a handler, or if it has no answer, the answer is the last user text.
 * - `strict`, `false` by default, replaces that answer: a request that no script answers gets an error with the status 400, and so does a
 *   request whose chain has no step for it, even if there is a handler. Closing the layer dies with `MissedRequests` if there was such a
 *   request or a refused one. A request that is refused for its `thread` doesn't count, since its client then sends the whole conversation.
 * - `unknownFields` says what to do with a field of a request that the provider doesn't know: `"refuse"`, the default, refuses the request;
 *   `"take"` accepts it, as some compatible servers do.
 * - `status` has the statuses to send in turn, such as `[429, 500, 200]`; none by default. Each body of a request is counted apart, so that
 *   a retry gets the next status and parallel conversations don't take each other's. For a status below 300, and after the last one,
 *   requests are answered normally.
 * - `retryAfter` is how long a 429, 503 or 529 among them tells clients to wait, 0 by default. A `retry-after` in the status's own headers
 *   replaces it.
 * - `apiKey` is the only accepted key: a request with another or none gets a 401. By default any key is accepted, and none is needed.
 * - `models` are the only accepted models: a request for another gets a 404. By default any name is accepted.
 * - `journal` is how many requests are remembered, and how many misses, by default 1000.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options<R = never> {
  readonly chain?: InstructionChain.InstructionChain
  readonly handler?: Handler<R>
  readonly strict?: boolean
  readonly unknownFields?: "refuse" | "take"
  readonly status?: ReadonlyArray<Status>
  readonly retryAfter?: Duration.Input
  readonly apiKey?: string
  readonly models?: ReadonlyArray<string>
  readonly journal?: number
}

/**
 * A mock provider at work.
 *
 * **Details**
 *
 * - `fetch` answers a request to any host, by its path. Clients take it as their `fetch`. If the request's signal is aborted, `fetch`
 *   rejects with the reason, or the body breaks off with it.
 * - `entries` are the last requests, as many as the option `journal` says, in the order in which they arrived, with their outcomes.
 * - `requests` are the bodies of those of `entries` that are of one protocol, weren't refused by the provider, and got no error of
 *   `status`.
 * - `wait` waits until `count` requests have arrived since the provider was made, and returns `entries`.
 * - `misses` are the last requests that no script answered, with the reason: the handler declined or died, the chain has no step for it, or
 *   the path isn't served. A request whose chain has no step for it is a miss even if the handler answers it. If the provider is strict,
 *   the misses include requests that have no script at all, and refused ones.
 * - `assertNoMisses` dies with `MissedRequests` if there are any.
 * - `close` breaks off every response that hangs, now or later, with a `TypeError`.
 *
 * @category models
 * @since 0.1.0
 */
export interface Provider {
  readonly fetch: (input: string | URL | Request, init?: RequestInit) => Promise<Response>
  readonly entries: Effect.Effect<ReadonlyArray<Entry>>
  readonly requests: <Name extends keyof Bodies>(protocol: Name) => Effect.Effect<ReadonlyArray<Bodies[Name]>>
  readonly wait: (count: number) => Effect.Effect<ReadonlyArray<Entry>>
  readonly misses: Effect.Effect<ReadonlyArray<Miss>>
  readonly assertNoMisses: Effect.Effect<void>
  readonly close: Effect.Effect<void>
}

/**
 * The service of a mock provider, from which `entries`, `requests`, `misses` and the like read.
 *
 * @category services
 * @since 0.1.0
 */
export class MockProvider extends Context.Service<MockProvider, Provider>()("troupe/testing/MockProvider") {}

/**
 * Error for the `misses` of a mock provider. `assertNoMisses` dies with it. So does closing a layer, if the provider is
 * strict or if a handler died.
 *
 * `misses` are the last of them, as many as the option `journal` says, and `earlier` counts those before.
 *
 * @category errors
 * @since 0.1.0
 */
export class MissedRequests
  extends Schema.TaggedError<MissedRequests>("troupe/testing/MockProvider/MissedRequests")("MissedRequests", {
    misses: Schema.Array(Schema.Struct({ number: Schema.Int, reason: Schema.String, isDefect: Schema.Boolean })),
    earlier: Schema.Natural
  })
{
  override get message(): string {
    const count = this.misses.length + this.earlier
    const earlier = this.earlier === 0 ? [] : [`\n  ${this.earlier} before these`]
    const lines = this.misses.map(({ number, reason }) => `\n  request ${number}: ${reason}`)
    return `The mock provider missed ${count === 1 ? "a request" : "requests"}${[...earlier, ...lines].join("")}`
  }
}

const unlessAborted = async <A>(promise: Promise<A>, signal: AbortSignal): Promise<A> => {
  try {
    return await promise
  } catch (error) {
    throw signal.aborted ? signal.reason : error
  }
}

/**
 * Makes a provider, and a `verdict`, which dies with `MissedRequests`: of all misses if the provider is strict, otherwise of the handler's
 * defects.
 */
const build = <R>(options: Options<R>, context: Context.Context<R>) => {
  const { apiKey, chain, handler, journal: limit = 1000, models, retryAfter = 0, status = [] } = options
  const { strict: isStrict = false } = options
  const journal = new Journal(limit)
  const closing = new AbortController()
  // A request that nothing references may be garbage-collected, and then doesn't notice an abort.
  const underway = new Set<Request>()
  const made = handler === undefined
    ? Effect.succeed(undefined)
    : Effect.runSync(Effect.cached(handlerOf("The handler of a `MockProvider`", handler).make))
  const settings = {
    apiKey,
    models,
    choose: (asked: Asked, arrived: Arrived) =>
      Effect.flatMap(
        made,
        (answer: Answer<R> | undefined) => choose(asked, arrived, { chain, handler: answer, isStrict })
      ),
    attempt: counter(status, Duration.toSeconds(Duration.fromInputUnsafe(retryAfter))),
    journal,
    isStrict,
    takesUnknown: options.unknownFields === "take",
    closing: closing.signal
  }
  const entries = Effect.sync(() => journal.entries)
  const dieOf = ({ earlier, kept }: typeof journal.misses): Effect.Effect<void> =>
    kept.length + earlier === 0 ? Effect.void : Effect.die(new MissedRequests({ misses: kept, earlier }))
  const provider: Provider = {
    fetch: (input, init) => {
      const request = input instanceof Request && init === undefined ? input : new Request(input, init)
      underway.add(request)
      const { signal } = request
      return unlessAborted(Effect.runPromiseWith(context)(respond(settings, request), { signal }), signal)
        .finally(() => underway.delete(request))
    },
    entries,
    requests: <Name extends keyof Bodies>(name: Name) =>
      Effect.map(
        entries,
        (entries) => entries.flatMap(({ asked }) => isOf(asked, name) ? [asked.body] : [])
      ),
    wait: (count) => Effect.andThen(journal.wait(count), entries),
    misses: Effect.sync(() => journal.misses.kept),
    assertNoMisses: Effect.suspend(() => dieOf(journal.misses)),
    close: Effect.sync(() => closing.abort())
  }
  const verdict = Effect.suspend(() => dieOf(isStrict ? journal.misses : journal.defects))
  return { provider, verdict }
}

/**
 * Makes a mock provider from a handler that needs no services.
 *
 * **Gotchas**
 *
 * Nothing fails by itself if a strict provider has no answer or a handler dies: end the test with `assertNoMisses`, or use a layer.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (options: Options = {}): Provider => build(options, Context.empty()).provider

/** A provider that is closed with its scope. Closing a strict one dies with its misses. */
const scoped = <R>(options: Options<R>): Effect.Effect<Provider, never, R | Scope.Scope> =>
  Effect.flatMap(Effect.context<R>(), (context) => {
    const { provider, verdict } = build(options, context)
    return Effect.as(Effect.addFinalizer(() => Effect.andThen(provider.close, verdict)), provider)
  })

/**
 * Provides a mock provider. Its `fetch` runs with the services and the clock of the layer.
 *
 * Closing the layer closes the provider. It dies with `MissedRequests` if a handler died, or if the provider is `strict` and there are
 * misses.
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = <R = never>(options: Options<R> = {}): Layer.Layer<MockProvider, never, Exclude<R, Scope.Scope>> =>
  Layer.effect(MockProvider, scoped(options))

/**
 * Provides a mock provider and an `HttpClient` that sends every request to it. Closing it may die with `MissedRequests`: see `layer`.
 *
 * @category layers
 * @since 0.1.0
 */
export const layerHttpClient = <R = never>(
  options: Options<R> = {}
): Layer.Layer<MockProvider | HttpClient.HttpClient, never, Exclude<R, Scope.Scope>> =>
  Layer.effect(
    HttpClient.HttpClient,
    Effect.gen(function*() {
      const { fetch } = yield* MockProvider
      const client = yield* HttpClient.HttpClient
      return HttpClient.transformResponse(client, Effect.provideService(FetchHttpClient.Fetch, fetch))
    })
  ).pipe(Layer.provide(FetchHttpClient.layer), Layer.provideMerge(layer(options)))

/**
 * Provides a mock provider, and its `fetch` to every `HttpClient` of `FetchHttpClient.layer`. Closing it may die with `MissedRequests`: see
 * `layer`.
 *
 * @category layers
 * @since 0.1.0
 */
export const layerFetch = <R = never>(
  options: Options<R> = {}
): Layer.Layer<MockProvider, never, Exclude<R, Scope.Scope>> =>
  Layer.effect(FetchHttpClient.Fetch, Effect.map(MockProvider, ({ fetch }) => fetch)).pipe(
    Layer.provideMerge(layer(options))
  )

/**
 * Provides a mock provider that an `HttpServer` serves: any one, of Node, Bun or a test. Closing it may die with `MissedRequests`: see
 * `layer`.
 *
 * @category layers
 * @since 0.1.0
 */
export const layerServer = <R = never>(
  options: Options<R> = {}
): Layer.Layer<MockProvider, never, HttpServer.HttpServer | Exclude<R, Scope.Scope>> =>
  Layer.effect(
    MockProvider,
    Effect.gen(function*() {
      const provider = yield* scoped(options)
      // A server makes what it runs uninterruptible. Without this, a request would continue after its client is gone.
      yield* HttpServer.serveEffect(Effect.interruptible(HttpEffect.fromWebHandler(provider.fetch)))
      // This runs before the server is closed, because closing it waits for responses that hang.
      yield* Effect.addFinalizer(() => provider.close)
      return provider
    })
  )

/**
 * Returns the URL at which this machine reaches an `HttpServer`, without a slash at its end. A server on all addresses is reached at
 * 127.0.0.1.
 *
 * @category getters
 * @since 0.1.0
 */
export const url: Effect.Effect<string, never, HttpServer.HttpServer> = Effect.map(
  HttpServer.HttpServer,
  ({ address }) => HttpServer.formatAddress(address).replace(/\/\/(0\.0\.0\.0|\[::\])(?=:|$)/, "//127.0.0.1")
)

/**
 * Returns the last requests with their outcomes, as many as the option `journal` says.
 *
 * @category getters
 * @since 0.1.0
 */
export const entries: Effect.Effect<ReadonlyArray<Entry>, never, MockProvider> = Effect.flatMap(
  MockProvider,
  (provider) => provider.entries
)

/**
 * Returns the bodies of the remembered requests of one protocol that the provider didn't refuse and that got no error of `status`.
 *
 * @category getters
 * @since 0.1.0
 */
export const requests = <Name extends keyof Bodies>(
  protocol: Name
): Effect.Effect<ReadonlyArray<Bodies[Name]>, never, MockProvider> =>
  Effect.flatMap(MockProvider, (provider) => provider.requests(protocol))

/**
 * Waits until `count` requests have arrived since the provider was made, and returns `entries`.
 *
 * @category getters
 * @since 0.1.0
 */
export const wait = (count: number): Effect.Effect<ReadonlyArray<Entry>, never, MockProvider> =>
  Effect.flatMap(MockProvider, (provider) => provider.wait(count))

/**
 * Returns the last requests that no script answered, with the reasons: the handler declined or died, the chain has no step for it, or the
 * path isn't served. A request whose chain has no step for it is a miss even if the handler answers it. If the provider is strict, the
 * misses include requests that have no script at all, and refused ones.
 *
 * @category getters
 * @since 0.1.0
 */
export const misses: Effect.Effect<ReadonlyArray<Miss>, never, MockProvider> = Effect.flatMap(
  MockProvider,
  (provider) => provider.misses
)

/**
 * Dies with `MissedRequests` if there are `misses`.
 *
 * @category assertions
 * @since 0.1.0
 */
export const assertNoMisses: Effect.Effect<void, never, MockProvider> = Effect.flatMap(
  MockProvider,
  (provider) => provider.assertNoMisses
)
