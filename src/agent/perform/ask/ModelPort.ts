/**
 * Asks the model at hand: natively if it can be, and otherwise as any `LanguageModel` of `effect/ai`.
 *
 * Both ways return the same parts and fail with the same errors: if a part of a native answer isn't valid as it is (`SoundPart`),
 * `effect/ai` decodes that part and all parts that arrived with it.
 *
 * @since 0.1.0
 */
import type * as AiError from "effect/ai/AiError"
import * as LanguageModel from "effect/ai/LanguageModel"
import * as Prompt from "effect/ai/Prompt"
import type * as Response from "effect/ai/Response"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import type * as Tracer from "effect/Tracer"
import type { Incoming } from "../../../domain/ModelAnswer.ts"
import * as ChatSpan from "../../../model/ChatSpan.ts"
import * as NativeModel from "../../../model/NativeModel.ts"
import * as SoundPart from "../../../model/SoundPart.ts"
import type { Request } from "../../definition/AgentDefinition.ts"
import { atExit } from "../../journal/AtExit.ts"
import { type ModelRequest, send, unmeasured } from "../../journal/ModelRequest.ts"
import { shownDefect } from "../../journal/SpanExit.ts"
import { within } from "../../journal/Telemetry.ts"

/** The messages that are sent. `prompt` has all of them, and is made when it is read. */
export interface RequestMessages extends Pick<NativeModel.Request, "system" | "projection"> {
  readonly prompt: Prompt.Prompt
}

/** What a model is asked: the messages that are sent, and the tools and request settings beside them. */
export interface Options {
  readonly prompt: RequestMessages
  readonly request: Request
}

const text = { type: "text" } as const

/** A request to a model by its native way. */
class NativeRequest implements NativeModel.Request {
  readonly system: Prompt.SystemMessage | undefined
  readonly projection: NativeModel.Request["projection"]
  readonly tools: NativeModel.Request["tools"]
  readonly toolChoice: NativeModel.Request["toolChoice"]
  readonly span: Tracer.Span | undefined
  readonly responseFormat = text
  readonly previousResponseId = undefined
  readonly incrementalPrompt = undefined
  readonly toolCallValidation = "deferred"
  readonly #sent: RequestMessages
  constructor(sent: RequestMessages, { toolChoice, tools }: Request, span: Tracer.Span | undefined) {
    this.system = sent.system
    this.projection = sent.projection
    this.tools = tools
    this.toolChoice = toolChoice
    this.span = span
    this.#sent = sent
  }
  get prompt(): Prompt.Prompt {
    return this.#sent.prompt
  }
}

/** What a request to `effect/ai` says beside its prompt. */
type Beside = Omit<Request, "tools">

/** A request as `effect/ai` has it. */
const optionsOf = (
  { prompt }: Pick<RequestMessages, "prompt">,
  { disableToolCallResolution, toolCallValidation, toolChoice, toolkit }: Beside
) => ({ prompt, toolkit, toolChoice, disableToolCallResolution, toolCallValidation })

const noPrompt: Pick<RequestMessages, "prompt"> = { prompt: Prompt.empty }

type Encoded = ReadonlyArray<Response.PartEncoded>
type EncodedPieces = ReadonlyArray<Response.StreamPartEncoded>
type Read = ReadonlyArray<Incoming>

/** Lets `effect/ai` decode parts, by a model that answers with them. The services that schemas of tools need are those of the request. */
const decoded = (
  parts: Encoded | EncodedPieces,
  ask: (model: LanguageModel.LanguageModel) => Effect.Effect<Read, AiError.AiError, unknown>
): Effect.Effect<Read, AiError.AiError> =>
  Effect.withTracerEnabled(
    Effect.flatMap(
      LanguageModel.make({
        generateText: () => Effect.succeed(parts as Array<Response.PartEncoded>),
        streamText: () => Stream.fromIterable(parts as EncodedPieces)
      }),
      ask as (model: LanguageModel.LanguageModel) => Effect.Effect<Read, AiError.AiError>
    ),
    false
  )

/** Adds the answer to a span. */
const annotated = (span: Tracer.Span, read: Read): Read => {
  ChatSpan.annotateResponse(span, read)
  return read
}

/** Reads a whole answer of a native model. */
export const readWhole = (parts: Encoded, beside: Beside): Effect.Effect<Read, AiError.AiError> =>
  parts.every(SoundPart.inWhole)
    ? Effect.succeed(parts as Read)
    : decoded(
      parts,
      (model) => Effect.map(model.generateText(optionsOf(noPrompt, beside)), ({ content }) => content)
    )

/** Takes parts that arrive together. An effect that it returns runs before more parts are taken. */
export type Take = (parts: Read) => Effect.Effect<void, AiError.AiError> | undefined

/** Reads pieces of a native model's answer that arrive together. */
export const readPieces = (parts: EncodedPieces, beside: Beside, take: Take): ReturnType<Take> =>
  parts.every(SoundPart.inStream)
    ? take(parts as Read)
    : Effect.flatMap(
      decoded(parts, (model) => Stream.runCollect(model.streamText(optionsOf(noPrompt, beside)))),
      (read) => take(read) ?? Effect.void
    )

/** Asks a model natively in a span, if spans are recorded. A span that records content ends once guardrails have judged the content. */
const inSpan = <A, R>(
  fiber: Fiber.Fiber<unknown, unknown>,
  asked: ModelRequest,
  ask: (span: Tracer.Span | undefined) => Effect.Effect<A, AiError.AiError, R>
): Effect.Effect<A, AiError.AiError, R> => {
  if (!fiber.cache.tracerEnabled) return ask(undefined)
  const { names } = asked
  const options = { kind: "client", attributes: ChatSpan.attributes(names) } as const
  return Effect.flatMap(
    Effect.makeSpan(ChatSpan.nameOf(names), options),
    (span) =>
      atExit(within(ask(span), span), (exit) => {
        const shown = shownDefect(exit, asked.sent !== undefined)
        const end = ChatSpan.ending(span, shown, fiber.getRef(Clock.Clock))
        if (asked.sent === undefined || !span.sampled) end()
        else asked.hold(span, end)
      })
  )
}

/** Returns the model that a loop asks. It doesn't count requests, because the loop counts its own. */
const modelIn = (fiber: Fiber.Fiber<unknown, unknown>): LanguageModel.LanguageModel =>
  unmeasured(Context.getUnsafe(fiber.context as Context.Context<never>, LanguageModel.LanguageModel))

/** Returns the native way of a model, if it has one. */
const nativeOf = (fiber: Fiber.Fiber<unknown, unknown>, model: LanguageModel.LanguageModel) =>
  NativeModel.of(model, fiber.context as Context.Context<never>)

/** A whole answer: that of `effect/ai`, or the content of a native model's. */
export interface Whole {
  readonly content: Read
}

/** Asks for an answer as a whole. */
export const generate = (
  fiber: Fiber.Fiber<unknown, unknown>,
  { prompt, request }: Options,
  asked: ModelRequest
): Effect.Effect<Whole, AiError.AiError, unknown> => {
  const model = modelIn(fiber)
  const native = nativeOf(fiber, model)
  if (native === undefined) return send(model, model.generateText(optionsOf(prompt, request)))
  return inSpan(
    fiber,
    asked,
    (span) => {
      const reading = Effect.flatMap(
        native.generateText(new NativeRequest(prompt, request, span)),
        (parts) => readWhole(parts, request)
      )
      return Effect.map(reading, (read) => ({ content: span === undefined ? read : annotated(span, read) }))
    }
  )
}

/** Asks for an answer piece by piece. */
export const stream = (
  fiber: Fiber.Fiber<unknown, unknown>,
  { prompt, request }: Options,
  asked: ModelRequest,
  take: Take
): Effect.Effect<void, AiError.AiError, unknown> => {
  const model = modelIn(fiber)
  const native = nativeOf(fiber, model)
  if (native === undefined) {
    const answer = model.streamText(optionsOf(prompt, request))
    return send(model, Stream.runForEachArray(answer, (parts) => take(parts) ?? Effect.void))
  }
  // What the loop does with a piece doesn't see services that the model provides to its own effects.
  const { context } = fiber
  return inSpan(
    fiber,
    asked,
    (span) => {
      const taking: Take = (read) => {
        const taken = take(span === undefined ? read : annotated(span, read))
        return taken && Effect.updateContext(taken, () => context)
      }
      return native.streamText(new NativeRequest(prompt, request, span), (parts) => readPieces(parts, request, taking))
    }
  )
}
