/**
 * The service on a loopback socket, over a store in a folder of its own, and clients of it.
 */
import { Context, Duration, Effect, Exit, Layer, Option, Redacted, Scope, Stream } from "effect"
import { Sse } from "effect/encoding"
import { FetchHttpClient, HttpClient, HttpClientRequest, HttpServer } from "effect/http"
import { HttpApiClient, HttpApiMiddleware } from "effect/http-api"
import { KeyValueStore } from "effect/persistence"
import { Api } from "../../examples/backend/api/Api.ts"
import { Authentication } from "../../examples/backend/api/Authentication.ts"
import { Settings, type Values } from "../../examples/backend/config.ts"
import * as Server from "../../examples/backend/server.ts"
import { type Agents, desk } from "../../examples/backend/service/Agents.ts"
import type * as SqlStore from "../../examples/backend/store/SqlStore.ts"
import { type Lease, Store, StoreFailed } from "../../examples/backend/store/Store.ts"
import * as Embedded from "../../examples/desk/model/model.ts"
import * as Backings from "./store/backings.ts"

export const tokenOf = (tenant: string): string => `${tenant}-has-a-long-token`

const settings: Values = {
  host: "127.0.0.1",
  port: 0,
  data: "",
  database: Option.none(),
  tokens: ["ada", "bob"].map((tenant) => ({ tenant, token: Redacted.make(tokenOf(tenant)) })),
  limits: { bodySize: 64 * 1024, rate: 100_000, runs: 50, streams: 50 },
  grace: Duration.seconds(5),
  recovery: Duration.millis(20),
  heartbeat: Duration.seconds(15)
}

/** A store in a folder that goes with the scope. */
export const folder = (options?: SqlStore.Options) => Effect.flatMap(Backings.folder.make, ({ open }) => open(options))

/** A store whose leases are made other ones of. */
export const wrapLease = (
  store: Store["Service"],
  wrap: (lease: Lease) => Lease | Effect.Effect<Lease, never, Scope.Scope>
): Store["Service"] => ({
  ...store,
  lease: (id) =>
    Effect.flatMap(store.lease(id), (lease): Effect.Effect<Lease | undefined, never, Scope.Scope> => {
      if (lease === undefined) return Effect.undefined
      const wrapped = wrap(lease)
      return Effect.isEffect(wrapped) ? wrapped : Effect.succeed(wrapped)
    })
})

/** What of a store fails for now. */
export type Failing = Set<"create" | "events" | "read" | "save" | "check" | "lease">

/** A store that fails when it is told to. */
export const failingStore = (store: Store["Service"], failing: Failing): Store["Service"] => {
  const failed = (operation: string) => new StoreFailed({ operation, cause: new Error("it was told to") })
  const guard = <A extends ReadonlyArray<unknown>, B, E, R>(
    operation: string,
    f: (...args: A) => Effect.Effect<B, E | StoreFailed, R>
  ) =>
  (...args: A): Effect.Effect<B, E | StoreFailed, R> =>
    Effect.suspend(() => (failing as Set<string>).has(operation) ? Effect.fail(failed(operation)) : f(...args))
  return {
    ...store,
    create: guard("create", store.create),
    read: guard("read", store.read),
    events: guard("events", store.events),
    check: guard("check", () => store.check)(),
    lease: guard("lease", (id) =>
      Effect.map(store.lease(id), (lease) =>
        lease === undefined ? undefined : {
          ...lease,
          flush: guard("save", () => lease.flush)(),
          states: {
            ...lease.states,
            set: (key, value) =>
              Effect.mapError(
                guard("save", () => lease.states.set(key, value))(),
                (cause) => new KeyValueStore.KeyValueStoreError({ method: "set", message: cause.message, cause })
              )
          }
        }))
  }
}

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

/** Starts the service until the scope closes, or until it is told to stop. */
export const serve = Effect.fnUntraced(function*(options: {
  readonly store?: Store["Service"]
  readonly agents?: Layer.Layer<Agents>
  readonly settings?: Partial<Values>
} = {}) {
  const store = options.store ?? (yield* folder())
  // The service stops before its store does.
  const scope = yield* Scope.fork(yield* Effect.scope)
  const context = yield* Layer.buildWithScope(
    Layer.fresh(Server.layer).pipe(Layer.provide([
      Layer.succeed(Store, store),
      options.agents ?? desk(Embedded.layer),
      Layer.succeed(Settings, { ...settings, ...options.settings })
    ])),
    scope
  )
  const { address } = Context.get(context, HttpServer.HttpServer)
  if (address._tag === "UnixPathAddress") return yield* Effect.die("no port")
  const url = `http://127.0.0.1:${address.port}`
  const bearer = (tenant: string) => ({ authorization: `Bearer ${tokenOf(tenant)}` })
  return {
    url,
    client: (tenant = "ada") => clientOf(url, tenant),
    fetch: (path: string, init: RequestInit = {}, tenant = "ada") =>
      Effect.promise((signal) =>
        fetch(`${url}${path}`, { signal, ...init, headers: { ...bearer(tenant), ...init.headers } })
      ),
    events: (id: string, headers: Record<string, string> = {}) =>
      read(`${url}/v1/conversations/${id}/events`, { ...bearer("ada"), ...headers }),
    stop: Scope.close(scope, Exit.void)
  }
})

export type Serving = Effect.Success<ReturnType<typeof serve>>

/** Whether an event ends a run, and not that of an agent that was called. */
export const isEnd = ({ data, event }: Told): boolean =>
  /^Run(Completed|Failed|Interrupted)$/.test(event) && JSON.parse(data).calls.length === 0
