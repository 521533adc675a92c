/**
 * The sockets between runners, as `NodeClusterSocket.layer` has them, but with `noDelay`: without it the system waits up to 40 ms for more
 * to send, and so does each piece of an answer that a reader on another runner sees.
 */
import { NodeSocket, NodeSocketServer } from "@effect/platform-node"
import { Effect, Layer, Option } from "effect"
import { RunnerHealth, Runners, ShardingConfig, SocketRunner } from "effect/cluster"
import { RpcClient, RpcSerialization } from "effect/rpc"
import { Socket } from "effect/socket"
import { Conversation } from "troupe/cluster"

/** How a runner reaches the others. */
export const Protocol = Layer.effect(
  Runners.RpcClientProtocol,
  Effect.map(RpcSerialization.RpcSerialization, (serialization) => ({
    codecFor: serialization.codecFor,
    make: ({ host, port }) =>
      NodeSocket.makeNet({ host, port, noDelay: true, openTimeout: 1000, timeout: 5500 }).pipe(
        Effect.flatMap((socket) => Effect.provideService(RpcClient.makeProtocolSocket(), Socket.Socket, socket)),
        Effect.provideService(RpcSerialization.RpcSerialization, serialization)
      )
  }))
)

/** How the others reach it. */
export const Server = Layer.unwrap(Effect.gen(function*() {
  const { runnerAddress, runnerListenAddress } = yield* ShardingConfig.ShardingConfig
  const { host, port } = Option.getOrThrow(Option.orElse(runnerListenAddress, () => runnerAddress))
  return NodeSocketServer.layer({ host, port, noDelay: true })
}))

const Health = RunnerHealth.layerPing.pipe(Layer.provide(Runners.layerRpc), Layer.provide(Protocol))

/** A runner at an address. It needs a storage of messages and one of runners: `SqlMessageStorage.layer` and `SqlRunnerStorage.layer`. */
export const layer = (shardingConfig: Partial<ShardingConfig.ShardingConfig["Service"]>) =>
  SocketRunner.layer.pipe(
    Layer.provide([Server, Protocol]),
    Layer.provide(Health),
    Layer.provide(ShardingConfig.layer(Conversation.sharding(shardingConfig))),
    Layer.provide(RpcSerialization.layerSchemaBinary())
  )
