/**
 * What answers the requests of the API.
 */
import { Effect, Layer, Schema, Stream } from "effect"
import { Sse } from "effect/encoding"
import { HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../api/Api.ts"
import { Tenant } from "../api/Authentication.ts"
import { StreamedEvent } from "../api/Conversations.ts"
import { TooManyRequests, Unavailable } from "../api/Problems.ts"
import { Settings } from "../config.ts"
import { Conversations, type Page } from "../service/Conversations.ts"
import { Runs } from "../service/Runs.ts"
import { Store } from "../store/Store.ts"
import { withHeaders } from "./authentication.ts"

const encode = Schema.encodeSync(StreamedEvent)

/** A comment: readers pass over it, and whatever stands between knows that the stream lives. */
const comment = ":\n\n"

const render = (page: Page): string =>
  page.length === 0 ? comment : page.map(({ event, number }) =>
    Sse.encoder.write({
      _tag: "Event",
      ...encode({ id: number, event: event._tag, data: event })
    })
  ).join("")

/** Nothing on the way keeps a stream, puts it together, or packs it. */
const streaming = { "cache-control": "no-cache, no-transform", "x-accel-buffering": "no" }

const conversations = HttpApiBuilder.group(
  Api,
  "conversations",
  Effect.fnUntraced(function*(handlers) {
    const conversations = yield* Conversations
    const { limits } = yield* Settings
    const open = new Map<string, number>()

    /** Counts a stream for as long as its request goes on. */
    const countStream = (tenant: string) =>
      Effect.acquireRelease(
        Effect.suspend(() => {
          const streams = open.get(tenant) ?? 0
          if (streams >= limits.streams) {
            return new TooManyRequests({
              detail: `${streams} streams are open, which is the limit`,
              retryAfter: 5,
              limit: "streams"
            })
          }
          open.set(tenant, streams + 1)
          return Effect.void
        }),
        () => Effect.sync(() => open.set(tenant, (open.get(tenant) ?? 1) - 1))
      )

    const inTenant = <A, E, R>(f: (tenant: string) => Effect.Effect<A, E, R>) =>
      withHeaders(Effect.flatMap(Tenant, ({ name }) => f(name)))

    return handlers.handleAll({
      open: () => inTenant((tenant) => conversations.open(tenant)),
      list: () => inTenant((tenant) => conversations.list(tenant)),
      read: ({ params: { id } }) => inTenant((tenant) => conversations.read(tenant, id)),
      trace: ({ params: { id } }) => inTenant((tenant) => conversations.trace(tenant, id)),
      say: ({ params: { id }, payload: { key, text } }) =>
        inTenant((tenant) => Effect.map(conversations.say(tenant, id, text, key), (cursor) => ({ cursor }))),
      events: ({ headers, params: { id }, query }) =>
        inTenant((tenant) =>
          Effect.gen(function*() {
            yield* countStream(tenant)
            const events = yield* conversations.events(tenant, id, headers["last-event-id"] ?? query.after ?? 0)
            // The head of a response is sent with its first bytes.
            const text = Stream.concat(Stream.succeed(comment), Stream.map(events, render))
            return HttpServerResponse.stream(Stream.encodeText(text), {
              contentType: "text/event-stream",
              headers: streaming
            })
          })
        ),
      approvals: ({ params: { id } }) =>
        inTenant((tenant) => Effect.map(conversations.read(tenant, id), ({ approvals }) => approvals)),
      resolve: ({ params: { callId, id }, payload }) =>
        inTenant((tenant) => Effect.map(conversations.resolve(tenant, id, callId, payload), (cursor) => ({ cursor }))),
      resume: ({ params: { id } }) =>
        inTenant((tenant) => Effect.map(conversations.resume(tenant, id), (cursor) => ({ cursor }))),
      cancel: ({ params: { id } }) => inTenant((tenant) => conversations.cancel(tenant, id)),
      remove: ({ params: { id } }) => inTenant((tenant) => conversations.remove(tenant, id))
    })
  })
)

const health = HttpApiBuilder.group(
  Api,
  "health",
  Effect.fnUntraced(function*(handlers) {
    const runs = yield* Runs
    const store = yield* Store
    return handlers.handleAll({
      health: () => Effect.succeed({ status: "ok" as const }),
      ready: () =>
        runs.open.pipe(
          Effect.andThen(Effect.mapError(
            store.check,
            () => new Unavailable({ detail: "The store can't be reached, or can't be written to", retryAfter: 1 })
          )),
          Effect.as({ status: "ready" as const }),
          withHeaders
        )
    })
  })
)

export const layer = Layer.merge(conversations, health)
