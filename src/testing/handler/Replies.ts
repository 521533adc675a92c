/**
 * Handlers that don't look at the request: replies in order, again and again, and after failures.
 *
 * @since 0.1.0
 */
import type * as AiError from "effect/ai/AiError"
import * as Effect from "effect/Effect"
import { countOf } from "../../domain/InvalidLimit.ts"
import {
  type Answer,
  CurrentBuilding,
  decline,
  fromMake,
  type Handler,
  isHandler,
  type Reply,
  type ReplyFunction,
  stateful,
  toAnswer,
  toHandler
} from "../Handler.ts"
import * as MockResponse from "../MockResponse.ts"

/**
 * Makes a handler that answers each request with the same reply: a response, an Effect of one, or what a function of the request returns.
 *
 * What the function throws is a defect. What the Effect fails with is the model's error. A result that is neither a string nor a response,
 * or a failure that isn't an `AiError`, dies with a `TypeError`.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = <R = never>(reply: Reply<R> | ReturnType<ReplyFunction<R>>): Handler<R> =>
  fromMake(Effect.succeed(toAnswer(reply)))

type Services<Replies> = Replies extends (request: never) => Effect.Effect<unknown, unknown, infer R> ? R : never

/**
 * Makes a handler that returns one reply after the other, whichever agent asks. When all are used up, it declines.
 *
 * @category constructors
 * @since 0.1.0
 */
export const queue = <const Replies extends ReadonlyArray<Reply<unknown>>>(
  ...replies: Replies
): Handler<Services<Replies[number]>> => {
  const answers = replies.map((reply) => toAnswer(reply)) as ReadonlyArray<Answer<Services<Replies[number]>>>
  const count = answers.length
  const exhausted = count === 0 ? "nothing was queued" : `all ${count} queued responses are used up`
  return stateful(() => {
    let next = 0
    return [
      (request, note) => {
        const answer = answers[next]
        if (answer === undefined) return decline(exhausted)
        next++
        note?.(`queue ${next} of ${count}`)
        return answer(request, note)
      },
      { left: () => next < count ? `${count - next} of ${count} queued responses` : undefined }
    ]
  })
}

/**
 * Makes a handler that returns the same reply each time, or begins a handler anew whenever that handler declines.
 *
 * `times` limits the replies, or how often the handler begins; by default there is no limit. When the repetitions are used up, it declines.
 * Throws `InvalidLimit` for invalid `times`, such as a negative number or a fraction.
 *
 * @category combinators
 * @since 0.1.0
 */
export const repeat = <R = never>(self: Reply<R> | Handler<R>, times = Infinity): Handler<R> => {
  countOf("repeat", times, 0)
  const isReply = !isHandler(self)
  const begin = Effect.provideService(toHandler(self).make, CurrentBuilding, undefined)
  return stateful(() => {
    let rounds = 0
    let round: Answer<R> | undefined
    const answerFrom = (request: Parameters<Answer<R>>[0], note: Parameters<Answer<R>>[1]): ReturnType<Answer<R>> => {
      const current = round
      if (current === undefined && rounds >= times) return decline(`all ${times} repetitions are used up`)
      const answered = current === undefined
        ? Effect.flatMap(begin, (answer) => {
          round = isReply ? undefined : answer
          rounds++
          note?.(`repetition ${rounds}`)
          return answer(request, note)
        })
        : current(request, note)
      return Effect.flatMap(answered, (response) => {
        if (response._tag === "MockResponse" || current === undefined) return Effect.succeed(response)
        round = undefined
        return answerFrom(request, note)
      })
    }
    return [
      answerFrom,
      { left: () => times !== Infinity && rounds < times ? `${times - rounds} of ${times} repetitions` : undefined }
    ]
  })
}

/**
 * Makes a handler that fails with the error a number of `times`, and then answers as `then` does. Throws `InvalidLimit` for invalid
 * `times`, such as a negative number or a fraction.
 *
 * **Example** (A provider that recovers)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { AiError, LanguageModel } from "effect/ai"
 * import { MockModel } from "troupe/testing"
 *
 * const overloaded = new AiError.InternalProviderError({ description: "overloaded" })
 * const handler = MockModel.failTimes(2, overloaded, "Back again.")
 *
 * const program = LanguageModel.generateText({ prompt: "Hello?" }).pipe(
 *   Effect.retry({ times: 2 }),
 *   Effect.map((response) => response.text),
 *   Effect.provide(MockModel.layer(handler))
 * )
 *
 * await Effect.runPromise(program) // => "Back again."
 * ```
 *
 * @category combinators
 * @since 0.1.0
 */
export const failTimes = <R = never>(
  times: number,
  error: AiError.AiError | AiError.AiErrorReason,
  then: Reply<R> | Handler<R>
): Handler<R> => {
  countOf("failTimes", times, 0)
  const failure = Effect.succeed(MockResponse.fail(error))
  const { make } = toHandler(then)
  const failing = stateful<never>(() => {
    let failed = 0
    return [
      (_, note) => {
        if (failed >= times) return decline("it has failed often enough")
        failed++
        note?.(`failure ${failed} of ${times}`)
        return failure
      },
      { left: () => failed < times ? `${times - failed} of ${times} failures` : undefined }
    ]
  })
  return fromMake(
    Effect.zipWith(
      failing.make,
      make,
      (fail, then) => (request, note) =>
        Effect.flatMap(
          fail(request, note),
          (response) => response._tag === "MockResponse" ? Effect.succeed(response) : then(request, note)
        )
    )
  )
}
