/**
 * Asking a provider for an answer that arrives piece by piece.
 *
 * @since 0.1.0
 */
import type {
  LanguageModelV3Message,
  LanguageModelV3StreamResult,
  LanguageModelV4Message,
  LanguageModelV4StreamResult
} from "@ai-sdk/provider"
import * as AiError from "effect/ai/AiError"
import type * as Response from "effect/ai/Response"
import * as Arr from "effect/Array"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import type * as Pull from "effect/Pull"
import * as Result from "effect/Result"
import * as Stream from "effect/Stream"
import * as ChatSpan from "../model/ChatSpan.ts"
import type { AnyModel } from "./AnyModel.ts"
import type { Asking } from "./CallOptions.ts"
import { askedOf } from "./Content.ts"
import { isCutOff, isUnexplained, malformed } from "./Failure.ts"
import { isFiltered } from "./Finish.ts"
import { attempt, failed, failure, type Given, prepareAll, type Prepared, warnOf } from "./Prepare.ts"
import * as Specification3 from "./Specification3.ts"
import * as Streamed from "./Streamed.ts"
import * as Timeouts from "./Timeouts.ts"
import * as Warning from "./Warning.ts"

const start = (
  { model, options, prompt }: Prepared,
  abortSignal: AbortSignal
): PromiseLike<LanguageModelV3StreamResult | LanguageModelV4StreamResult> =>
  // The prompt was made for the model's specification.
  model.specificationVersion === "v3"
    ? model.doStream({
      ...Specification3.toCallOptions(options),
      prompt: prompt as Array<LanguageModelV3Message>,
      abortSignal
    })
    : model.doStream({ ...options, prompt: prompt as Array<LanguageModelV4Message>, abortSignal })

const broken = (reason: AiError.AiErrorReason) => Effect.fail(failure("streamText", reason))

/**
 * Fails with an error that a stream reports. If the response is a page, an error without a status comes from the package, which couldn't
 * read the page: the failure then names the page instead.
 */
const brokenBy = (arriving: Streamed.Arriving, error: unknown): Effect.Effect<never, AiError.AiError> =>
  isCutOff(error) || (Streamed.isPage(arriving) && isUnexplained(error))
    ? broken(Streamed.ended(arriving))
    : failed("streamText", error, true)

/** Takes parts of a stream that arrive together. No more parts are read until its effect has run. The list is reused then. */
type Take = (parts: ReadonlyArray<Response.StreamPartEncoded>) => Effect.Effect<void, AiError.AiError> | undefined

/** Logs what a part warns of, if it does. */
const warningOf = (part: Streamed.Part, model: AnyModel): Effect.Effect<void> | undefined =>
  part.type === "stream-start" && part.warnings.length > 0
    ? Warning.tell(model, part.warnings)
    : part.type === "finish" && isFiltered(part)
    ? warnOf(part, model)
    : undefined

/** Takes a part of a stream. Returns an effect of whether other parts may follow, or `undefined` if they may at once. */
const pass = (
  arriving: Streamed.Arriving,
  { model, patience }: Prepared,
  part: Streamed.Part | undefined,
  take: Take
): Effect.Effect<boolean, AiError.AiError> | undefined => {
  if (part === undefined) return broken(Streamed.ended(arriving))
  let read: ReturnType<typeof Streamed.take>
  let warning: Effect.Effect<void> | undefined
  try {
    if (Streamed.isNews(part)) Timeouts.heard(patience)
    if (part.type === "error") return brokenBy(arriving, part.error)
    read = Streamed.take(arriving, part)
    warning = warningOf(part, model)
  } catch (error) {
    return broken(malformed(error))
  }
  if (Result.isFailure(read)) return broken(read.failure)
  const parts = read.success
  const taken = parts.length === 0 ? undefined : take(parts)
  const { hasFinished } = arriving
  if (taken === undefined && warning === undefined) return hasFinished ? Effect.succeed(false) : undefined
  return Effect.as(Effect.andThen(warning ?? Effect.void, taken ?? Effect.void), !hasFinished)
}

/** How long a provider may take to close its stream after the answer, in milliseconds. */
const closing = 1_000

/** Reads a stream whose answer is over to its end, while nobody waits. If it stays open, it is let go of. */
const readOut = (reader: ReadableStreamDefaultReader<Streamed.Part>, letGo: () => void): void => {
  const timer = setTimeout(letGo, closing)
  // Without a pause, a stream whose parts are all there would be read before anything else, the timer included.
  const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve))
  const readOn = (): Promise<void> => reader.read().then(({ done }) => done ? undefined : pause().then(readOn))
  readOn().catch(() => {}).finally(() => clearTimeout(timer))
}

/**
 * Opens a stream that is read as it is taken. If it isn't read to the end of the answer, the stream and its request are cancelled. The
 * returned effect takes parts until it has to wait, and says whether others may follow. None follows the finish: a provider may leave its
 * connection open then, break it, or make up another end.
 */
const open = Effect.fnUntraced(function*(given: Given, request: Asking) {
  const prepared = yield* Effect.withFiber((fiber) => prepareAll("streamText", given, request, fiber))
  const { patience } = prepared
  const controller = new AbortController()
  let starting: ReturnType<typeof start> | undefined
  let reader: ReadableStreamDefaultReader<Streamed.Part> | undefined
  let hasEnded = false
  let arriving: Streamed.Arriving | undefined
  yield* Effect.addFinalizer(() =>
    Effect.sync(() => {
      Timeouts.end(patience)
      if (hasEnded) return
      const opened = reader
      const letGo = () => {
        controller.abort()
        // Nobody waits for the cancellation, because a provider that reads ahead may never confirm it.
        if (opened !== undefined) opened.cancel().catch(() => {})
        // A provider that ignores the signal may begin its stream later.
        else Promise.resolve(starting).then((late) => late?.stream.cancel()).catch(() => {})
      }
      if (opened !== undefined && arriving?.hasFinished === true) readOut(opened, letGo)
      else letGo()
    })
  )
  const started = yield* attempt(
    "streamText",
    patience,
    () => starting = start(prepared, controller.signal)
  )
  const taken = yield* Effect.try({
    try: (): ReadableStreamDefaultReader<Streamed.Part> => started.stream.getReader(),
    catch: (error) => failure("streamText", malformed(error))
  })
  reader = taken
  const answer = arriving = Streamed.begin(askedOf(request, given.transformer), started.response?.headers ?? undefined)
  const read = () => taken.read()
  return (take: Take): Effect.Effect<boolean, AiError.AiError> => {
    const taking = Effect.catchIf(
      Timeouts.waitForEach(patience, read, ({ done, value }) => {
        hasEnded = done
        return pass(answer, prepared, value, take)
      }),
      (error) => !AiError.isAiError(error),
      (error) => error._tag === "Thrown" ? brokenBy(answer, error.error) : broken(error)
    )
    return Effect.suspend(() => answer.hasFinished ? Effect.succeed(false) : taking)
  }
})

/** Asks a model for an answer as a stream of its parts. */
export const streamText = (given: Given) => (request: Asking) =>
  Stream.unwrap(Effect.map(open(given, request), (next) => {
    let arrived: Arr.NonEmptyReadonlyArray<Response.StreamPartEncoded> | undefined
    const take: Take = (parts) => {
      ChatSpan.annotateResponse(request.span, parts)
      if (Arr.isReadonlyArrayNonEmpty(parts)) arrived = Arr.copy(parts)
      return Effect.void
    }
    const pull = Effect.suspend(
      (): Pull.Pull<Arr.NonEmptyReadonlyArray<Response.StreamPartEncoded>, AiError.AiError> => {
        arrived = undefined
        return Effect.flatMap(
          next(take),
          (goesOn) => arrived !== undefined ? Effect.succeed(arrived) : goesOn ? pull : Cause.done()
        )
      }
    )
    return Stream.fromPull(Effect.succeed(pull))
  }))

/** Passes all parts of a stream to a loop, as they arrive. */
export const streamTo = (given: Given) => (request: Asking, take: Take): Effect.Effect<void, AiError.AiError> =>
  Effect.scoped(Effect.flatMap(open(given, request), (next) => {
    const taking = next(take)
    const goOn: Effect.Effect<void, AiError.AiError> = Effect.flatMap(taking, (goesOn) => goesOn ? goOn : Effect.void)
    return goOn
  }))
