/**
 * Language models of the AI SDK's providers as the `LanguageModel` of `effect/ai`.
 *
 * A package that implements `@ai-sdk/provider`, in its specification 4 or the one before it, gives a model; this makes a Layer
 * of it. Nothing of the AI SDK is loaded by that.
 *
 * 1. A request is one call of the model, and is never repeated here. Whether and when is up to `Agent` and its `retry`.
 * 2. An interruption aborts the request, also in the middle of a stream. A stream is read as fast as it is taken.
 * 3. What a provider attaches to a part is given back to it with the part, unchanged.
 * 4. Each failure is an `AiError` with the reason that fits it, so that `isRetryable` says whether to try again.
 *
 * **Example** (A model of a provider)
 *
 * ```ts
 * import { createOpenAI } from "@ai-sdk/openai"
 * import { Effect } from "effect"
 * import { Agent, AgentState } from "troupe"
 * import { AiSdkModel } from "troupe/ai-sdk"
 * import { MockModel, MockProvider } from "troupe/testing"
 *
 * // In earnest: createOpenAI(), which reads OPENAI_API_KEY.
 * const provider = MockProvider.make({ handler: MockModel.queue("It is 22 °C.") })
 * const openai = createOpenAI({ apiKey: "none", fetch: provider.fetch })
 *
 * const program = Agent.run(Agent.make("assistant"), "How warm is Paris?").pipe(
 *   Effect.map(AgentState.text),
 *   Effect.provide(AiSdkModel.layer(openai("gpt-5"), { maxOutputTokens: 1000 }))
 * )
 *
 * await Effect.runPromise(program) // => "It is 22 °C."
 * ```
 *
 * @since 0.1.0
 */
import type {
  LanguageModelV3GenerateResult,
  LanguageModelV3StreamResult,
  LanguageModelV4CallOptions,
  LanguageModelV4GenerateResult,
  LanguageModelV4StreamResult,
  SharedV4Warning
} from "@ai-sdk/provider"
import * as AiError from "effect/ai/AiError"
import { toCodecAnthropic } from "effect/ai/AnthropicStructuredOutput"
import * as LanguageModel from "effect/ai/LanguageModel"
import * as Model from "effect/ai/Model"
import { toCodecOpenAI } from "effect/ai/OpenAiStructuredOutput"
import type * as Response from "effect/ai/Response"
import * as Arr from "effect/Array"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import * as Stream from "effect/Stream"
import { type AnyModel, isSupported, type Known, known, unsupported } from "./AnyModel.ts"
import { toCallOptions } from "./CallOptions.ts"
import { type Asked, askedOf, toPart } from "./Content.ts"
import { isCutOff, reasonOf, type When } from "./Failure.ts"
import { type Come, type Ending, finishPart, isFiltered, issueOf, warningText } from "./Finish.ts"
import { CurrentSettings, over, type Settings } from "./Settings.ts"
import * as Spans from "./Spans.ts"
import * as Specification3 from "./Specification3.ts"
import * as Streamed from "./Streamed.ts"
import * as Timeouts from "./Timeouts.ts"

export type { AnyModel } from "./AnyModel.ts"
export { CurrentSettings, type Settings, settings } from "./Settings.ts"
export type { Timeouts } from "./Timeouts.ts"

/**
 * Settings of all requests to a model, and how it is given schemas.
 *
 * **Details**
 *
 * - `codecTransformer` makes the JSON Schema of structured output. By default it is that of Anthropic for its models, and that
 *   of OpenAI, which many follow, for all others.
 * - `resultFiles` says whether results of tools may have files in them, as images. Else the model reads the texts beside them and a
 *   note. By default they may, but for providers that speak OpenAI's chat completions: there a result is a text, and packages
 *   would make one of the file's base64.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options extends Settings {
  readonly codecTransformer?: LanguageModel.CodecTransformer
  readonly resultFiles?: boolean
}

/** Providers whose results are texts. Vertex has Gemini's own protocol under the name of a chat. */
const textResults = /(?<!vertex)\.(chat|completion)$/i

type Method = "generateText" | "streamText"

const failure = (method: Method, reason: AiError.AiErrorReason): AiError.AiError =>
  AiError.make({ module: "AiSdkModel", method, reason })

/** Fails with what a provider threw. */
const failed = (method: Method, error: unknown, isAnswering: boolean): Effect.Effect<never, AiError.AiError> =>
  Effect.flatMap(Clock.currentTimeMillis, (now) => {
    const when: When = { now, isAnswering }
    return Effect.fail(failure(method, reasonOf(error, when)))
  })

/** Waits for what a provider does, as long as it may take. */
const attempt = <A>(
  method: Method,
  patience: Timeouts.Patience,
  run: () => PromiseLike<A>,
  { isAnswering = false, ...waiting }: Timeouts.Waiting & { readonly isAnswering?: boolean } = {}
): Effect.Effect<A, AiError.AiError> =>
  Effect.catch(
    Timeouts.waitFor(patience, run, waiting),
    (error) => error._tag === "Thrown" ? failed(method, error.error, isAnswering) : Effect.fail(failure(method, error))
  )

const warn = (warnings: ReadonlyArray<SharedV4Warning>, { modelId, provider }: AnyModel): Effect.Effect<void> =>
  warnings.length === 0 ? Effect.void : Effect.logWarning(
    `${provider} ${modelId}: ${warnings.map(warningText).join("; ")}`
  )

/** Says that an answer isn't what the model would have said. */
const warnOf = (ending: Ending, { modelId, provider }: AnyModel): Effect.Effect<void> =>
  isFiltered(ending)
    ? Effect.logWarning(`${provider} ${modelId}: the provider's content filter ended the answer`)
    : Effect.void

/** A model, and what holds for every request to it. */
interface Given {
  readonly model: Known
  readonly settings: Settings
  readonly transformer: LanguageModel.CodecTransformer
  readonly takesFiles: boolean
}

/** A call as a provider is given it, and how long it is waited for. */
interface Prepared {
  readonly model: AnyModel
  readonly options: LanguageModelV4CallOptions
  readonly patience: Timeouts.Patience
}

/** Prepares a call, of what is asked and what is set. */
const prepare = (
  method: Method,
  { model, settings, takesFiles, transformer }: Given,
  request: LanguageModel.ProviderOptions,
  fiber: Fiber.Fiber<unknown, unknown>
): Result.Result<Prepared, AiError.AiError> => {
  if (!isSupported(model)) return Result.fail(failure(method, unsupported(model)))
  const { timeouts, ...all } = over(settings, fiber.getRef(CurrentSettings))
  Spans.annotateRequest(request.span, model, all)
  try {
    const options = toCallOptions(request, all, transformer, takesFiles)
    return Result.succeed({ model, options, patience: Timeouts.begin(timeouts, fiber.getRef(Clock.Clock)) })
  } catch (error) {
    const description = error instanceof Error ? error.message : String(error)
    return Result.fail(failure(method, new AiError.UnsupportedSchemaError({ description })))
  }
}

type Generated = LanguageModelV3GenerateResult | LanguageModelV4GenerateResult

const generate = (
  model: AnyModel,
  options: LanguageModelV4CallOptions,
  signal: AbortSignal
): PromiseLike<Generated> =>
  model.specificationVersion === "v3"
    ? model.doGenerate({ ...Specification3.toCallOptions(options), abortSignal: signal })
    : model.doGenerate({ ...options, abortSignal: signal })

const start = (
  model: AnyModel,
  options: LanguageModelV4CallOptions,
  signal: AbortSignal
): PromiseLike<LanguageModelV3StreamResult | LanguageModelV4StreamResult> =>
  model.specificationVersion === "v3"
    ? model.doStream({ ...Specification3.toCallOptions(options), abortSignal: signal })
    : model.doStream({ ...options, abortSignal: signal })

/** The text that structured output is read from, where a provider says that it isn't all of it. */
const chosenText = (generated: Generated): string | undefined =>
  "structuredOutputText" in generated ? generated.structuredOutputText : undefined

/** Gives the parts of a whole answer. Where some text only leads to the structured output, it becomes reasoning. */
const toParts = (
  generated: Generated,
  request: LanguageModel.ProviderOptions,
  asked: Asked
): Result.Result<Array<Response.PartEncoded>, AiError.AiErrorReason> => {
  const { content, response, warnings } = generated
  const come: Come = { calls: 0, isSpeaking: false }
  const text = request.responseFormat.type === "json" ? chosenText(generated) : undefined
  const parts: Array<Response.PartEncoded> = response === undefined ? [] : [Streamed.responsePart(response)]
  for (const said of content) {
    if (said.type === "tool-call") come.calls++
    else if (said.type === "file" || (said.type === "text" && said.text !== "")) come.isSpeaking = true
    const part = toPart(said, asked)
    if (Result.isFailure(part)) return Result.fail(part.failure)
    if (part.success === undefined) continue
    parts.push(
      part.success.type === "text" && text !== undefined ? { type: "reasoning", text: part.success.text } : part.success
    )
  }
  const issue = issueOf(generated, come)
  if (issue !== undefined) return Result.fail(issue)
  if (text !== undefined) parts.push({ type: "text", text })
  parts.push(finishPart(generated, { warnings, headers: response?.headers }))
  return Result.succeed(parts)
}

const generateText =
  (given: Given) =>
  (request: LanguageModel.ProviderOptions): Effect.Effect<Array<Response.PartEncoded>, AiError.AiError> =>
    Effect.withFiber((fiber) => {
      const { transformer } = given
      const prepared = prepare("generateText", given, request, fiber)
      if (Result.isFailure(prepared)) return Effect.fail(prepared.failure)
      const { model, options, patience } = prepared.success
      const controller = new AbortController()
      const answer = attempt("generateText", patience, () => generate(model, options, controller.signal), {
        isWhole: true,
        letGo: () => controller.abort()
      })
      return Effect.flatMap(answer, (generated) => {
        const parts = toParts(generated, request, askedOf(request, transformer))
        if (Result.isSuccess(parts)) Spans.annotateResponse(request.span, parts.success)
        const answered = Result.isSuccess(parts)
          ? Effect.succeed(parts.success)
          : Effect.fail(failure("generateText", parts.failure))
        if (generated.warnings.length === 0 && !isFiltered(generated)) return answered
        return Effect.andThen(Effect.andThen(warn(generated.warnings, model), warnOf(generated, model)), answered)
      })
    })

/** Opens a stream that is read as it is taken. Where it isn't read to its end, it is let go of, and so is its request. */
const open = Effect.fnUntraced(function*({ model, options, patience }: Prepared) {
  const controller = new AbortController()
  let reader: ReadableStreamDefaultReader<Streamed.Part> | undefined
  let hasEnded = false
  yield* Effect.addFinalizer(() =>
    Effect.sync(() => {
      Timeouts.end(patience)
      if (hasEnded) return
      controller.abort()
      // Nobody waits for it: a provider that reads ahead may never tell that it has let go.
      reader?.cancel().catch(() => {})
    })
  )
  const opening = attempt("streamText", patience, () => start(model, options, controller.signal))
  const { response, stream } = yield* opening
  const taken: ReadableStreamDefaultReader<Streamed.Part> = stream.getReader()
  reader = taken
  const reading = attempt("streamText", patience, () => taken.read(), { isAnswering: true })
  const next = Effect.map(reading, ({ done, value }) => {
    hasEnded = done
    if (value !== undefined && Streamed.isNews(value)) Timeouts.heard(patience)
    return value
  })
  return { headers: response?.headers, next }
})

const broken = (reason: AiError.AiErrorReason) => Effect.fail(failure("streamText", reason))

const streamText = (given: Given) => (request: LanguageModel.ProviderOptions) =>
  Stream.unwrap(Effect.gen(function*() {
    const { transformer } = given
    const prepared = yield* Effect.withFiber((fiber) => Effect.fromResult(prepare("streamText", given, request, fiber)))
    const { model } = prepared
    const { headers, next } = yield* open(prepared)
    const arriving = Streamed.begin(askedOf(request, transformer), headers)
    return Stream.fromPull(Effect.succeed(Effect.gen(function*() {
      while (true) {
        // A provider that has answered may leave its connection open, or break it.
        const part = yield* arriving.hasFinished ? Effect.catch(next, () => Effect.succeed(undefined)) : next
        if (part === undefined) return yield* arriving.hasFinished ? Cause.done() : broken(Streamed.ended(arriving))
        if (part.type === "error") {
          return yield* isCutOff(part.error) ? broken(Streamed.ended(arriving)) : failed("streamText", part.error, true)
        }
        if (part.type === "stream-start") yield* warn(part.warnings, model)
        const parts = yield* Effect.catch(Effect.fromResult(Streamed.take(arriving, part)), broken)
        if (part.type === "finish") yield* warnOf(part, model)
        if (!Arr.isReadonlyArrayNonEmpty(parts)) continue
        Spans.annotateResponse(request.span, parts)
        return parts
      }
    })))
  }))

/**
 * Makes the service of a model.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (
  of: AnyModel,
  {
    codecTransformer = /anthropic/i.test(known(of).provider) ? toCodecAnthropic : toCodecOpenAI,
    resultFiles = !textResults.test(known(of).provider),
    ...settings
  }: Options = {}
): Effect.Effect<LanguageModel.LanguageModel> => {
  const given: Given = { model: known(of), settings, transformer: codecTransformer, takesFiles: resultFiles }
  const whole = generateText(given)
  const streamed = streamText(given)
  return LanguageModel.make({
    generateText: (request) => Effect.tapError(whole(request), (error) => Spans.fail(request.span, error)),
    streamText: (request) => Stream.tapError(streamed(request), (error) => Spans.fail(request.span, error)),
    codecTransformer
  })
}

/**
 * Provides a model as the `LanguageModel`. Spans and metrics of agents have its name and that of its provider.
 *
 * @category layers
 * @since 0.1.0
 */
export const layer: (model: AnyModel, options?: Options) => Layer.Layer<LanguageModel.LanguageModel> = (
  of,
  options
) => model(of, options)

/**
 * Gives a model as a `Model` of `effect/ai`: a Layer that also says the names of the provider and of the model.
 *
 * The provider's name is the one that OpenTelemetry lists for it, such as `gcp.gemini`, or else what stands before the first dot of its
 * id in the AI SDK: `openai`, of `openai.responses`.
 *
 * @category constructors
 * @since 0.1.0
 */
export const model = (
  model: AnyModel,
  options?: Options
): Model.Model<string, LanguageModel.LanguageModel, never> =>
  Model.make(
    Spans.providerOf(known(model)),
    known(model).modelId,
    Layer.effect(LanguageModel.LanguageModel, make(model, options))
  )
