/**
 * The service: conversations over a store, with the agents that answer in them, on HTTP.
 */
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Duration, Effect, Layer } from "effect"
import { HttpRouter } from "effect/http"
import { createServer, type Server } from "node:http"
import { Settings } from "./config.ts"
import * as Routes from "./http/routes.ts"
import * as Unheard from "./http/unheard.ts"
import * as Scheduler from "./scheduler.ts"
import * as Approvals from "./service/Approvals.ts"
import * as Conversations from "./service/Conversations.ts"
import * as Desk from "./service/Desk.ts"
import * as Runs from "./service/Runs.ts"

/** Conversations and their runs, for whoever serves them: this service, or one that they are embedded in. */
export const conversations = Layer.merge(Conversations.layer, Approvals.layer).pipe(
  Layer.provide(Desk.layer),
  Layer.provideMerge(Runs.layer)
)

/** How long connections may stay open, once all that was to be said on them is said. */
const linger = "1 second"

/**
 * How long a connection may wait for its next request, in milliseconds: longer than proxies and clients keep theirs, so that
 * none is closed while a request is on its way.
 */
const keepAliveTimeout = 75_000

/** Ends the service in order, as the first thing when its scope closes: runs, then streams, then connections. */
const shutdown = (server: Server) =>
  Layer.effectDiscard(Effect.gen(function*() {
    const runs = yield* Runs.Runs
    yield* Effect.addFinalizer(() =>
      Effect.andThen(
        runs.drain,
        Effect.forkDetach(Effect.delay(Effect.sync(() => server.closeAllConnections()), linger))
      )
    )
  }))

/** Serves it all at the address of the settings. */
export const layer = Layer.unwrap(Effect.gen(function*() {
  const { arrival, host, port } = yield* Settings
  const requestTimeout = Duration.toMillis(arrival)
  // Node looks now and then for requests that take longer.
  const server = Unheard.answer(createServer({
    keepAliveTimeout,
    requestTimeout,
    headersTimeout: requestTimeout,
    connectionsCheckingInterval: requestTimeout / 10
  }))
  const turns = Scheduler.make()
  server.on("connection", turns.connected)
  return shutdown(server).pipe(
    Layer.provideMerge(
      HttpRouter.serve(Routes.layer, {
        disableLogger: true,
        disableListenLog: true,
        routerConfig: { caseSensitive: true }
      })
    ),
    Layer.provideMerge(NodeHttpServer.layer(() => server, { host, port })),
    Layer.provide(conversations),
    Layer.provide(turns.layer)
  )
}))
