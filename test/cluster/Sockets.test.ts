import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, Option, Stream } from "effect"
import { MessageStorage, RunnerAddress, RunnerStorage, Sharding, ShardingConfig } from "effect/cluster"
import { subscribe, unsubscribe } from "node:diagnostics_channel"
import { createServer, type Socket } from "node:net"
import { Agent } from "troupe"
import { Conversation, ConversationStore } from "troupe/cluster"
import { MockModel } from "troupe/testing"
import * as Sockets from "../../examples/cluster/sockets.ts"

const Desk = Conversation.make("Desk", Agent.make("clerk"))

const freePort = Effect.callback<number>((resume) => {
  const server = createServer().listen(0, "127.0.0.1", () => {
    const { port } = server.address() as { readonly port: number }
    server.close(() => resume(Effect.succeed(port)))
  })
})

/** Watches the sockets that this process opens and accepts. */
const watching = Effect.acquireRelease(
  Effect.sync(() => {
    const sockets: Array<Socket> = []
    const seen = (message: unknown) => void sockets.push((message as { readonly socket: Socket }).socket)
    for (const name of ["net.client.socket", "net.server.socket"]) subscribe(name, seen)
    return { sockets, seen }
  }),
  ({ seen }) =>
    Effect.sync(() => {
      for (const name of ["net.client.socket", "net.server.socket"]) unsubscribe(name, seen)
    })
)

/** Whether a socket sends at once: Node keeps that in a field of its own. */
const sendsAtOnce = (socket: Socket): boolean => {
  const field = Object.getOwnPropertySymbols(socket).find(({ description }) => description === "kSetNoDelay")
  return field !== undefined && Reflect.get(socket, field) === true
}

describe("Sockets between runners", () => {
  it.live(
    "send at once, and bring messages, answers and events from one runner to the other",
    () =>
      Effect.gen(function*() {
        const { sockets } = yield* watching
        const shared = yield* Layer.build(
          Layer.provide(Layer.merge(MessageStorage.layerMemory, RunnerStorage.layerMemory), ShardingConfig.layer())
        )
        const store = yield* Layer.build(ConversationStore.layerMemory)
        const start = Effect.fnUntraced(function*() {
          const port = yield* freePort
          const runner = Desk.layer.pipe(
            Layer.provide(MockModel.layer(MockModel.make(({ lastUserText }) => `You said ${lastUserText}.`))),
            Layer.provide(Layer.succeedContext(store)),
            Layer.provideMerge(Sockets.layer({
              runnerAddress: Option.some(RunnerAddress.make("127.0.0.1", port)),
              entityTerminationTimeout: 0
            })),
            Layer.provide(Layer.succeedContext(shared))
          )
          return yield* Layer.build(runner)
        })
        const runners = [yield* start(), yield* start()] as const
        const clients = yield* Effect.forEach(runners, (runner) => Effect.provideContext(Desk.client, runner))
        const sharding = runners.map((runner) => Context.get(runner, Sharding.Sharding))
        const ids: Array<string> = []
        // The second runner gets its shards when the first has heard of it.
        const isShared = Effect.gen(function*() {
          const id = `c${ids.length}`
          ids.push(id)
          yield* clients[0]!(id).say("Hello", { key: "m1" })
          const counts = yield* Effect.forEach(sharding, ({ activeEntityCount }) => activeEntityCount)
          return ids.length >= 8 && Math.min(...counts) > 0
        })
        yield* Effect.repeat(isShared, { until: (isShared) => isShared })
        for (const id of ids) {
          const told = yield* clients[1]!(id).events().pipe(
            Stream.takeUntil(({ event }) => event._tag === "RunCompleted"),
            Stream.runCollect
          )
          assert.strictEqual(told.at(-1)?.event._tag, "RunCompleted")
        }
        assert.isNotEmpty(sockets)
        assert.deepStrictEqual(sockets.map(sendsAtOnce), sockets.map(() => true))
      }),
    20_000
  )
})
