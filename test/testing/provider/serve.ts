/** Clients of a mock provider, over a socket and without one. */
import Anthropic from "@anthropic-ai/sdk"
import { NodeHttpServer } from "@effect/platform-node"
import { assert } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { createServer } from "node:http"
import OpenAI from "openai"
import { MockModel, MockProvider, type MockResponse } from "../../../src/testing/index.ts"

/** A mock provider that is served on a port of this machine. */
export const served = <R = never>(options: MockProvider.Options<R>) =>
  MockProvider.layerServer(options).pipe(
    Layer.provideMerge(NodeHttpServer.layer(createServer, { host: "127.0.0.1", port: 0 }))
  )

/** The official client of OpenAI, over a socket. */
export const openai = (options: { readonly maxRetries?: number } = {}) =>
  Effect.map(MockProvider.url, (url) => new OpenAI({ apiKey: "none", baseURL: `${url}/v1`, maxRetries: 0, ...options }))

/** The official client of Anthropic, over a socket. */
export const anthropic = (options: { readonly maxRetries?: number } = {}) =>
  Effect.map(MockProvider.url, (url) => new Anthropic({ apiKey: "none", baseURL: url, maxRetries: 0, ...options }))

type Fetch = MockProvider.Provider["fetch"]

/** The official client of OpenAI, whose `fetch` is a provider's. */
export const openaiOf = (fetch: Fetch, apiKey = "none") =>
  new OpenAI({ apiKey, baseURL: "http://mock/v1", fetch, maxRetries: 0 })

/** The official client of Anthropic, whose `fetch` is a provider's. */
export const anthropicOf = (fetch: Fetch, apiKey = "none") =>
  new Anthropic({ apiKey, baseURL: "http://mock", fetch, maxRetries: 0 })

/** The `fetch` of a provider that always says the same. */
export const saying = (reply: MockResponse.Input | MockModel.ReplyFunction): Fetch =>
  MockProvider.make({ handler: MockModel.make(typeof reply === "function" ? reply : () => reply) }).fetch

/** Sends JSON to a path below `/v1`, as curl does that knows of versions. */
export const post = (fetch: Fetch, path: string, body: unknown, headers: Readonly<Record<string, string>> = {}) =>
  fetch(`http://mock/v1/${path}`, {
    method: "POST",
    headers: { "anthropic-version": "2023-06-01", ...headers },
    body: JSON.stringify(body)
  })

/** The events of a stream, each of which is named by its type. */
export const eventsOf = async (response: Response) =>
  (await response.text()).trimEnd().split("\n\n").map((frame) => {
    const [event, data] = frame.split("\ndata: ")
    const parsed = JSON.parse(data!)
    assert.strictEqual(event, `event: ${parsed.type}`)
    return parsed
  })

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
