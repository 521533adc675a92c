/**
 * A model that answers as a tape says.
 *
 * @since 0.1.0
 */
import * as AiError from "effect/ai/AiError"
import type * as LanguageModel from "effect/ai/LanguageModel"
import type * as Response from "effect/ai/Response"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import * as NativeModel from "../../model/NativeModel.ts"
import type { Delivery } from "../Delivery.ts"
import * as ModelSession from "../ModelSession.ts"
import * as Asked from "./Asked.ts"
import type { Answer, ModelEntry } from "./Entry.ts"
import * as Parts from "./Parts.ts"
import * as Place from "./Place.ts"
import type { Player } from "./Player.ts"
import type { Change } from "./Redact.ts"

/** Ends a stream that a recorded defect then replaces. */
const brokenOff = AiError.make({ module: "Cassette", method: "replay", reason: new AiError.UnknownError({}) })

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
      return { ...response, failure: { error: brokenOff, after: Infinity } }
    case "Hangs":
      return { ...response, hang: Infinity }
  }
}

const sent = (): void => {}

/** Makes a model that plays a tape. */
export const make = (player: Player, change: Change): Effect.Effect<LanguageModel.LanguageModel> => {
  const ended = (entry: ModelEntry) => Effect.sync(() => player.end(entry))
  const find = (
    fiber: Fiber.Fiber<unknown, unknown>,
    options: Asked.Options
  ): Effect.Effect<ModelEntry> =>
    Effect.orDie(
      Effect.fromResult(player.model({ ...Place.current(fiber, 0), asked: Asked.fromOptions(options, change) }))
    )
  const whole = (options: Asked.Options) =>
    Effect.withFiber<Array<Response.PartEncoded>, AiError.AiError>((fiber) =>
      Effect.flatMap(find(fiber, options), (entry) => {
        const { answer } = entry
        const sending = answer._tag === "Died"
          ? Effect.die(answer.defect)
          : ModelSession.whole({ delivery: deliveryOf(answer), sent })
        return Effect.onExit(sending, () => ended(entry))
      })
    )
  return NativeModel.make({
    generateText: whole,
    streamText: (options) =>
      Stream.unwrap(Effect.withFiber((fiber) =>
        Effect.map(find(fiber, options), (entry) => {
          const { answer } = entry
          const stream = Stream.fromPull(
            Effect.sync(() => ModelSession.streamed({ delivery: deliveryOf(answer), sent }))
          )
          const played = answer._tag === "Died" ? Stream.catch(stream, () => Stream.die(answer.defect)) : stream
          return Stream.onExit(played, () => ended(entry))
        })
      )),
    native: {
      generateText: whole,
      streamText: (request, take) =>
        Effect.withFiber((fiber) =>
          Effect.flatMap(find(fiber, request), (entry) => {
            const { answer } = entry
            const sending = ModelSession.sendAll({ delivery: deliveryOf(answer), sent }, take)
            const played = answer._tag === "Died"
              ? Effect.catch(sending, () => Effect.die(answer.defect))
              : sending
            return Effect.onExit(played, () => ended(entry))
          })
        )
    }
  })
}
