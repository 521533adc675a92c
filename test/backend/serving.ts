/**
 * The service on a loopback socket, over a store in a folder of its own, and clients of it.
 */
import { Context, Deferred, Duration, Effect, Exit, Layer, Logger, Option, Redacted, Scope, Stream } from "effect"
import { EntityId, ShardId, Sharding } from "effect/cluster"
import { Sse } from "effect/encoding"
import { FetchHttpClient, HttpClient, HttpClientRequest, HttpServer } from "effect/http"
import { HttpApiClient, HttpApiMiddleware } from "effect/http-api"
import type { SqlClient } from "effect/sql"
import { ConversationStore } from "troupe/cluster"
import { Api } from "../../examples/backend/api/Api.ts"
import type { Waiting } from "../../examples/backend/api/Approvals.ts"
import { Authentication } from "../../examples/backend/api/Authentication.ts"
import * as Cluster from "../../examples/backend/cluster.ts"
import { type Limits, Settings, type Values } from "../../examples/backend/config.ts"
import * as Place from "../../examples/backend/place.ts"
import * as Server from "../../examples/backend/server.ts"
import { type Agents, desk } from "../../examples/backend/service/Agents.ts"
import * as Store from "../../examples/backend/store/Store.ts"
import * as Embedded from "../../examples/desk/model/model.ts"
import * as Backings from "./store/backings.ts"

/** The token of a tenant's customers, or of its colleagues by `colleagueOf`. */
export const tokenOf = (who: string): string => `${who}-has-a-long-token`

/** Who decides in a tenant. */
export const colleagueOf = (tenant: string): string => `${tenant}-colleague`

/** The settings of the service in tests. */
export const settings: Values = {
  host: "127.0.0.1",
  port: 0,
  data: "",
  database: Option.none(),
  tokens: ["ada", "bob"].flatMap((tenant) => [
    { tenant, role: "customer", token: Redacted.make(tokenOf(tenant)) },
    { tenant, role: "colleague", token: Redacted.make(tokenOf(colleagueOf(tenant))) }
  ]),
  limits: { bodySize: 64 * 1024, rate: 100_000, runs: 50, streams: 50, waiting: Duration.seconds(10) },
  grace: Duration.seconds(5),
  arrival: Duration.seconds(30),
  runner: { host: "127.0.0.1", port: undefined },
  patience: Backings.patience,
  keepEvents: 5000,
  heartbeat: Duration.seconds(15)
}

/** A database in a folder that goes with the scope. */
export const folder = () => Effect.flatMap(Backings.folder.make, ({ open }) => open())

/** The typed client of a tenant's customer or colleague. */
const clientOf = (url: string, who: string) =>
  HttpApiClient.make(Api, { transformClient: HttpClient.mapRequest(HttpClientRequest.prependUrl(url)) }).pipe(
    Effect.provide([
      FetchHttpClient.layer,
      HttpApiMiddleware.layerClient(
        Authentication,
        ({ next, request }) => next(HttpClientRequest.bearerToken(request, tokenOf(who)))
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

/** What the service keeps conversations in. */
export interface Kept {
  readonly list: Store.Store["Service"]
  readonly logs: ConversationStore.Service
}

/** What of the service is other than the desk over an empty folder. */
export interface Setup {
  readonly store?: Backings.Opened
  /** Makes other ones of the service's list and of the logs. */
  readonly wrap?: (kept: Kept) => Kept
  readonly agents?: Layer.Layer<Agents>
  readonly cluster?: typeof Cluster.single
  readonly settings?: Partial<Omit<Values, "limits">> & { readonly limits?: Partial<Limits> }
}

const shardIds = Array.from({ length: 300 }, (_, at) => ShardId.make("default", at + 1))

/** Starts the service until the scope closes, or until it is told to stop. */
export const serve = Effect.fnUntraced(function*(options: Setup = {}) {
  const store = options.store ?? (yield* folder())
  const cluster: Layer.Layer<Layer.Success<typeof Cluster.single>, unknown, SqlClient.SqlClient> = store.isShared
    ? Place.member({ host: "127.0.0.1", port: undefined })
    : options.cluster ?? Cluster.single
  const tables = Layer.unwrap(Effect.map(Layer.build(Layer.fresh(Store.layer)), (made) => {
    const kept: Kept = {
      list: Context.get(made, Store.Store),
      logs: Context.get(made, ConversationStore.ConversationStore)
    }
    const { list, logs } = options.wrap?.(kept) ?? kept
    return Layer.merge(
      Layer.succeed(Store.Store, list),
      Layer.succeed(ConversationStore.ConversationStore, logs)
    )
  }))
  // The service stops before its store does.
  const scope = yield* Scope.fork(yield* Effect.scope)
  const context = yield* Layer.buildWithScope(
    Layer.fresh(Server.layer).pipe(
      Layer.provide([
        options.agents ?? desk(Embedded.layer),
        Layer.succeed(Settings, {
          ...settings,
          ...options.settings,
          ...(store.isShared ? { database: Option.some(Redacted.make("")) } : undefined),
          limits: { ...settings.limits, ...options.settings?.limits }
        })
      ]),
      Layer.provideMerge(Layer.fresh(cluster)),
      Layer.provide(tables),
      Layer.provide(Layer.succeedContext(store.context))
    ),
    scope
  )
  const { address } = Context.get(context, HttpServer.HttpServer)
  const sharding = Context.get(context, Sharding.Sharding)
  if (address._tag === "UnixPathAddress") return yield* Effect.die("no port")
  const url = `http://127.0.0.1:${address.port}`
  const bearer = (who: string) => ({ authorization: `Bearer ${tokenOf(who)}` })
  const client = (who = "ada") => clientOf(url, who)
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
    /** How many of a cluster's shards it has. */
    shards: Effect.sync(() => shardIds.filter(sharding.hasShardId).length),
    /** Whether it is the one that runs a conversation. */
    has: (id: string) => sharding.hasShardId(sharding.getShardId(EntityId.make(id), "default")),
    fetch: (path: string, init: RequestInit = {}, who = "ada") =>
      Effect.promise((signal) =>
        fetch(`${url}${path}`, { signal, ...init, headers: { ...bearer(who), ...init.headers } })
      ),
    /** What awaits a decision of a tenant's colleagues, again whenever that changes. */
    waiting: (tenant = "ada") =>
      Stream.map(
        read(`${url}/v1/approvals/events`, bearer(colleagueOf(tenant))),
        ({ data }) => JSON.parse(data) as ReadonlyArray<typeof Waiting.Encoded>
      ),
    events,
    open,
    /** Opens a conversation and says something in it. */
    begin: (text = "Hello") =>
      Effect.tap(open(), ({ conversations, params }) => conversations.say({ params, payload: { text } })),
    /** Reads the kept events of a conversation after a number, up to the last one that is wanted. */
    until: (id: string, isLast: (told: Told) => boolean, after = 0) =>
      events(id, { "last-event-id": String(after) }).pipe(
        Stream.filter((told) => !isPiece(told)),
        Stream.takeUntil(isLast),
        Stream.runCollect
      ),
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

/** What is logged, a line for each entry with its cause. */
export const logging = () => {
  const lines: Array<string> = []
  const logger = Logger.make(({ message }) => void lines.push(String(message)))
  return { lines, logged: Effect.provide(Logger.layer([logger])) }
}

/** Whether an event ends a run, and not that of an agent that was called. */
export const isEnd = ({ data, event }: Told): boolean =>
  /^Run(Completed|Failed|Interrupted)$/.test(event) && JSON.parse(data).calls.length === 0

/** Whether an event is a piece of an answer, which isn't kept and has the number of the event before it. */
const isPiece = ({ event }: Told): boolean => /Delta$|^ToolCallProgressed$/.test(event)
