/**
 * Responses that are streams of events, and how many of them a tenant may have open.
 */
import { Context, Effect, Layer, type Scope, Stream } from "effect"
import { HttpServerResponse } from "effect/http"
import type { Caller } from "../api/Authentication.ts"
import { TooManyRequests } from "../api/Problems.ts"
import { Settings } from "../config.ts"

/** A comment: readers pass over it, and whatever stands between knows that the stream lives. */
export const comment = ":\n\n"

/** Nothing on the way keeps a stream, puts it together, or packs it. The head of a response is sent with its first bytes. */
export const stream = (text: Stream.Stream<string, unknown>) =>
  HttpServerResponse.stream(Stream.encodeText(Stream.concat(Stream.succeed(comment), text)), {
    contentType: "text/event-stream",
    headers: { "cache-control": "no-cache, no-transform", "x-accel-buffering": "no" }
  })

/** Counts a stream for as long as its request goes on: those of a tenant's customers, and those of its colleagues. */
export class Streams extends Context.Service<Streams, {
  readonly count: (caller: Caller["Service"]) => Effect.Effect<void, TooManyRequests, Scope.Scope>
}>()("backend/Streams") {
  static readonly layer = Layer.effect(
    Streams,
    Effect.gen(function*() {
      const { limits } = yield* Settings
      const open = new Map<string, number>()
      return {
        count: ({ role, tenant }) => {
          const key = `${role} ${tenant}`
          return Effect.acquireRelease(
            Effect.suspend(() => {
              const streams = open.get(key) ?? 0
              if (streams >= limits.streams) {
                return new TooManyRequests({
                  detail: `${streams} streams are open, which is the limit`,
                  retryAfter: 5,
                  limit: "streams"
                })
              }
              open.set(key, streams + 1)
              return Effect.void
            }),
            () => Effect.sync(() => open.set(key, (open.get(key) ?? 1) - 1))
          )
        }
      }
    })
  )
}
