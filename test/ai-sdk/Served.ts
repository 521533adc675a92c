/** A provider that is served on this machine, whichever wire format it speaks: where it is, and what it was sent. */
import { NodeHttpServer } from "@effect/platform-node"
import { Context, Effect, Layer } from "effect"
import type { Prompt } from "effect/ai"
import { createServer } from "node:http"
import { type MockModel, MockProvider } from "troupe/testing"
import { bodies, type Body } from "./bodies.ts"
import type { Protocol } from "./providers.ts"

/** A request as it arrived. */
export interface Sent {
  readonly prompt: Prompt.Prompt
  readonly body: Body
  readonly headers: Readonly<Record<string, string>>
}

/** A provider that is served: what it was sent, the same once a number of requests is there, and of each response whether it was sent to its end. */
export class Served extends Context.Service<Served, {
  readonly url: string
  readonly sent: Effect.Effect<ReadonlyArray<Sent>>
  readonly wait: (count: number) => Effect.Effect<unknown>
  readonly ends: ReadonlyArray<Promise<boolean>>
}>()("test/ai-sdk/Served") {}

/** Serves a mock provider, which speaks like OpenAI and Anthropic and refuses what they would. */
export const mock = (protocol: Protocol) => (handler: MockModel.Handler): Layer.Layer<Served> => {
  const ends: Array<Promise<boolean>> = []
  const server = () =>
    createServer().on("request", (_, response) => {
      ends.push(new Promise((resolve) => response.on("close", () => resolve(response.writableFinished))))
    })
  const sentOf = ({ asked, headers, protocol: spoken }: MockProvider.Entry): Sent => {
    if (asked === undefined || spoken !== protocol) throw new Error(`a request of ${spoken} that isn't read`)
    return { prompt: asked.prompt, body: bodies[protocol](asked.body), headers }
  }
  return Layer.effect(
    Served,
    Effect.gen(function*() {
      const { entries, wait } = yield* MockProvider.MockProvider
      return { url: yield* MockProvider.url, sent: Effect.map(entries, (all) => all.map(sentOf)), wait, ends }
    })
  ).pipe(
    Layer.provide(MockProvider.layerServer({ handler, strict: true })),
    Layer.provide(NodeHttpServer.layer(server, { host: "127.0.0.1", port: 0 })),
    Layer.orDie
  )
}
