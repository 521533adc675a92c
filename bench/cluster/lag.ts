/** How long the pieces of a streamed answer take from the runner that gets them to a reader in another process. */
import { Effect, Fiber, Stream } from "effect"
import { Conversation } from "../../src/cluster/index.ts"
import { Agent } from "../../src/index.ts"
import { figure, quantile } from "./figure.ts"
import { cluster } from "./runners.ts"

const Talker = Conversation.make("Talker", Agent.make("talker"))

/** Measures the lag of pieces, with sockets that send at once and with those of Effect's own layer. */
export const measureLag = (url: string) =>
  Effect.forEach([false, true], (isDelayed) =>
    Effect.gen(function*() {
      const { client } = yield* cluster(url, 2, { isDelayed })
      const chats = yield* Effect.provideContext(Talker.client, client)
      const lags: Array<number> = []
      for (let n = 0; n < 4; n++) {
        const chat = chats(`lag-${n}`)
        yield* chat.say("Hello")
        const reading = yield* chat.events({ after: 0 }).pipe(
          Stream.runForEach(({ event, piece }) =>
            Effect.sync(() => {
              if (piece !== undefined && event._tag === "TextDelta") lags.push(Date.now() - event.at)
            })
          ),
          Effect.forkChild
        )
        yield* Effect.sleep(500)
        yield* chat.say("Talk")
        yield* Fiber.interrupt(reading)
      }
      const how = isDelayed ? "sockets of Effect's own layer" : "sockets with noDelay"
      yield* figure(`lag of a piece, ${how}, median, ms`, quantile(lags, 0.5), isDelayed ? undefined : "≤ 10")
      yield* figure(`lag of a piece, ${how}, 95th percentile, ms`, quantile(lags, 0.95))
    }).pipe(Effect.scoped), { discard: true })
