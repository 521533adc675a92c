/** What the span of a request says: names of the conventions, tokens, and how it failed. */
import { APICallError } from "@ai-sdk/provider"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Stream } from "effect"
import { LanguageModel } from "effect/ai"
import { AiSdkModel } from "troupe/ai-sdk"
import { recorded } from "../agent/spans.ts"
import { saying, throwing } from "./stub.ts"

const ask = { prompt: "Hi" } as const

describe("The span of a request", () => {
  it.effect("calls providers as the conventions do, and counts all tokens that are known", () =>
    Effect.gen(function*() {
      const names = {
        "openai.responses": "openai",
        "anthropic.messages": "anthropic",
        "google.generative-ai": "gcp.gemini",
        "google.vertex.chat": "gcp.vertex_ai",
        "mistral.chat": "mistral_ai",
        "xai.responses": "x_ai",
        "amazon-bedrock": "aws.bedrock",
        "azure.responses": "azure.ai.openai",
        "azure-openai.chat": "azure.ai.openai",
        "house.chat": "house"
      }
      for (const [provider, expected] of Object.entries(names)) {
        const { model } = saying([[]], {}, provider)
        const { spans } = yield* recorded(Effect.provide(LanguageModel.generateText(ask), AiSdkModel.layer(model)))
        const attributes = Object.fromEntries(spans[0]!.attributes)
        assert.strictEqual(attributes["gen_ai.provider.name"], expected)
        assert.deepInclude(attributes, {
          "gen_ai.usage.cache_read.input_tokens": 3,
          "gen_ai.usage.cache_creation.input_tokens": 1,
          "gen_ai.usage.reasoning.output_tokens": 2
        })
      }
    }))

  it.effect("names the reason and the status of a failure, and none of the provider's words, at once and streamed", () =>
    Effect.gen(function*() {
      const error = new APICallError({
        message: "x",
        url: "https://house/v1",
        requestBodyValues: {},
        statusCode: 422,
        responseHeaders: { "x-request-id": "r1" },
        responseBody: JSON.stringify({ error: { message: "\"my secret words\" can't be read" } })
      })
      const doStream = () => Promise.reject(error)
      const layer = AiSdkModel.layer({ ...throwing(error), doStream })
      for (const asking of [LanguageModel.generateText(ask), Stream.runDrain(LanguageModel.streamText(ask))]) {
        const { exit, spans } = yield* recorded(Effect.provide(asking, layer))
        assert.isTrue(Exit.isFailure(exit))
        const [{ attributes, status }] = spans as [typeof spans[number]]
        const ended = status._tag === "Ended" && Exit.isFailure(status.exit) ? status.exit.cause : Cause.empty
        assert.deepStrictEqual(
          Cause.prettyErrors(ended).map(({ message, name }) => [name, message]),
          [["InvalidRequestError", "InvalidRequestError, status 422"]]
        )
        assert.deepInclude(Object.fromEntries(attributes), {
          "error.type": "InvalidRequestError",
          "http.response.status_code": 422
        })
        assert.notInclude(Cause.pretty(ended), "secret")
      }
    }))
})
