/** Failures of providers in their own wire formats: at once, in mid-stream, in the middle of a call. */
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, Stream } from "effect"
import { AiError, LanguageModel } from "effect/ai"
import { createServer, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { AiSdkModel } from "troupe/ai-sdk"
import { MockModel, MockResponse } from "troupe/testing"
import { Served } from "./Served.ts"
import { type WireProvider, wireProviders } from "./wire/providers.ts"
import { serve, sse } from "./wire/Wire.ts"

const { breakAfter, fail, toolCall } = MockResponse

const ask = { prompt: "Hi", disableToolCallResolution: true, toolCallValidation: "deferred" } as const

const ways = {
  "at once": LanguageModel.generateText(ask),
  "streamed": Stream.runDrain(LanguageModel.streamText(ask))
}

/** What a request to a provider that answers so fails with, and what it would answer if it didn't. */
const failing = ({ modelOf, wire }: WireProvider, response: MockResponse.MockResponse, way: keyof typeof ways) =>
  Effect.flip(ways[way]).pipe(
    Effect.provide(Layer.unwrap(Effect.map(Served, ({ url }) => AiSdkModel.layer(modelOf({ baseURL: `${url}/v1` }))))),
    Effect.provide(serve(wire, MockModel.make(() => response)))
  )

const limit = new AiError.RateLimitError({})
const overload = new AiError.InternalProviderError({ description: "It is overloaded" })
const wrongKey = new AiError.AuthenticationError({ kind: "InvalidKey" })
/** The connection breaks. */
const broken = new AiError.NetworkError({ reason: "TransportError", method: "POST", url: "", description: "" })
/** The stream ends before the answer is done. */
const ended = new AiError.InvalidOutputError({ description: "" })

const said = "one two three four"
const called = MockResponse.chunked(toolCall("look", { where: "over there" }), 4)

for (const [what, provider] of Object.entries(wireProviders)) {
  describe(`A failure of ${what}`, () => {
    for (const [reason, tag] of [[limit, "RateLimitError"], [overload, "InternalProviderError"]] as const) {
      it.effect(`is an ${tag} as it says, at once, streamed, in the middle of a text and of a call`, () =>
        Effect.gen(function*() {
          for (const way of ["at once", "streamed"] as const) {
            const error = yield* failing(provider, fail(reason), way)
            assert.deepStrictEqual([error.reason._tag, error.isRetryable], [tag, true], way)
          }
          for (const response of [breakAfter(said, 2, reason), breakAfter(called, 2, reason)]) {
            const error = yield* failing(provider, response, "streamed")
            // Cohere tells in a stream what failed, and not of which kind that is.
            const kind = what === "Cohere" ? "InternalProviderError" : tag
            assert.deepStrictEqual([error.reason._tag, error.isRetryable], [kind, true], error.message)
            assert.include(error.message, reason === limit ? "" : "It is overloaded")
          }
        }))
    }

    it.effect("is an AuthenticationError where the key is wrong", () =>
      Effect.gen(function*() {
        const error = yield* failing(provider, fail(wrongKey), "streamed")
        assert.deepStrictEqual([error.reason._tag, error.isRetryable], ["AuthenticationError", false])
      }))

    it.effect("isn't retryable if the stream is a page", () =>
      Effect.gen(function*() {
        const page = "<html><body>Sign in to go on</body></html>"
        const error = yield* Effect.flip(ways["streamed"]).pipe(answering(what, page, "text/html"))
        assert.deepStrictEqual([error.reason._tag, error.isRetryable], ["InvalidResponseError", false], error.message)
      }))

    for (const [how, reason] of [["breaks", broken], ["ends", ended]] as const) {
      it.effect(`is a retryable NetworkError if the stream ${how} in the middle of a text or of a call`, () =>
        Effect.gen(function*() {
          for (const response of [breakAfter(said, 2, reason), breakAfter(called, 2, reason)]) {
            const error = yield* failing(provider, response, "streamed")
            assert.deepStrictEqual([error.reason._tag, error.isRetryable], ["NetworkError", true], error.message)
          }
        }))
    }
  })
}

/** Asks a provider that answers each request with this body. */
const answering = (what: string, body: string, type = "application/json") => {
  const server = Layer.effectContext(
    Effect.acquireRelease(
      Effect.promise(() =>
        new Promise<Server>((resolve) => {
          const server = createServer((_, response) => {
            response.writeHead(200, { "content-type": type }).end(body)
          })
          server.listen(0, "127.0.0.1", () => resolve(server))
        })
      ),
      (server) => Effect.promise(() => new Promise((resolve) => server.close(resolve)))
    ).pipe(Effect.flatMap((server) => {
      const { port } = server.address() as AddressInfo
      const model = wireProviders[what]!.modelOf({ baseURL: `http://127.0.0.1:${port}/v1` })
      return Effect.map(AiSdkModel.make(model), (service) => Context.make(LanguageModel.LanguageModel, service))
    }))
  )
  return <A, E>(effect: Effect.Effect<A, E, LanguageModel.LanguageModel>) => Effect.provide(effect, server)
}

describe("An answer of OpenRouter", () => {
  it.effect("that is an error with status 200 has the reason of its code", () =>
    Effect.gen(function*() {
      const codes = [[502, "InternalProviderError"], [429, "RateLimitError"], [402, "QuotaExhaustedError"]] as const
      for (const [code, tag] of codes) {
        const body = JSON.stringify({ error: { code, message: "The upstream says no" } })
        const error = yield* Effect.flip(ways["at once"]).pipe(answering("OpenRouter", body))
        assert.strictEqual(error.reason._tag, tag, error.message)
      }
    }))

  it.effect("with calls whose parameters are no JSON has what the model wrote of each", () =>
    Effect.gen(function*() {
      const chunk = (delta: object, finish_reason: string | null = null) =>
        sse({ id: "g", choices: [{ index: 0, delta, finish_reason }] })
      const call = (index: number, text: string) =>
        chunk({
          tool_calls: [{ index, id: `c${index}`, type: "function", function: { name: "look", arguments: text } }]
        })
      const more = (index: number, text: string) => chunk({ tool_calls: [{ index, function: { arguments: text } }] })
      const body = [
        call(0, "{\"where\": o"),
        more(0, "ver}"),
        call(1, "{\"where\": un"),
        call(2, "{\"where\": 2}"),
        more(1, "der}")
      ]
      const parts = yield* LanguageModel.streamText(ask).pipe(
        Stream.runCollect,
        answering("OpenRouter", [...body, chunk({}, "tool_calls")].join(""), "text/event-stream")
      )
      assert.deepStrictEqual(
        parts.flatMap((part) => part.type === "tool-call" ? [part.params] : []),
        [{ where: 2 }, "{\"where\": over}", "{\"where\": under}"]
      )
    }))
})

describe("A whole answer in which a package finds nothing", () => {
  it.effect("is an InvalidOutputError, which is asked for again", () =>
    Effect.gen(function*() {
      for (
        const body of ["{}", "{\"candidates\":[]}", "{\"error\":\"It broke\"}", "{\"candidates\":[{\"index\":0}]}"]
      ) {
        const { isRetryable, message, reason } = yield* Effect.flip(ways["at once"]).pipe(answering("Google", body))
        assert.deepStrictEqual([reason._tag, isRetryable], ["InvalidOutputError", true], `${body}: ${message}`)
      }
    }))
})

describe("An answer that its provider ended by an error", () => {
  const malformed = { candidates: [{ content: {}, finishReason: "MALFORMED_FUNCTION_CALL", index: 0 }] }

  it.effect("and that says nothing is an InvalidOutputError, which is asked for again", () =>
    Effect.gen(function*() {
      const whole = yield* Effect.flip(ways["at once"]).pipe(answering("Google", JSON.stringify(malformed)))
      assert.deepStrictEqual([whole.reason._tag, whole.isRetryable], ["InvalidOutputError", true], whole.message)
      const streamed = yield* Effect.flip(ways["streamed"]).pipe(
        answering("Google", sse(malformed), "text/event-stream")
      )
      assert.deepStrictEqual([streamed.reason._tag, streamed.isRetryable], ["InvalidOutputError", true])
    }))
})
