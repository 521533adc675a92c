/**
 * A model that answers as a tape says.
 *
 * @since 0.1.0
 */
import * as AiError from "effect/ai/AiError"
import * as LanguageModel from "effect/ai/LanguageModel"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as Result from "effect/Result"
import * as Stream from "effect/Stream"
import type { Delivery } from "../Delivery.ts"
import * as ModelSession from "../ModelSession.ts"
import * as Asked from "./Asked.ts"
import type { Answer } from "./Entry.ts"
import * as Parts from "./Parts.ts"
import * as Place from "./Place.ts"
import type { Player } from "./Player.ts"
import type { Change } from "./Redact.ts"

/** Where a defect ends a stream. */
const ended = AiError.make({ module: "Cassette", method: "replay", reason: new AiError.UnknownError({}) })

const deliveryOf = (answer: Answer): Delivery => {
  const parts = (answer._tag === "ModelResponded" ? answer.parts : answer.heard).flatMap(Parts.fromTurn)
  const response = { _tag: "MockResponse", parts } as Delivery
  switch (answer._tag) {
    case "ModelResponded":
      return {
        ...response,
        usage: answer.usage,
        ...(answer.model === undefined ? undefined : { model: answer.model }),
        finishReason: answer.finishReason
      }
    case "Failed":
      return { ...response, failure: { error: answer.error, after: Infinity } }
    case "Died":
      return { ...response, failure: { error: ended, after: Infinity } }
    case "Hangs":
      return { ...response, hang: Infinity }
  }
}

const sent = (): void => {}

/** Makes a model that plays a tape. */
export const make = (player: Player, change: Change): Effect.Effect<LanguageModel.LanguageModel> => {
  const find = (
    fiber: Fiber.Fiber<unknown, unknown>,
    options: LanguageModel.ProviderOptions
  ): Effect.Effect<Answer> => {
    const found = player.model({ ...Place.current(fiber, 0), asked: Asked.fromOptions(options, change) })
    return Effect.orDie(Effect.fromResult(Result.map(found, ({ answer }) => answer)))
  }
  return LanguageModel.make({
    generateText: (options) =>
      Effect.withFiber((fiber) =>
        Effect.flatMap(find(fiber, options), (answer) =>
          answer._tag === "Died"
            ? Effect.die(answer.defect)
            : ModelSession.whole({ delivery: deliveryOf(answer), sent }))
      ),
    streamText: (options) =>
      Stream.unwrap(Effect.withFiber((fiber) =>
        Effect.map(find(fiber, options), (answer) => {
          const stream = Stream.fromPull(
            Effect.sync(() => ModelSession.streamed({ delivery: deliveryOf(answer), sent }))
          )
          return answer._tag === "Died" ? Stream.catch(stream, () => Stream.die(answer.defect)) : stream
        })
      ))
  })
}
