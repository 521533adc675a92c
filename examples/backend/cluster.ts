/**
 * The cluster that conversations live in: one runner without sockets over a folder, or any number of them over one Postgres.
 */
import { NodeCrypto } from "@effect/platform-node"
import { Duration, Layer, Option, References } from "effect"
import { RunnerAddress, ShardingConfig, SingleRunner, SqlMessageStorage, SqlRunnerStorage } from "effect/cluster"
import { Conversation } from "troupe/cluster"
import * as Sockets from "../cluster/sockets.ts"

/** The runs have had the service's grace period by then, so the cluster waits for none. */
const leaving = { entityTerminationTimeout: Duration.millis(1) } as const

/**
 * A cluster logs each look at a database that is away; the store says so once, when it goes and when it is back. What entities log is logged.
 */
const quiet = Layer.provide(Layer.succeed(References.MinimumLogLevel, "None"))

/** All conversations are in this process: nobody else may use the database. */
export const single = SingleRunner.layer({
  runnerStorage: "memory",
  shardingConfig: Conversation.sharding({ ...leaving, simulateRemoteSerialization: false })
}).pipe(Layer.provide(NodeCrypto.layerDigest), quiet)

const storage = Layer.provideMerge(
  SqlMessageStorage.layer.pipe(Layer.provide(NodeCrypto.layerDigest)),
  SqlRunnerStorage.layer
)

/** Conversations are in the processes that share the database. The others reach this one at an address. */
export const member = ({ host, port }: { readonly host: string; readonly port: number }) => {
  const settings = { ...leaving, runnerAddress: Option.some(RunnerAddress.make(host, port)) }
  return Sockets.layer(settings).pipe(
    Layer.provideMerge(storage),
    Layer.provide(ShardingConfig.layer(Conversation.sharding(settings))),
    quiet
  )
}
