/**
 * What a mock model answers to one request, as plain data.
 *
 * 1. A response says the same streamed as at once: streaming only cuts it. Only `raw` may differ: it has its own parts for each way.
 * 2. Usage that isn't set is unknown, never zero. On the wire a `MockProvider` estimates it, since providers always report it.
 * 3. The finish reason is `"tool-calls"` if a call waits for its result, else `"stop"`, unless it is set.
 * 4. A call without an id gets one when the response is sent: `call_1`, `call_2`, … in the order of the layer's calls. A `MockProvider`
 *    makes its ids from the body of the request.
 *
 * Wherever a response is expected, you can pass a string, which means `text`.
 *
 * **Example** (Two calls in one turn, then their answer)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { LanguageModel } from "effect/ai"
 * import { MockModel, MockResponse } from "troupe/testing"
 *
 * const handler = MockModel.queue(
 *   MockResponse.all(
 *     MockResponse.reasoning("Two cities, two calls."),
 *     MockResponse.toolCall("get_weather", { city: "Paris" }),
 *     MockResponse.toolCall("get_weather", { city: "Oslo" })
 *   ),
 *   MockResponse.withUsage("Paris is warmer.", { input: 40, output: 4 })
 * )
 *
 * const ask = LanguageModel.generateText({
 *   prompt: "Which is warmer, Paris or Oslo?",
 *   disableToolCallResolution: true,
 *   toolCallValidation: "deferred"
 * })
 *
 * const [first, second] = await Effect.runPromise(
 *   Effect.all([ask, ask]).pipe(Effect.provide(MockModel.layer(handler)))
 * )
 *
 * first.toolCalls.map((call) => call.id) // => ["call_1", "call_2"]
 * first.finishReason // => "tool-calls"
 * first.usage.outputTokens.total // => undefined
 * second.text // => "Paris is warmer."
 * second.usage.outputTokens.total // => 4
 * ```
 *
 * @since 0.1.0
 */
import * as AiError from "effect/ai/AiError"
import type * as Response from "effect/ai/Response"
import type { NonEmptyReadonlyArray } from "effect/Array"
import * as Duration from "effect/Duration"
import * as Base64 from "effect/encoding/Base64"
import { dual } from "effect/Function"
import type * as Schema from "effect/Schema"
import type * as Part from "../domain/Part.ts"
import type { RequestUsage } from "../domain/Usage.ts"
import * as Wanted from "../domain/Wanted.ts"
import { errorOf, type HttpFailure } from "./HttpFailure.ts"

/** A call of a tool. Without an `id` it gets one when the response is sent. `gives` is its result for `MockModel.handlers`. */
export interface ToolCall extends Omit<Response.ToolCallPartEncoded, "id"> {
  readonly id?: string
  readonly gives?: GivenResult
}

/** The result that a mock handler returns for a call. With `isFailure` the handler fails with it. */
export interface GivenResult {
  readonly result: unknown
  readonly isFailure: boolean
}

/** The result of a tool that the provider ran. Without an `id` it answers the call before it. */
export interface ToolResult extends Omit<Response.ToolResultPartEncoded, "id"> {
  readonly id?: string
}

/**
 * The request for an approval by which a provider asks before it runs a call of its own tool. Without a `toolCallId` it is about the call
 * before it. Without an `approvalId` it gets the id `mcpr_` with the id of the call appended.
 */
export interface ApprovalRequest extends Omit<Response.ToolApprovalRequestPartEncoded, "approvalId" | "toolCallId"> {
  readonly approvalId?: string
  readonly toolCallId?: string
}

/** Encoded parts that are sent as they are: `parts` if the response is sent at once, `stream` if it is streamed. */
export interface Raw {
  readonly type: "raw"
  readonly parts: ReadonlyArray<Response.PartEncoded>
  readonly stream: ReadonlyArray<Response.StreamPartEncoded>
}

/**
 * One part of a response.
 *
 * @category models
 * @since 0.1.0
 */
export type ResponsePart =
  | Response.TextPartEncoded
  | Response.ReasoningPartEncoded
  | Response.FilePartEncoded
  | Response.DocumentSourcePartEncoded
  | Response.UrlSourcePartEncoded
  | ToolCall
  | ToolResult
  | ApprovalRequest
  | Raw

/** How a response fails: at once, or `after` a number of its chunks if it is streamed. */
export interface Failure {
  readonly error: AiError.AiError
  readonly after: number
}

/**
 * What a mock model answers to one request.
 *
 * @category models
 * @since 0.1.0
 */
export interface MockResponse {
  readonly _tag: "MockResponse"
  readonly parts: ReadonlyArray<ResponsePart>
  /** The tokens that the response reports: unknown by default. See `withUsage`. */
  readonly usage?: RequestUsage
  /** The name that a mock model reports of itself: none by default. See `withModel`. */
  readonly model?: string
  /** Why the response ends: `"tool-calls"` by default if a call waits for its result, else `"stop"`. */
  readonly finishReason?: Response.FinishReason
  /** What the provider attaches to the response as a whole. See `withMetadata`. */
  readonly metadata?: Part.Metadata
  /** How long the model waits before the response: not at all by default. */
  readonly delay?: Duration.Duration
  /** The lengths of streamed chunks in characters. See `chunked`. */
  readonly chunks?: NonEmptyReadonlyArray<number>
  /** How the response fails: not at all by default. See `fail`, `breakAfter` and `cut`. */
  readonly failure?: Failure
  /** The HTTP error that a `MockProvider` sends for `failure`. See `httpError`. */
  readonly http?: HttpFailure
  /** After how many chunks the response hangs: it doesn't by default. See `hang`. */
  readonly hang?: number
}

/** A response, or a string, which means `text`. */
export type Input = string | MockResponse

interface PartOptions {
  readonly metadata?: Part.Metadata
}

/**
 * Options of a call: its `id`, by default one that it gets when the response is sent, the provider's `metadata`, and the `result` of its
 * tool. With `isFailure`, `false` by default, the result is a failure. In `toolCall` it has no effect without a `result`.
 */
export interface CallOptions extends PartOptions {
  readonly id?: string
  readonly result?: unknown
  readonly isFailure?: boolean
}

const of = (...parts: ReadonlyArray<ResponsePart>): MockResponse => ({ _tag: "MockResponse", parts })

/** Returns a response without the HTTP error of its failure: another failure takes its place. */
const withoutHttp = (self: MockResponse): MockResponse => {
  const { http: _, ...response } = self
  return response
}

/**
 * Makes a response that is text.
 *
 * @category constructors
 * @since 0.1.0
 */
export const text = (text: string, options?: PartOptions): MockResponse => of({ type: "text", text, ...options })

/**
 * Returns the response that an input stands for.
 *
 * @category constructors
 * @since 0.1.0
 */
export const fromInput = (input: Input): MockResponse => typeof input === "string" ? text(input) : input

/**
 * Makes a response that is reasoning.
 *
 * @category constructors
 * @since 0.1.0
 */
export const reasoning = (text: string, options?: PartOptions): MockResponse =>
  of({ type: "reasoning", text, ...options })

/**
 * Makes a response that calls a tool. If `MockModel.handlers` answers the call, the tool returns the `result`, or fails with it if
 * `isFailure` is set.
 *
 * @category constructors
 * @since 0.1.0
 */
export const toolCall = (name: string, params: unknown, options: CallOptions = {}): MockResponse => {
  const { isFailure = false, result, ...rest } = options
  return of({
    type: "tool-call",
    name,
    params,
    ...rest,
    ...("result" in options ? { gives: { result, isFailure } } : undefined)
  })
}

/**
 * Makes a response that is a value as JSON, for requests for an object and agents with an `output`.
 *
 * @category constructors
 * @since 0.1.0
 */
export const json = (value: Schema.Json): MockResponse => text(JSON.stringify(value))

/**
 * Makes a response in which the provider itself calls a tool and has its result, which is a failure if `isFailure` is set. The request must
 * have offered the tool: `effect/ai` refuses results of tools that it doesn't know.
 *
 * @category constructors
 * @since 0.1.0
 */
export const providerCall = (
  name: string,
  params: unknown,
  result: unknown,
  options?: Omit<CallOptions, "result">
): MockResponse => {
  const { isFailure = false, ...rest } = options ?? {}
  return of(
    { type: "tool-call", name, params, providerExecuted: true, ...rest },
    { type: "tool-result", name, result, isFailure, providerExecuted: true, ...rest }
  )
}

/**
 * Makes a response in which the provider asks for an approval before it runs a tool of its own, such as a tool of an MCP server.
 *
 * The run stops until somebody approves or denies the call, and the next request tells the provider so. The result of the tool then comes
 * in the provider's next response: a `providerCall`, if the toolkit has the tool. Without an `approvalId`, the request for the approval has
 * the id `mcpr_` with the id of the call appended.
 *
 * **Example** (A search that somebody agrees to)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Agent, AgentState } from "troupe"
 * import { MockModel, MockResponse } from "troupe/testing"
 *
 * const agent = Agent.make("librarian")
 * const program = Effect.gen(function*() {
 *   const waiting = yield* Agent.run(agent, "Where is it?")
 *   const asked = AgentState.pendingApprovals(waiting).map(({ callId, name }) => [callId, name])
 *   const approved = yield* Effect.fromResult(AgentState.approve(waiting, "c1"))
 *   const done = yield* Agent.resume(agent, approved)
 *   return [...asked, AgentState.text(done)]
 * }).pipe(Effect.provide(MockModel.layer(MockModel.queue(
 *   MockResponse.approvalRequest("mcp.search", { for: "it" }, { id: "c1" }),
 *   "On shelf 7."
 * ))))
 *
 * await Effect.runPromise(program) // => [["c1", "mcp.search"], "On shelf 7."]
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const approvalRequest = (
  name: string,
  params: unknown,
  options: Omit<CallOptions, "isFailure" | "result"> & { readonly approvalId?: string } = {}
): MockResponse => {
  const { approvalId, ...rest } = options
  return of(
    { type: "tool-call", name, params, providerExecuted: true, ...rest },
    { type: "tool-approval-request", ...(approvalId === undefined ? undefined : { approvalId }) }
  )
}

/**
 * Makes a response that is a file. A string is its data in base64.
 *
 * @category constructors
 * @since 0.1.0
 */
export const file = (mediaType: string, data: string | Uint8Array, options?: PartOptions): MockResponse =>
  of({ type: "file", mediaType, data: typeof data === "string" ? data : Base64.encode(data), ...options })

/**
 * Makes a response that cites a source, at a URL or in a document.
 *
 * @category constructors
 * @since 0.1.0
 */
export const source = (
  source: Omit<Response.UrlSourcePartEncoded, "type"> | Omit<Response.DocumentSourcePartEncoded, "type">
): MockResponse => of({ type: "source", ...source })

/**
 * Makes a response of encoded parts, sent as they are: `parts` at once, `stream` in a stream.
 *
 * **When to use**
 *
 * Use to play a provider that misbehaves: a stream without a finish, a delta of a block that never started.
 *
 * **Gotchas**
 *
 * No finish is added to a response with raw parts: it finishes only if they contain one. `parts` and `stream` are empty by default, and
 * neither is made from the other.
 *
 * @category constructors
 * @since 0.1.0
 */
export const raw = (options: Omit<Partial<Raw>, "type">): MockResponse =>
  of({ type: "raw", parts: [], stream: [], ...options })

/**
 * Makes a response that fails, with an error or with its reason.
 *
 * @category constructors
 * @since 0.1.0
 */
export const fail = (error: AiError.AiError | AiError.AiErrorReason): MockResponse => breakAfter(of(), 0, error)

/**
 * Makes a response that is an HTTP error. A `MockProvider` sends this status with these headers and this body; a mock model fails with the
 * `AiError` that a client makes of them.
 *
 * **Details**
 *
 * Without a body, the provider sends its own error body for the status. For a mock model, a `retry-after` header in seconds is the
 * `retryAfter` of the error if the status is 429 or from 500 on.
 *
 * @category constructors
 * @since 0.1.0
 */
export const httpError = (status: number, options?: Omit<HttpFailure, "status">): MockResponse => {
  const http = { status, ...options }
  return { ...fail(errorOf(http)), http }
}

/**
 * Combines responses into one, with their parts in order: for example a model that thinks, speaks and calls two tools in one turn.
 *
 * Of any other field, such as usage, the last response that sets it counts. A failure includes its HTTP error.
 *
 * @category combinators
 * @since 0.1.0
 */
export const all = (...responses: ReadonlyArray<Input>): MockResponse => {
  const all = responses.map(fromInput)
  const combined = all.reduce(
    (self, response) => ({ ...(response.failure === undefined ? self : withoutHttp(self)), ...response }),
    of()
  )
  return { ...combined, parts: all.flatMap((response) => response.parts) }
}

/**
 * Sets the tokens that the response reports. What isn't given stays unknown.
 *
 * @category combinators
 * @since 0.1.0
 */
export const withUsage: {
  (usage: RequestUsage): (self: Input) => MockResponse
  (self: Input, usage: RequestUsage): MockResponse
} = dual(2, (self: Input, usage: RequestUsage): MockResponse => ({ ...fromInput(self), usage }))

/**
 * Sets the name that a mock model reports of itself, from which the cost of a response is computed. A `MockProvider` reports the model that
 * the request names instead.
 *
 * @category combinators
 * @since 0.1.0
 */
export const withModel: {
  (model: string): (self: Input) => MockResponse
  (self: Input, model: string): MockResponse
} = dual(2, (self: Input, model: string): MockResponse => ({ ...fromInput(self), model }))

/**
 * Sets why the response ends.
 *
 * @category combinators
 * @since 0.1.0
 */
export const withFinishReason: {
  (finishReason: Response.FinishReason): (self: Input) => MockResponse
  (self: Input, finishReason: Response.FinishReason): MockResponse
} = dual(2, (self: Input, finishReason: Response.FinishReason): MockResponse => ({
  ...fromInput(self),
  finishReason
}))

/**
 * Sets the metadata that the provider attaches to the response as a whole: its finish has it. Parts have their own metadata. A
 * `MockProvider` sends nothing of it but the `stopSequence` under `anthropic`, to clients of Anthropic.
 *
 * @category combinators
 * @since 0.1.0
 */
export const withMetadata: {
  (metadata: Part.Metadata): (self: Input) => MockResponse
  (self: Input, metadata: Part.Metadata): MockResponse
} = dual(2, (self: Input, metadata: Part.Metadata): MockResponse => ({ ...fromInput(self), metadata }))

/**
 * Makes the model wait before the response is sent, by `Clock`, so that a `TestClock` ends the wait.
 *
 * @category combinators
 * @since 0.1.0
 */
export const delay: {
  (duration: Duration.Input): (self: Input) => MockResponse
  (self: Input, duration: Duration.Input): MockResponse
} = dual(2, (self: Input, duration: Duration.Input): MockResponse => ({
  ...fromInput(self),
  delay: Duration.fromInputUnsafe(duration)
}))

/**
 * Sets how long the chunks of a streamed text, reasoning or parameters are, in characters.
 *
 * **Details**
 *
 * Of several lengths the last one repeats, and is at least 1. An earlier one may be 0, for an empty chunk. Each text begins with the first
 * length anew. Unless this is set, texts and reasoning are cut after words, and parameters every 16 characters.
 *
 * @category combinators
 * @since 0.1.0
 */
export const chunked: {
  (lengths: number | NonEmptyReadonlyArray<number>): (self: Input) => MockResponse
  (self: Input, lengths: number | NonEmptyReadonlyArray<number>): MockResponse
} = dual(2, (self: Input, lengths: number | NonEmptyReadonlyArray<number>): MockResponse => ({
  ...fromInput(self),
  chunks: typeof lengths === "number" ? [lengths] : lengths
}))

const errorFrom = (given: AiError.AiError | AiError.AiErrorReason): AiError.AiError => {
  if (AiError.isAiError(given)) return given
  if (AiError.isAiErrorReason(given)) return AiError.make({ module: "MockModel", method: "respond", reason: given })
  throw Wanted.mustBe("The error of a response", given, "an `AiError` or its reason")
}

/**
 * Makes a stream fail with the error after a number of its chunks. A response that isn't streamed fails as a whole.
 *
 * **Details**
 *
 * A chunk is what is sent at a time: a piece of text, reasoning or parameters, or a part that isn't cut. A response that breaks never
 * finishes, even if it has fewer chunks than that.
 *
 * **Example** (A stream that dies after two words)
 *
 * ```ts
 * import { Effect, Stream } from "effect"
 * import { AiError, LanguageModel } from "effect/ai"
 * import { MockModel, MockResponse } from "troupe/testing"
 *
 * const overloaded = new AiError.InternalProviderError({ description: "overloaded" })
 * const handler = MockModel.queue(MockResponse.breakAfter("It is 22 °C.", 2, overloaded))
 *
 * const heard: Array<string> = []
 * const program = LanguageModel.streamText({ prompt: "How warm is Paris?" }).pipe(
 *   Stream.runForEach((part) => Effect.sync(() => part.type === "text-delta" && heard.push(part.delta))),
 *   Effect.catchReason("AiError", "InternalProviderError", (reason) => Effect.succeed(reason.description)),
 *   Effect.provide(MockModel.layer(handler))
 * )
 *
 * await Effect.runPromise(program) // => "overloaded"
 * heard // => ["It", " is"]
 * ```
 *
 * @category combinators
 * @since 0.1.0
 */
export const breakAfter: {
  (chunks: number, error: AiError.AiError | AiError.AiErrorReason): (self: Input) => MockResponse
  (self: Input, chunks: number, error: AiError.AiError | AiError.AiErrorReason): MockResponse
} = dual(3, (self: Input, chunks: number, error: AiError.AiError | AiError.AiErrorReason): MockResponse => ({
  ...withoutHttp(fromInput(self)),
  failure: { error: errorFrom(error), after: Math.max(0, chunks) }
}))

const brokenOff = new AiError.NetworkError({
  reason: "TransportError",
  method: "POST",
  url: "mock:model",
  description: "The connection was lost"
})

/**
 * Cuts the connection after a number of the response's chunks: the request fails with a `NetworkError`. A response that isn't streamed
 * fails as a whole.
 *
 * **When to use**
 *
 * Use for a transport that fails; `breakAfter` is for a provider that reports an error of its own.
 *
 * @category combinators
 * @since 0.1.0
 */
export const cut: {
  (after: number): (self: Input) => MockResponse
  (self: Input, after: number): MockResponse
} = dual(2, (self: Input, after: number): MockResponse => breakAfter(self, after, brokenOff))

/**
 * Makes a response hang after a number of its chunks: nothing more is ever sent. A response that isn't streamed never comes.
 *
 * **Gotchas**
 *
 * The caller waits until it is interrupted or its time-out ends. By default the response is empty and hangs at once, before any chunk.
 *
 * @category combinators
 * @since 0.1.0
 */
export const hang = (self: Input = of(), after = 0): MockResponse => ({ ...fromInput(self), hang: Math.max(0, after) })
