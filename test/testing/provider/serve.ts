import Anthropic from "@anthropic-ai/sdk"
import { NodeHttpServer } from "@effect/platform-node"
import { Effect, Layer } from "effect"
import { createServer } from "node:http"
import OpenAI from "openai"
import { MockProvider } from "../../../src/testing/index.ts"

/** A mock provider that is served on a port of this machine. */
export const served = <R = never>(options: MockProvider.Options<R>) =>
  MockProvider.layerServer(options).pipe(
    Layer.provideMerge(NodeHttpServer.layer(createServer, { host: "127.0.0.1", port: 0 }))
  )

/** The official client of OpenAI, over a socket. */
export const openai = (options: { readonly maxRetries?: number; readonly timeout?: number } = {}) =>
  Effect.map(MockProvider.url, (url) => new OpenAI({ apiKey: "none", baseURL: `${url}/v1`, maxRetries: 0, ...options }))

/** The official client of Anthropic, over a socket. */
export const anthropic = (options: { readonly maxRetries?: number } = {}) =>
  Effect.map(MockProvider.url, (url) => new Anthropic({ apiKey: "none", baseURL: url, maxRetries: 0, ...options }))

/** What a promise rejects with. */
export const rejection = (promise: () => PromiseLike<unknown>) =>
  Effect.promise(async () => {
    try {
      await promise()
    } catch (error) {
      return error
    }
    throw new Error("it was to be rejected")
  })
