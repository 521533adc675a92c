import { NodeHttpServer, NodeSocket, NodeSocketServer } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Schema, Stream } from "effect"
import { Tool, Toolkit } from "effect/ai"
import { EntityProxy, EntityProxyServer, TestRunner } from "effect/cluster"
import { FetchHttpClient, HttpRouter, HttpServer } from "effect/http"
import { RpcClient, RpcSerialization, RpcServer } from "effect/rpc"
import { SocketServer } from "effect/socket"
import { createServer } from "node:http"
import { Agent, ToolPolicy } from "troupe"
import { Conversation, ConversationStore } from "troupe/cluster"
import { MockModel, MockResponse } from "troupe/testing"

const Pay = Tool.make("pay", {
  parameters: Schema.Struct({ n: Schema.Int }),
  success: Schema.String,
  needsApproval: true
})
const Send = Tool.make("send", { success: Schema.String })
const Kit = Toolkit.make(Pay, Send)
const Desk = Conversation.make("Desk", Agent.make("clerk", { toolkit: Kit }))
const Rpcs = EntityProxy.toRpcGroup(Desk.entity)

const script = MockModel.make(({ lastToolResults: [result], lastUserText }) =>
  result !== undefined
    ? String(result.result)
    : lastUserText === "pay"
    ? MockResponse.toolCall("pay", { n: 1 }, { id: "p1" })
    : lastUserText === "send"
    ? MockResponse.toolCall("send", {}, { id: "s1" })
    : `You said ${lastUserText}.`
)

const Cluster = Desk.layer.pipe(
  Layer.provide(Kit.toLayer({ pay: ({ n }) => Effect.succeed(`paid ${n}`), send: () => ToolPolicy.deferResult })),
  Layer.provide(MockModel.layer(script)),
  Layer.provide(ConversationStore.layerMemory),
  Layer.provideMerge(TestRunner.layer)
)

const handlers = Layer.provide(EntityProxyServer.layerRpcHandlers(Desk.entity), Cluster)

/** A client that knows a port and nothing of the cluster. */
type Outside = Layer.Layer<RpcClient.Protocol, unknown>

const overSocket: Outside = Layer.unwrap(Effect.gen(function*() {
  const server = yield* Layer.build(
    RpcServer.layer(Rpcs).pipe(
      Layer.provide(handlers),
      Layer.provide(RpcServer.layerProtocolSocketServer),
      Layer.provideMerge(NodeSocketServer.layer({ port: 0, host: "127.0.0.1", noDelay: true })),
      Layer.provide(RpcSerialization.layerNdjson)
    )
  )
  const { address } = yield* Effect.provideContext(SocketServer.SocketServer, server)
  const { port } = address as { readonly port: number }
  return RpcClient.layerProtocolSocket().pipe(
    Layer.provide(NodeSocket.layerNet({ port, host: "127.0.0.1", noDelay: true })),
    Layer.provide(RpcSerialization.layerNdjson)
  )
}))

const overHttp: Outside = Layer.unwrap(Effect.gen(function*() {
  const server = yield* Layer.build(
    HttpRouter.serve(
      RpcServer.layerHttp({ group: Rpcs, path: "/desk", protocol: "http" }).pipe(
        Layer.provide(handlers),
        Layer.provide(RpcSerialization.layerNdjson)
      ),
      { disableListenLog: true, disableLogger: true }
    ).pipe(Layer.provideMerge(NodeHttpServer.layer(createServer, { port: 0, host: "127.0.0.1" })))
  )
  const { address } = yield* Effect.provideContext(HttpServer.HttpServer, server)
  const { port } = address as { readonly port: number }
  return RpcClient.layerProtocolHttp({ url: `http://127.0.0.1:${port}/desk` }).pipe(
    Layer.provide(FetchHttpClient.layer),
    Layer.provide(RpcSerialization.layerNdjson)
  )
}))

describe("A client from outside of the cluster", () => {
  for (const [way, layer] of [["a socket", overSocket], ["HTTP", overHttp]] as const) {
    it.live(`talks to conversations over ${way} as one inside does`, () =>
      Effect.gen(function*() {
        const client = Desk.clientOver(yield* RpcClient.make(Rpcs))
        const chat = client("1")
        const answer = yield* chat.say("Hello", { key: "m1" })
        assert.deepStrictEqual([answer.status, answer.text], ["Complete", "You said Hello."])
        assert.deepStrictEqual(yield* chat.say("Hello", { key: "m1" }), answer)
        yield* chat.post("pay", { key: "m2" })
        const told = yield* chat.events({ after: answer.cursor }).pipe(
          Stream.filter(({ piece }) => piece === undefined),
          Stream.takeUntil(({ event }) => event._tag === "ApprovalRequested"),
          Stream.runCollect
        )
        assert.strictEqual(told[0]?.cursor, answer.cursor + 1)
        const rejected = yield* Effect.flip(chat.approve("p2"))
        assert.strictEqual(rejected._tag === "ConversationError" && rejected.reason._tag, "NotAwaitingApproval")
        const done = yield* chat.approve("p1", { params: { n: 5 } })
        assert.strictEqual(done.text, "paid 5")
        const awaiting = yield* client("3").say("send", { key: "m1" })
        assert.deepStrictEqual(awaiting.awaited?.map(({ callId }) => callId), ["s1"])
        const misfit = yield* Effect.flip(client("3").giveResult("s1", 7))
        assert.strictEqual(misfit._tag === "ConversationError" && misfit.reason._tag, "ResultRejected")
        assert.strictEqual((yield* client("3").giveResult("s1", "sent")).text, "sent")
        yield* chat.fork("2")
        assert.strictEqual((yield* client("2").state).conversation.turns.length, 5)
        assert.isFalse(yield* chat.cancel("m2"))
        yield* chat.remove
        assert.strictEqual((yield* chat.state).conversation.turns.length, 0)
      }).pipe(Effect.provide(layer), Effect.scoped))
  }
})
