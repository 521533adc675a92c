/**
 * The service on a loopback socket, over a store in a folder of its own, and clients of it.
 */
import { Context, Deferred, Duration, Effect, Exit, Layer, Option, Redacted, Scope, Stream } from "effect"
import { Sse } from "effect/encoding"
import { FetchHttpClient, HttpClient, HttpClientRequest, HttpServer } from "effect/http"
import { HttpApiClient, HttpApiMiddleware } from "effect/http-api"
import { Api } from "../../examples/backend/api/Api.ts"
import { Authentication } from "../../examples/backend/api/Authentication.ts"
import { type Limits, Settings, type Values } from "../../examples/backend/config.ts"
import * as Server from "../../examples/backend/server.ts"
import { type Agents, desk } from "../../examples/backend/service/Agents.ts"
import type * as SqlStore from "../../examples/backend/store/SqlStore.ts"
import { Store } from "../../examples/backend/store/Store.ts"
import * as Embedded from "../../examples/desk/model/model.ts"
import * as Backings from "./store/backings.ts"

export const tokenOf = (tenant: string): string => `${tenant}-has-a-long-token`

const settings: Values = {
  host: "127.0.0.1",
  port: 0,
  data: "",
  database: Option.none(),
  tokens: ["ada", "bob"].map((tenant) => ({ tenant, token: Redacted.make(tokenOf(tenant)) })),
  limits: { bodySize: 64 * 1024, rate: 100_000, runs: 50, streams: 50, waiting: 50 },
  grace: Duration.seconds(5),
  arrival: Duration.seconds(30),
  recovery: Duration.millis(20),
  heartbeat: Duration.seconds(15)
}

/** A store in a folder that goes with the scope. */
export const folder = (options?: SqlStore.Options) => Effect.flatMap(Backings.folder.make, ({ open }) => open(options))

/** The typed client of a tenant. */
const clientOf = (url: string, tenant: string) =>
  HttpApiClient.make(Api, { transformClient: HttpClient.mapRequest(HttpClientRequest.prependUrl(url)) }).pipe(
    Effect.provide([
      FetchHttpClient.layer,
      HttpApiMiddleware.layerClient(
        Authentication,
        ({ next, request }) => next(HttpClientRequest.bearerToken(request, tokenOf(tenant)))
      )
    ])
  )

/** An event as it was read from a stream. */
export interface Told {
  readonly id: number
  readonly event: string
  readonly data: string
}

/** Reads events on a connection of its own, which ends with the stream. */
const read = (url: string, headers: Record<string, string>): Stream.Stream<Told> =>
  Stream.unwrap(Effect.gen(function*() {
    const controller = new AbortController()
    yield* Effect.addFinalizer(() => Effect.sync(() => controller.abort()))
    const response = yield* Effect.promise(() => fetch(url, { headers, signal: controller.signal }))
    if (response.status !== 200) return yield* Effect.die(yield* Effect.promise(() => response.text()))
    return Stream.fromReadableStream({ evaluate: () => response.body!, onError: (cause) => cause }).pipe(
      Stream.decodeText,
      Stream.pipeThroughChannel(Sse.decode()),
      Stream.map(({ data, event, id }) => ({ id: Number(id), event, data })),
      Stream.orDie
    )
  }))

/** What of the service is other than the desk over an empty folder. */
export interface Setup {
  readonly store?: Store["Service"]
  readonly agents?: Layer.Layer<Agents>
  readonly settings?: Partial<Omit<Values, "limits">> & { readonly limits?: Partial<Limits> }
}

/** Starts the service until the scope closes, or until it is told to stop. */
export const serve = Effect.fnUntraced(function*(options: Setup = {}) {
  const store = options.store ?? (yield* folder())
  // The service stops before its store does.
  const scope = yield* Scope.fork(yield* Effect.scope)
  const context = yield* Layer.buildWithScope(
    Layer.fresh(Server.layer).pipe(Layer.provide([
      Layer.succeed(Store, store),
      options.agents ?? desk(Embedded.layer),
      Layer.succeed(Settings, {
        ...settings,
        ...options.settings,
        limits: { ...settings.limits, ...options.settings?.limits }
      })
    ])),
    scope
  )
  const { address } = Context.get(context, HttpServer.HttpServer)
  if (address._tag === "UnixPathAddress") return yield* Effect.die("no port")
  const url = `http://127.0.0.1:${address.port}`
  const bearer = (tenant: string) => ({ authorization: `Bearer ${tokenOf(tenant)}` })
  const client = (tenant = "ada") => clientOf(url, tenant)
  const events = (id: string, headers: Record<string, string> = {}) =>
    read(`${url}/v1/conversations/${id}/events`, { ...bearer("ada"), ...headers })
  /** Opens a conversation. */
  const open = (tenant?: string) =>
    Effect.gen(function*() {
      const { conversations } = yield* client(tenant)
      const { id } = yield* conversations.open()
      return { conversations, id, params: { id } }
    })
  return {
    url,
    client,
    fetch: (path: string, init: RequestInit = {}, tenant = "ada") =>
      Effect.promise((signal) =>
        fetch(`${url}${path}`, { signal, ...init, headers: { ...bearer(tenant), ...init.headers } })
      ),
    events,
    open,
    /** Opens a conversation and says something in it. */
    begin: (text = "Hello") =>
      Effect.tap(open(), ({ conversations, params }) => conversations.say({ params, payload: { text } })),
    /** Reads the events of a conversation after a number, up to the last one that is wanted. */
    until: (id: string, isLast: (told: Told) => boolean, after = 0) =>
      Stream.runCollect(Stream.takeUntil(events(id, { "last-event-id": String(after) }), isLast)),
    /** Reads a conversation's events to the end of the stream in the background, once the first has come. */
    watch: Effect.fnUntraced(function*(id: string) {
      const begun = yield* Deferred.make<void>()
      const reading = yield* events(id).pipe(
        Stream.tap(() => Deferred.succeed(begun, undefined)),
        Stream.runCollect,
        Effect.forkChild
      )
      yield* Deferred.await(begun)
      return reading
    }),
    stop: Scope.close(scope, Exit.void)
  }
})

/** Whether an event ends a run, and not that of an agent that was called. */
export const isEnd = ({ data, event }: Told): boolean =>
  /^Run(Completed|Failed|Interrupted)$/.test(event) && JSON.parse(data).calls.length === 0
