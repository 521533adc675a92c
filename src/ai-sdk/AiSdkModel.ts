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
import { toCodecAnthropic } from "effect/ai/AnthropicStructuredOutput"
import * as LanguageModel from "effect/ai/LanguageModel"
import * as Model from "effect/ai/Model"
import { toCodecOpenAI } from "effect/ai/OpenAiStructuredOutput"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import * as ChatSpan from "../model/ChatSpan.ts"
import * as NativeModel from "../model/NativeModel.ts"
import { type AnyModel, known } from "./AnyModel.ts"
import type * as Download from "./Download.ts"
import { generateText } from "./Generate.ts"
import type { Given } from "./Prepare.ts"
import type { Settings } from "./Settings.ts"
import * as Spans from "./Spans.ts"
import { streamText, streamTo } from "./StreamText.ts"

export type { AnyModel } from "./AnyModel.ts"
export type { Download } from "./Download.ts"
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
 * - `download` says how files by address are downloaded that the provider doesn't fetch itself, as the model's `supportedUrls` have it.
 *   With `false` each address is given to the provider as it is.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options extends Settings {
  readonly codecTransformer?: LanguageModel.CodecTransformer
  readonly resultFiles?: boolean
  readonly download?: Download.Download | false
}

/** Providers whose results are texts. Vertex has Gemini's own protocol under the name of a chat. */
const textResults = /(?<!vertex)\.(chat|completion)$/i

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
    download = {},
    ...settings
  }: Options = {}
): Effect.Effect<LanguageModel.LanguageModel> => {
  const given: Given = {
    model: known(of),
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
    Spans.namesOf(known(model)).provider,
    known(model).modelId,
    Layer.effect(LanguageModel.LanguageModel, make(model, options))
  )
