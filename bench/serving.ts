/**
 * A server on loopback, in a process of its own: a mock provider, or one of Node that sends what it is told to.
 *
 *     node --expose-gc bench/serving.ts mock|bare
 *
 * It tells its parent its port. Told what to send, it sends that to each request, and asked for its memory it tells that.
 */
import { NodeHttpServer, NodeRuntime } from "@effect/platform-node"
import { Effect, Layer } from "effect"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { MockModel, MockProvider } from "../src/testing/index.ts"
import { delta } from "./script.ts"

/** What a server is told: what it is to send from then on, whole and streamed, or to measure itself. */
export type Told = { readonly whole: string; readonly streamed: string } | "memory"

const said = delta.repeat(10)

const heapUsed = async (): Promise<number> => {
  for (let i = 0; i < 3; i++) {
    await new Promise((resolve) => setTimeout(resolve, 20))
    globalThis.gc!()
  }
  return process.memoryUsage().heapUsed
}

let sent = { whole: "", frames: [] as ReadonlyArray<string> }
process.on("message", (told: Told) => {
  if (told === "memory") return void heapUsed().then((bytes) => process.send!(bytes))
  sent = { whole: told.whole, frames: told.streamed.split(/(?<=\n\n)/) }
  process.send!(0)
})

process.on("disconnect", () => process.exit())

const bare = createServer((request, response) => {
  let body = ""
  request.setEncoding("utf8").on("data", (text: string) => body += text).on("end", () => {
    if (JSON.parse(body).stream !== true) {
      response.setHeader("content-type", "application/json")
      return void response.end(sent.whole)
    }
    response.setHeader("content-type", "text/event-stream; charset=utf-8")
    for (const frame of sent.frames) response.write(frame)
    response.end()
  })
})

const mock = createServer()

if (process.argv[2] === "bare") bare.listen(0, "127.0.0.1", () => process.send!((bare.address() as AddressInfo).port))
else {
  mock.on("listening", () => process.send!((mock.address() as AddressInfo).port))
  NodeRuntime.runMain(
    Layer.launch(
      MockProvider.layerServer({ handler: MockModel.make(said) }).pipe(
        Layer.provide(NodeHttpServer.layer(() => mock, { host: "127.0.0.1", port: 0 }))
      )
    ).pipe(Effect.scoped)
  )
}
