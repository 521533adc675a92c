/**
 * Asking the model: one request, its attempts, and its whole answer told as one event.
 *
 * An answer that breaks off leaves nothing behind but the events of what arrived: no half turn.
 *
 * @since 0.1.0
 */
import * as AiError from "effect/ai/AiError"
import * as LanguageModel from "effect/ai/LanguageModel"
import type * as Prompt from "effect/ai/Prompt"
import type * as Response from "effect/ai/Response"
import * as Effect from "effect/Effect"
import { format } from "effect/Formatter"
import * as Stream from "effect/Stream"
import { ModelCallFailed } from "../domain/AgentError.ts"
import { withUniqueIds } from "../domain/CallIds.ts"
import * as Answer from "./Answer.ts"
import type { Request } from "./Definition.ts"
import { Halt } from "./Halt.ts"
import * as Loop from "./Loop.ts"
import { makePrompt } from "./Request.ts"

type Part = Response.AllParts<Record<string, never>>

const tellPart = (loop: Loop.Loop, answer: Answer.Arriving, part: Part, at: number): void => {
  switch (part.type) {
    case "text-delta":
      return Loop.tellDelta(loop, "TextDelta", part.delta, at)
    case "reasoning-delta":
      return Loop.tellDelta(loop, "ReasoningDelta", part.delta, at)
    case "tool-params-delta":
      return Loop.tell(loop, {
        _tag: "ToolParamsDelta",
        callId: part.id,
        name: answer.names.get(part.id) ?? "",
        delta: part.delta
      })
    default:
      return
  }
}

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

const streamed = (loop: Loop.Loop, options: Options): Effect.Effect<Answer.Answer, AiError.AiError, unknown> =>
  Effect.suspend(() => {
    const answer = Answer.begin()
    return Stream.runForEachArray(
      LanguageModel.streamText(options) as Stream.Stream<Part, AiError.AiError, unknown>,
      (parts) => {
        const at = Loop.now(loop)
        for (const part of parts) {
          if (part.type === "error") return Effect.fail(brokenOff(part.error))
          tellPart(loop, answer, part, at)
          Answer.take(answer, part)
        }
        return loop.root.flush
      }
    ).pipe(Effect.map(() => Answer.finish(answer)))
  })

const whole = (options: Options): Effect.Effect<Answer.Answer, AiError.AiError, unknown> =>
  Effect.map(LanguageModel.generateText(options), (response) => {
    const answer = Answer.begin()
    for (const part of response.content) Answer.take(answer, part as Part)
    return Answer.finish(answer)
  })

interface Options extends Request {
  readonly prompt: Prompt.Prompt
}

/** One attempt: told when it starts and when it fails. Its answer is told by `askModel`. */
const attempt = (loop: Loop.Loop, options: Options, count: { attempts: number }) =>
  Effect.suspend(() => {
    const attempt = count.attempts++
    loop.open.attempt = attempt
    Loop.tell(loop, { _tag: "ModelCallStarted", attempt })
    return loop.root.isObserved
      ? Effect.andThen(loop.root.flush, loop.root.isStreaming ? streamed(loop, options) : whole(options))
      : whole(options)
  }).pipe(
    Effect.catch((error: AiError.AiError) => {
      const attempt = loop.open.attempt ?? 0
      loop.open.attempt = undefined
      Loop.tell(loop, { _tag: "ModelCallFailed", attempt, tag: error.reason._tag, message: error.message })
      return Effect.andThen(loop.root.flush, Effect.fail(error))
    })
  )

/** Asks the model of the agent, by its own model or plan where it has one, as often as its schedule says. */
const ask = (loop: Loop.Loop, options: Options, count: { attempts: number }) => {
  const { retry, settings } = loop.definition
  let call: Effect.Effect<Answer.Answer, unknown, unknown> = attempt(loop, options, count)
  if (retry !== undefined) {
    call = Effect.retry(call, {
      schedule: retry,
      while: (error) => AiError.isAiError(error) && error.isRetryable
    } as Effect.Retry.Options<unknown>)
  }
  if (loop.plan !== undefined) {
    call = Effect.withExecutionPlan(call as Effect.Effect<Answer.Answer, AiError.AiError, unknown>, loop.plan)
  }
  return settings === undefined ? call : Effect.provideContext(call, settings)
}

/** Asks the model and tells its answer. Fails with `ModelCallFailed` after the last attempt. */
export const askModel = (loop: Loop.Loop): Effect.Effect<void, unknown, unknown> => {
  if (loop.parent === undefined) return request(loop)
  // At once, and not when the effect runs: a limit that wasn't met may be by the next agent that looks.
  Loop.countAsking(loop, 1)
  return Effect.ensuring(request(loop), Effect.sync(() => Loop.countAsking(loop, -1)))
}

const request = Effect.fnUntraced(function*(loop: Loop.Loop) {
  const made = makePrompt(loop)
  const prompt = Effect.isEffect(made) ? yield* made : made
  const count = { attempts: 0 }
  const answer = yield* Effect.catch(
    ask(loop, { ...loop.definition.request(loop.state, loop.live.between > 0), prompt }, count),
    (error) =>
      AiError.isAiError(error) && count.attempts > 0
        ? Effect.fail(
          new Halt(
            new ModelCallFailed({
              agent: loop.definition.name,
              step: loop.step,
              attempts: count.attempts,
              error
            })
          )
        )
        : Effect.fail(error)
  )
  loop.open.attempt = undefined
  Loop.tell(loop, {
    _tag: "ModelResponded",
    parts: withUniqueIds(answer.parts, loop.root.takenIds),
    usage: answer.usage,
    finishReason: answer.finishReason
  })
})
