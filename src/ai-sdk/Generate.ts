/**
 * Asking a provider for a whole answer.
 *
 * @since 0.1.0
 */
import type {
  LanguageModelV3GenerateResult,
  LanguageModelV3Message,
  LanguageModelV4GenerateResult,
  LanguageModelV4Message
} from "@ai-sdk/provider"
import type * as AiError from "effect/ai/AiError"
import type * as Response from "effect/ai/Response"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type { Asking } from "./CallOptions.ts"
import { type Asked, askedOf, toPart, withApprovals } from "./Content.ts"
import { malformed } from "./Failure.ts"
import { type Come, finishPart, isFiltered, issueOf } from "./Finish.ts"
import { attempt, failure, type Given, prepareAll, type Prepared, warnOf } from "./Prepare.ts"
import * as Specification3 from "./Specification3.ts"
import * as Streamed from "./Streamed.ts"
import * as Warning from "./Warning.ts"

type Generated = LanguageModelV3GenerateResult | LanguageModelV4GenerateResult

const generate = (
  { model, options, prompt }: Prepared,
  abortSignal: AbortSignal
): PromiseLike<Generated> =>
  // The prompt was made for the model's specification.
  model.specificationVersion === "v3"
    ? model.doGenerate({
      ...Specification3.toCallOptions(options),
      prompt: prompt as Array<LanguageModelV3Message>,
      abortSignal
    })
    : model.doGenerate({ ...options, prompt: prompt as Array<LanguageModelV4Message>, abortSignal })

/** Returns the text of the structured output, if the provider marks a part of the answer's text as the structured output. */
const chosenText = (generated: Generated): string | undefined =>
  "structuredOutputText" in generated ? generated.structuredOutputText : undefined

/** Returns the parts of a whole answer. Text before the structured output becomes reasoning. */
const toParts = (
  generated: Generated,
  request: Asking,
  by: Asked
): Result.Result<Array<Response.PartEncoded>, AiError.AiErrorReason> => {
  const { content, response, warnings } = generated
  const asked = withApprovals(by, content)
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
  parts.push(finishPart(generated, { warnings, headers: response?.headers ?? undefined }))
  return Result.succeed(parts)
}

/** Asks a model for a whole answer. */
export const generateText =
  (given: Given) => (request: Asking): Effect.Effect<Array<Response.PartEncoded>, AiError.AiError> =>
    Effect.withFiber((fiber) => {
      const prepared = prepareAll("generateText", given, request, fiber)
      return Effect.flatMap(prepared, (prepared) => answerOf(given, request, prepared))
    })

const answerOf = (
  { transformer }: Given,
  request: Asking,
  prepared: Prepared
): Effect.Effect<Array<Response.PartEncoded>, AiError.AiError> => {
  const { model, patience } = prepared
  const controller = new AbortController()
  const answer = attempt("generateText", patience, () => generate(prepared, controller.signal), {
    isWhole: true,
    letGo: () => controller.abort()
  })
  return Effect.flatMap(answer, (generated) => {
    try {
      const parts = toParts(generated, request, askedOf(request, transformer))
      const answered = Result.isSuccess(parts)
        ? Effect.succeed(parts.success)
        : Effect.fail(failure("generateText", parts.failure))
      if (generated.warnings.length === 0 && !isFiltered(generated)) return answered
      return Effect.andThen(Effect.andThen(Warning.tell(model, generated.warnings), warnOf(generated, model)), answered)
    } catch (error) {
      return Effect.fail(failure("generateText", malformed(error)))
    }
  })
}
