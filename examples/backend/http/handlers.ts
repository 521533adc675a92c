/**
 * What answers the requests of the API.
 */
import { Effect, Layer, Schema, Stream } from "effect"
import { Sse } from "effect/encoding"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../api/Api.ts"
import { StreamedWaiting } from "../api/Approvals.ts"
import { Caller } from "../api/Authentication.ts"
import { StreamedEvent } from "../api/Conversations.ts"
import { Unavailable } from "../api/Problems.ts"
import { Settings } from "../config.ts"
import { Approvals } from "../service/Approvals.ts"
import { Conversations } from "../service/Conversations.ts"
import type { Numbered } from "../service/follow.ts"
import { Runs } from "../service/Runs.ts"
import { Store } from "../store/Store.ts"
import { withHeaders } from "./authentication.ts"
import { comment, stream, Streams } from "./streams.ts"

const encode = Schema.encodeSync(StreamedEvent)
const encodeWaiting = Schema.encodeSync(StreamedWaiting)

const message = (encoded: { readonly id: string; readonly event: string; readonly data: string }): string =>
  Sse.encoder.write({ _tag: "Event", ...encoded })

const render = ({ event, number }: Numbered): string => message(encode({ id: number, event: event._tag, data: event }))

/** Does something for whoever asks. */
const forCaller = <A, E, R>(f: (caller: Caller["Service"]) => Effect.Effect<A, E, R>) =>
  withHeaders(Effect.flatMap(Caller, f))

const inTenant = <A, E, R>(f: (tenant: string) => Effect.Effect<A, E, R>) => forCaller(({ tenant }) => f(tenant))

const conversations = HttpApiBuilder.group(
  Api,
  "conversations",
  Effect.fnUntraced(function*(handlers) {
    const conversations = yield* Conversations
    const { heartbeat } = yield* Settings
    const streams = yield* Streams
    return handlers.handleAll({
      open: () => inTenant((tenant) => conversations.open(tenant)),
      list: () => inTenant((tenant) => conversations.list(tenant)),
      read: ({ params: { id } }) => inTenant((tenant) => conversations.read(tenant, id)),
      trace: ({ params: { id } }) => inTenant((tenant) => conversations.trace(tenant, id)),
      say: ({ params: { id }, payload: { key, text } }) =>
        inTenant((tenant) => Effect.map(conversations.say(tenant, id, text, key), (cursor) => ({ cursor }))),
      events: ({ headers, params: { id }, query }) =>
        forCaller((caller) =>
          Effect.gen(function*() {
            yield* streams.count(caller)
            const after = headers["last-event-id"] ?? query.after ?? 0
            const told = Stream.map(yield* conversations.events(caller.tenant, id, after), render)
            const beats = Stream.drop(Stream.as(Stream.tick(heartbeat), comment), 1)
            return stream(Stream.merge(told, beats, { haltStrategy: "left" }))
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

const approvals = HttpApiBuilder.group(
  Api,
  "approvals",
  Effect.fnUntraced(function*(handlers) {
    const approvals = yield* Approvals
    const streams = yield* Streams
    return handlers.handleAll({
      me: () => forCaller(Effect.succeed),
      waiting: () => inTenant(approvals.waiting),
      follow: () =>
        inTenant((tenant) =>
          Effect.gen(function*() {
            yield* streams.count({ tenant, role: "colleague" })
            const lists = Stream.zipWithIndex(yield* approvals.changes(tenant))
            return stream(
              Stream.map(
                lists,
                ([data, index]) =>
                  data === undefined ? comment : message(encodeWaiting({ id: index + 1, event: "approvals", data }))
              )
            )
          })
        )
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

export const layer = Layer.mergeAll(conversations, approvals, health).pipe(Layer.provide(Streams.layer))
