/**
 * The attempts of one request: each emits its start and its failure, and its usage counts if the provider may charge it.
 *
 * An attempt that breaks off leaves only the events of the pieces that arrived, and no half turn.
 *
 * @since 0.1.0
 */
import * as AiError from "effect/ai/AiError"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import { format } from "effect/Formatter"
import * as Answer from "../../../domain/ModelAnswer.ts"
import type { RetrySchedule } from "../../definition/Overrides.ts"
import * as Loop from "../../journal/Loop.ts"
import * as ModelRequest from "../../journal/ModelRequest.ts"
import { retrying } from "../Retrying.ts"
import * as ChatContent from "./ChatContent.ts"
import * as HeldBack from "./HeldBack.ts"
import * as ModelPort from "./ModelPort.ts"
import { planOf } from "./OwnModel.ts"
import type { RequestPrompt } from "./RequestPrompt.ts"

/** The error of a stream in which the provider reported one. */
export const brokenOff = (error: unknown): AiError.AiError =>
  AiError.make({
    module: "LanguageModel",
    method: "streamText",
    reason: new AiError.InternalProviderError({
      description: `The provider ended the stream with an error: ${
        typeof error === "string" ? error : error instanceof Error ? error.message : format(error)
      }`
    })
  })

const streamed = (
  fiber: Fiber.Fiber<unknown, unknown>,
  loop: Loop.Loop,
  options: ModelPort.Options,
  asked: ModelRequest.ModelRequest,
  progress: RequestProgress
): Effect.Effect<void, AiError.AiError, unknown> => {
  const { held } = progress
  const answer = Answer.begin()
  progress.arriving = answer
  const { path, step } = loop
  const where: Loop.Where = { path, step }
  if (held !== undefined) held.answer = answer
  return ModelPort.stream(fiber, options, asked, (parts) => {
    const at = Loop.now(loop)
    for (const part of parts) {
      if (part.type === "error") return Effect.fail(brokenOff(part.error))
      HeldBack.showOrHold(loop, held, where, answer, part, at)
      Answer.add(answer, part)
      if (part.type === "response-metadata" || part.type === "finish") Loop.keepAnswer(loop, brokenOffUse(answer))
    }
    return Loop.flushIfBehind(loop)
  })
}

/** How far a request has come: the number of its attempts, the answer that is arriving, the window of its prompt, and pieces held back. */
export interface RequestProgress {
  attempts: number
  arriving: Answer.Arriving | undefined
  readonly window: RequestPrompt["window"]
  readonly held: HeldBack.HeldBack | undefined
}

/** Returns the usage of an attempt that was cut short, as far as the provider has reported it. */
const brokenOffUse = ({ model, usage }: Pick<Answer.Arriving, "usage"> & Partial<Pick<Answer.Arriving, "model">>) =>
  ({ usage, ...(model === undefined ? undefined : { model }), isBrokenOff: true }) as const

const unknownUse = brokenOffUse({ usage: {} })

/**
 * Reasons that don't say whether an answer had begun. For all others a provider charges nothing if no part arrived: it refused the request,
 * or failed itself.
 */
const silentReasons: ReadonlyArray<AiError.AiErrorReason["_tag"]> = [
  "InvalidOutputError",
  "InvalidResponseError",
  "NetworkError",
  "StructuredOutputError",
  "UnknownError"
]

/**
 * Checks whether an attempt that failed used nothing: no answer had begun, and the provider didn't get the request, refused it, or failed
 * itself.
 */
const isFree = ({ reason }: AiError.AiError, { arriving }: RequestProgress): boolean =>
  (arriving === undefined || !Answer.hasBegun(arriving)) &&
  (!silentReasons.includes(reason._tag) || (reason._tag === "NetworkError" && reason.reason !== "TransportError"))

/** Sends a request, and emits that it started. Returns the answer if it comes as a whole. A streamed answer is in `progress.arriving`. */
const send = (
  loop: Loop.Loop,
  options: ModelPort.Options,
  progress: RequestProgress
): Effect.Effect<ModelPort.Whole | void, AiError.AiError, unknown> =>
  Effect.withFiber((fiber) => {
    const { journal } = loop
    const { window } = progress
    const attempt = progress.attempts++
    Loop.keepAnswer(loop, unknownUse)
    progress.arriving = undefined
    const at = Loop.now(loop)
    const sent = journal.recordsContent
      ? { prompt: options.prompt.prompt, tools: options.request.tools }
      : undefined
    const asked = ModelRequest.begin(loop, fiber, journal.clock, at, sent)
    ChatContent.asked(loop, asked)
    Loop.emit(loop, { _tag: "ModelCallStarted", attempt, ...(window === undefined ? undefined : { window }) }, at)
    if (!journal.isObserved) return ModelPort.generate(fiber, options, asked)
    return Effect.andThen(
      journal.flush,
      Effect.suspend(() =>
        journal.isStreaming
          ? streamed(fiber, loop, options, asked, progress)
          : ModelPort.generate(fiber, options, asked)
      )
    )
  })

/** Ends an attempt that failed, and emits that. It does nothing if the attempt has ended before. */
export const endFailed = (loop: Loop.Loop, progress: RequestProgress, error: AiError.AiError): void => {
  HeldBack.drop(progress.held)
  if (isFree(error, progress)) Loop.keepAnswer(loop, undefined)
  Loop.endRequest(loop, { tag: error.reason._tag, message: error.message })
}

/** Returns the answer of the last attempt: the one that arrived in pieces, or what `askOften` returned. */
export const answerOf = ({ arriving }: RequestProgress, whole: ModelPort.Whole | void): Answer.Answer =>
  // Without `arriving`, the answer came as a whole; TypeScript doesn't see that.
  arriving === undefined ? Answer.fromParts((whole as ModelPort.Whole).content) : Answer.finish(arriving)

/**
 * Asks the agent's model until it answers, or until the agent's schedule and plan allow no further attempt. The schedule applies only to
 * errors that are retryable. Returns what `send` does. The caller ends the last attempt if it failed (`endFailed`), so most requests, which
 * have neither schedule nor plan, wait for their only answer with less around them.
 */
export const askOften = (loop: Loop.Loop, options: ModelPort.Options, progress: RequestProgress) => {
  const { retry, settings } = loop.definition
  const plan = planOf(loop)
  let call: Effect.Effect<ModelPort.Whole | void, unknown, unknown> = send(loop, options, progress)
  if (retry !== undefined || plan !== undefined) {
    call = Effect.tapError(call, (error) => {
      if (AiError.isAiError(error)) endFailed(loop, progress, error)
      return loop.journal.flush
    })
  }
  if (retry !== undefined) {
    // An agent's schedule gets only errors that are retryable.
    call = retrying(call, retry as RetrySchedule, (error) => AiError.isAiError(error) && error.isRetryable)
  }
  if (plan !== undefined) {
    call = Effect.withExecutionPlan(call as Effect.Effect<ModelPort.Whole | void, AiError.AiError, unknown>, plan)
  }
  return settings === undefined ? call : Effect.provideContext(call, settings)
}
