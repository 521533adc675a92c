/**
 * A model provider on the wire, in its clients' protocols, whose models answer as a handler says.
 *
 * 1. It speaks as the providers do: OpenAI's chat completions and responses, Anthropic's messages, streamed or not.
 * 2. The same request gets exactly the same response, ids and times included, if the handler's answer is the same.
 * 3. A request that the provider would refuse is refused, in its words as clients have reported them in public: the common
 *    ones are to the letter, a rare one may differ.
 * 4. A request that carries an `InstructionChain` is answered by its step.
 * 5. It opens no socket of itself: it is a `fetch`, or answers for an `HttpClient`, or is served by an `HttpServer`.
 * 6. It stores nothing: `previous_response_id` is never found, an `item_reference` is only what its id says, and a `thread`
 *    is refused so that Anthropic's client sends the whole conversation.
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
import type { Answer, Handler } from "./Handler.ts"
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
 * - `strict` refuses that answer: a request that no script answers gets an error. Such a request, and each refused one, fails the scope of the
 *   layer with the reasons. A refused `thread` doesn't count, since its client continues without it.
 * - `unknownFields` says what to do with a field of a request that the provider doesn't know: to refuse the request, as by default, or to
 *   accept it, as some compatible servers do.
 * - `status` are statuses sent in turn, as `[429, 500, 200]`, counted for each body of a request apart, so that retries
 *   are counted and conversations side by side don't take each other's. 200, and any request after them, is answered.
 * - `retryAfter` is how long a 429, 503 or 529 among them tells clients to wait, unless it has headers of its own; no time by default.
 * - `apiKey` is the only accepted key. By default any key is accepted, and none is needed.
 * - `models` are the only accepted models. By default any name is accepted.
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
 * - `fetch` answers a request of any host, by its path. It is what clients take as their `fetch`. Once the request's signal
 *   is aborted it rejects, or its body breaks off, with the reason.
 * - `entries` are the requests so far, in the order in which they arrived, with what became of them.
 * - `requests` are the bodies of those that weren't refused and got no error of `status`, of one protocol.
 * - `wait` waits until so many requests have arrived, and returns them.
 * - `misses` are the requests without a scripted response, with the reason; `assertNoMisses` dies with them.
 * - `close` breaks off every response that hangs.
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
 * The mock provider that was asked.
 *
 * @category services
 * @since 0.1.0
 */
export class MockProvider extends Context.Service<MockProvider, Provider>()("troupe/testing/MockProvider") {}

/**
 * Error for requests that a mock provider had no answer to. A program with a strict provider dies with it.
 *
 * It holds the last of them, as many as the journal remembers, and how many there were earlier.
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
    return `The mock provider had no answer to ${count === 1 ? "a request" : "requests"}${
      [...earlier, ...lines].join("")
    }`
  }
}

const unlessAborted = async <A>(promise: Promise<A>, signal: AbortSignal): Promise<A> => {
  try {
    return await promise
  } catch (error) {
    throw signal.aborted ? signal.reason : error
  }
}

/** A provider, and why it fails what uses it. */
const build = <R>(options: Options<R>, context: Context.Context<R>) => {
  const { apiKey, chain, handler, journal: limit = 1000, models, retryAfter = 0, status = [] } = options
  const { strict: isStrict = false } = options
  const journal = new Journal(limit)
  const closing = new AbortController()
  // A request notices an abort only while somebody holds it.
  const underway = new Set<Request>()
  const made = handler === undefined
    ? Effect.succeed(undefined)
    : Effect.runSync(Effect.cached(handler.make))
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
 * Makes a mock provider of a handler that needs no services.
 *
 * **Gotchas**
 *
 * If a strict one has no answer, nothing fails by itself: end with `assertNoMisses`, or use a layer.
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
 * @category layers
 * @since 0.1.0
 */
export const layer = <R = never>(options: Options<R> = {}): Layer.Layer<MockProvider, never, Exclude<R, Scope.Scope>> =>
  Layer.effect(MockProvider, scoped(options))

/**
 * Provides a mock provider and an `HttpClient` that sends every request to it.
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
 * Provides a mock provider whose `fetch` is that of every `HttpClient` made of `fetch`.
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
 * Provides a mock provider that an `HttpServer` serves, whichever there is: of Node, Bun or a test.
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
      // A server runs what it serves so that nothing interrupts it, though the client may be gone.
      yield* HttpServer.serveEffect(Effect.interruptible(HttpEffect.fromWebHandler(provider.fetch)))
      // Before the server is closed, which waits for responses that hang.
      yield* Effect.addFinalizer(() => provider.close)
      return provider
    })
  )

/**
 * Returns the URL at which an `HttpServer` is reached from this machine, without a slash at its end.
 *
 * @category getters
 * @since 0.1.0
 */
export const url: Effect.Effect<string, never, HttpServer.HttpServer> = Effect.map(
  HttpServer.HttpServer,
  ({ address }) => HttpServer.formatAddress(address).replace(/\/\/(0\.0\.0\.0|\[::\])(?=:|$)/, "//127.0.0.1")
)

/**
 * Returns the requests so far, with their outcomes.
 *
 * @category getters
 * @since 0.1.0
 */
export const entries: Effect.Effect<ReadonlyArray<Entry>, never, MockProvider> = Effect.flatMap(
  MockProvider,
  (provider) => provider.entries
)

/**
 * Returns the bodies of the requests so far that weren't refused and got no error of `status`, of one protocol.
 *
 * @category getters
 * @since 0.1.0
 */
export const requests = <Name extends keyof Bodies>(
  protocol: Name
): Effect.Effect<ReadonlyArray<Bodies[Name]>, never, MockProvider> =>
  Effect.flatMap(MockProvider, (provider) => provider.requests(protocol))

/**
 * Waits until so many requests have arrived, and returns them.
 *
 * @category getters
 * @since 0.1.0
 */
export const wait = (count: number): Effect.Effect<ReadonlyArray<Entry>, never, MockProvider> =>
  Effect.flatMap(MockProvider, (provider) => provider.wait(count))

/**
 * Returns the requests without a scripted response, with the reasons.
 *
 * @category getters
 * @since 0.1.0
 */
export const misses: Effect.Effect<ReadonlyArray<Miss>, never, MockProvider> = Effect.flatMap(
  MockProvider,
  (provider) => provider.misses
)

/**
 * Dies with the requests that had no scripted response, and the reasons.
 *
 * @category assertions
 * @since 0.1.0
 */
export const assertNoMisses: Effect.Effect<void, never, MockProvider> = Effect.flatMap(
  MockProvider,
  (provider) => provider.assertNoMisses
)
