/**
 * Where conversations are kept and run, as the settings say it: in a folder and this process, or in a Postgres and all that share it.
 */
import { Effect, Layer, Option } from "effect"
import { createServer } from "node:net"
import * as Cluster from "./cluster.ts"
import { Settings } from "./config.ts"
import * as Databases from "./store/Databases.ts"
import * as Store from "./store/Store.ts"

/** A port of an address that nobody uses now. */
const freePort = (host: string): Effect.Effect<number> =>
  Effect.callback((resume) => {
    const server = createServer()
    server.listen(0, host, () => {
      const address = server.address()
      server.close(() => resume(Effect.succeed(typeof address === "object" && address !== null ? address.port : 0)))
    })
  })

/** An instance among those that share a database. */
export const member = (runner: { readonly host: string; readonly port: number | undefined }) =>
  Layer.unwrap(
    Effect.map(
      runner.port === undefined ? freePort(runner.host) : Effect.succeed(runner.port),
      (port) => Cluster.member({ host: runner.host, port })
    )
  )

/** The database of the settings, what is kept in it, and the cluster on it. */
export const layer = Layer.unwrap(Effect.gen(function*() {
  const { data, database, patience, runner } = yield* Settings
  const alone = Cluster.single.pipe(Layer.provideMerge(Databases.folder(data)))
  type Both = Layer.Layer<Layer.Success<typeof alone>, unknown>
  return Option.match(database, {
    onNone: (): Both => alone,
    onSome: (url): Both => member(runner).pipe(Layer.provideMerge(Databases.postgres(url, patience)))
  })
})).pipe((place) => Layer.provideMerge(Store.layer, place))
