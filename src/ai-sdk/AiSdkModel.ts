/**
 * Language models of the AI SDK's providers as the `LanguageModel` of `effect/ai`.
 *
 * This module makes a Layer from a model of any package that implements `@ai-sdk/provider`, in its specification 4 or 3. It loads nothing
 * of the AI SDK.
 *
 * 1. A request is one call of the model, and is never repeated here: retries are up to `Agent` and its `retry`.
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
import { toCodecAnthropic } from "effect/ai/AnthropicStructuredOutput"
import * as LanguageModel from "effect/ai/LanguageModel"
import * as Model from "effect/ai/Model"
import { toCodecOpenAI } from "effect/ai/OpenAiStructuredOutput"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Predicate from "effect/Predicate"
import * as Stream from "effect/Stream"
import * as ChatSpan from "../model/ChatSpan.ts"
import * as NativeModel from "../model/NativeModel.ts"
import { type AnyModel, known } from "./AnyModel.ts"
import * as Download from "./Download.ts"
import { generateText } from "./Generate.ts"
import type { Given } from "./Prepare.ts"
import { type Settings, wrongIn } from "./Settings.ts"
import * as Spans from "./Spans.ts"
import { streamText, streamTo } from "./StreamText.ts"

export type { AnyModel } from "./AnyModel.ts"
export type { Download } from "./Download.ts"
export { CurrentSettings, type Settings, settings } from "./Settings.ts"
export type { Timeouts } from "./Timeouts.ts"

/**
 * Request settings of a model, and how schemas, results and files are sent to it; everything is optional.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options extends Settings {
  /**
   * Makes the JSON Schema of structured output and of tools with `Tool.Strict`. By default it is Anthropic's for providers with `anthropic`
   * in their name, and OpenAI's for all others. A schema that it can't write fails the request with `UnsupportedSchemaError`.
   */
  readonly codecTransformer?: LanguageModel.CodecTransformer
  /**
   * Whether results of tools may contain files, such as images. If not, the model reads the texts beside them and a note. By default they
   * may, except for providers with OpenAI's chat completions, whose results are texts: packages would send the file's base64 as text.
   */
  readonly resultFiles?: boolean
  /**
   * How to download files by address that the provider doesn't fetch itself, according to the model's `supportedUrls`; by default with the
   * limits of `Download`. With `false` each address is sent to the provider as it is.
   */
  readonly download?: Download.Download | false
}

/** Providers whose results are texts. Vertex is excepted: its name contains `chat`, but it speaks Gemini's own protocol. */
const textResults = /(?<!vertex)\.(chat|completion)$/i

/**
 * Returns an Effect of the service of a model. An invalid request setting or `download` fails each request with `InvalidRequestError`.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (of: AnyModel, options: Options = {}): Effect.Effect<LanguageModel.LanguageModel> => {
  const isObject = Predicate.isObject(options)
  const {
    codecTransformer = /anthropic/i.test(known(of).provider) ? toCodecAnthropic : toCodecOpenAI,
    resultFiles = !textResults.test(known(of).provider),
    download = {},
    ...settings
  }: Options = isObject ? options : {}
  const given: Given = {
    model: known(of),
    wrong: wrongIn(isObject ? settings : options) ?? (download === false ? undefined : Download.wrongIn(download)),
    settings,
    transformer: codecTransformer,
    takesFiles: resultFiles,
    download: download === false ? undefined : download,
    downloaded: new WeakMap()
  }
  const whole = generateText(given)
  const streamed = streamText(given)
  return NativeModel.make({
    generateText: (request) =>
      Effect.tapError(
        Effect.tap(whole(request), (parts) => Effect.sync(() => ChatSpan.annotateResponse(request.span, parts))),
        (error) => ChatSpan.fail(request.span, error)
      ),
    streamText: (request) => Stream.tapError(streamed(request), (error) => ChatSpan.fail(request.span, error)),
    codecTransformer,
    native: { names: Spans.namesOf(given.model), generateText: whole, streamText: streamTo(given) }
  })
}

/**
 * Provides a model as the `LanguageModel`. Spans and metrics of agents have the model's name and its provider's name. An invalid
 * request setting or `download` fails each request with `InvalidRequestError`.
 *
 * @category layers
 * @since 0.1.0
 */
export const layer: (model: AnyModel, options?: Options) => Layer.Layer<LanguageModel.LanguageModel> = (
  of,
  options
) => model(of, options)

/**
 * Returns a model as a `Model` of `effect/ai`: a Layer that also says the names of the provider and of the model.
 *
 * The provider's name is the one that OpenTelemetry lists for it, such as `gcp.gemini`, or else the part of its AI SDK id before the first
 * dot, such as `openai` for `openai.responses`.
 *
 * @category constructors
 * @since 0.1.0
 */
export const model = (
  model: AnyModel,
  options?: Options
): Model.Model<string, LanguageModel.LanguageModel, never> =>
  Model.make(
    Spans.namesOf(known(model)).provider,
    known(model).modelId,
    Layer.effect(LanguageModel.LanguageModel, make(model, options))
  )
