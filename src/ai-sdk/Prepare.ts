/**
 * A provider's call before it is made: its options and time-outs, and how its failures and warnings are reported.
 *
 * @since 0.1.0
 */
import type { LanguageModelV4Message } from "@ai-sdk/provider"
import * as AiError from "effect/ai/AiError"
import type * as LanguageModel from "effect/ai/LanguageModel"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as Result from "effect/Result"
import { type AnyModel, isSupported, type Known, unsupported } from "./AnyModel.ts"
import { type Asking, type Options, textToolsOf, toCallOptions } from "./CallOptions.ts"
import * as CallPrompt from "./CallPrompt.ts"
import * as Download from "./Download.ts"
import { reasonOf, type When } from "./Failure.ts"
import { type Ending, isFiltered } from "./Finish.ts"
import { CurrentSettings, over, type Settings, wrongIn } from "./Settings.ts"
import * as Spans from "./Spans.ts"
import * as Specification3 from "./Specification3.ts"
import * as Timeouts from "./Timeouts.ts"
import * as Warning from "./Warning.ts"
import * as Wrong from "./Wrong.ts"

/** How a model is asked. */
export type Method = "generateText" | "streamText"

/** Makes the error of a request. */
export const failure = (method: Method, reason: AiError.AiErrorReason): AiError.AiError =>
  AiError.make({ module: "AiSdkModel", method, reason })

/** Fails with what a provider threw. */
export const failed = (method: Method, error: unknown, isAnswering: boolean): Effect.Effect<never, AiError.AiError> =>
  Effect.flatMap(Clock.currentTimeMillis, (now) => {
    const when: When = { now, isAnswering }
    return Effect.fail(failure(method, reasonOf(error, when)))
  })

/** Waits for a provider, with the request's time-outs. */
export const attempt = <A>(
  method: Method,
  patience: Timeouts.Patience,
  run: () => PromiseLike<A>,
  { isAnswering = false, ...waiting }: Timeouts.Waiting & { readonly isAnswering?: boolean } = {}
): Effect.Effect<A, AiError.AiError> =>
  Effect.catch(
    Timeouts.waitFor(patience, run, waiting),
    (error) => error._tag === "Thrown" ? failed(method, error.error, isAnswering) : Effect.fail(failure(method, error))
  )

/** Logs a warning if the provider's content filter ended an answer. */
export const warnOf = (ending: Ending, model: AnyModel): Effect.Effect<void> =>
  isFiltered(ending) ? Warning.say(model, "the provider's content filter ended the answer") : Effect.void

/** A model, and the options of every request to it. */
export interface Given {
  readonly model: Known
  /** What is wrong with the options below, if anything. */
  readonly wrong: AiError.AiErrorReason | undefined
  readonly settings: Settings
  readonly transformer: LanguageModel.CodecTransformer
  readonly takesFiles: boolean
  /** How files that the provider doesn't fetch are downloaded, if they are, and the messages that have such files, with them. */
  readonly download: Download.Download | undefined
  readonly downloaded: WeakMap<LanguageModelV4Message, CallPrompt.Message>
}

/** A call of a model: its options, the messages in the model's specification, and its time-outs. */
export interface Prepared {
  readonly model: AnyModel
  readonly options: Options
  readonly prompt: ReadonlyArray<CallPrompt.Message>
  readonly patience: Timeouts.Patience
}

/** A call whose files by address may have to be downloaded. */
interface Undownloaded extends Omit<Prepared, "prompt"> {
  readonly prompt: CallPrompt.CallPrompt
}

/** Prepares a call from a request and its request settings. */
const prepare = (
  method: Method,
  { model, settings, takesFiles, transformer, wrong }: Given,
  request: Asking,
  fiber: Fiber.Fiber<unknown, unknown>
): Result.Result<Undownloaded, AiError.AiError> => {
  if (!isSupported(model)) return Result.fail(failure(method, unsupported(model)))
  const current = fiber.getRef(CurrentSettings)
  const reason = wrong ?? wrongIn(current)
  if (reason !== undefined) return Result.fail(failure(method, reason))
  const { timeouts, ...all } = over(settings, current)
  Spans.annotateRequest(request.span, model, all)
  try {
    const options = toCallOptions(request, all, transformer)
    const takes = { takesFiles, textTools: textToolsOf(request) }
    const prompt = CallPrompt.make(request, model.specificationVersion, takes)
    return Result.succeed({ model, options, prompt, patience: Timeouts.begin(timeouts, fiber.getRef(Clock.Clock)) })
  } catch (error) {
    const description = error instanceof Error ? error.message : String(error)
    return Result.fail(failure(method, new AiError.UnsupportedSchemaError({ description })))
  }
}

/** Downloads the files of a call that its provider doesn't fetch itself, once for each message and model. */
const withDownloads = (
  method: Method,
  { download, downloaded }: Given,
  call: Undownloaded
): Effect.Effect<Prepared, AiError.AiError> => {
  const { model, patience, prompt } = call
  const complete = (): Prepared => ({ ...call, prompt: CallPrompt.complete(prompt) })
  if (download === undefined) return Effect.succeed(complete())
  const missing: Array<CallPrompt.Addressed> = []
  for (const addressed of prompt.addressed) {
    const known = downloaded.get(addressed.message)
    if (known === undefined) missing.push(addressed)
    else prompt.messages[addressed.at] = known
  }
  if (missing.length === 0) return Effect.succeed(complete())
  // A provider may have to be asked which addresses it fetches.
  const supported = attempt(method, patience, () => Promise.resolve(model.supportedUrls), { isWhole: true })
  return Effect.flatMap(supported, (supported) => {
    const supportedUrls = supported ?? {}
    const reason = Wrong.reasonIn("model", { supportedUrls }, { supportedUrls: Wrong.patternsByName })
    if (reason !== undefined) return Effect.fail(failure(method, reason))
    const downloading = Effect.forEach(
      missing,
      ({ at, message }) =>
        Effect.map(Download.withFiles(supportedUrls, message, download), (whole) => {
          if (whole === message) return
          const made = CallPrompt.inSpecification(whole, model.specificationVersion)
          downloaded.set(message, made)
          prompt.messages[at] = made
        }),
      { discard: true }
    )
    return Effect.mapBoth(downloading, { onFailure: (reason) => failure(method, reason), onSuccess: complete })
  })
}

/** Prepares a call, and downloads the files that the provider doesn't fetch itself. */
export const prepareAll = (
  method: Method,
  given: Given,
  request: Asking,
  fiber: Fiber.Fiber<unknown, unknown>
): Effect.Effect<Prepared, AiError.AiError> => {
  const prepared = prepare(method, given, request, fiber)
  if (Result.isFailure(prepared)) return Effect.fail(prepared.failure)
  const { model, options } = prepared.success
  const downloading = withDownloads(method, given, prepared.success)
  const unsupported = model.specificationVersion === "v3" ? Specification3.unsupported(options) : undefined
  return unsupported === undefined ? downloading : Effect.andThen(Warning.say(model, unsupported), downloading)
}
