/** What providers look at before the body: keys, versions, paths, and which models there are. */
import {
  AuthenticationError as AnthropicAuthenticationError,
  NotFoundError as AnthropicNotFoundError
} from "@anthropic-ai/sdk"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { type APIError, AuthenticationError, NotFoundError } from "openai"
import { MockProvider } from "../../../src/testing/index.ts"
import { anthropicOf, openaiOf, rejection } from "./serve.ts"

const openai = ({ fetch }: MockProvider.Provider, apiKey = "sk-right") => openaiOf(fetch, apiKey)

const anthropic = ({ fetch }: MockProvider.Provider, apiKey = "sk-right") => anthropicOf(fetch, apiKey)

const messages = [{ role: "user" as const, content: "Hello there" }]

const asked = { model: "claude-sonnet-5", max_tokens: 9, messages }

const post = (provider: MockProvider.Provider, path: string, body: unknown, headers: Record<string, string> = {}) =>
  Effect.promise(async () => {
    const response = await provider.fetch(`http://mock${path}`, { method: "POST", headers, body: JSON.stringify(body) })
    return [response.status, (await response.json()).error?.message]
  })

describe("an API key", () => {
  it.effect("is any, or none, unless there is one that is right", () =>
    Effect.gen(function*() {
      const provider = MockProvider.make()
      assert.deepStrictEqual(yield* post(provider, "/v1/chat/completions", { model: "gpt-5", messages }), [
        200,
        undefined
      ])
      yield* Effect.promise(() => openai(provider, "sk-any").chat.completions.create({ model: "gpt-5", messages }))
      yield* Effect.promise(() => anthropic(provider, "sk-any").messages.create(asked))
    }))

  it.effect("is refused by OpenAI where it is missing or wrong, and shown by its ends", () =>
    Effect.gen(function*() {
      const provider = MockProvider.make({ apiKey: "sk-right" })
      const [status, message] = yield* post(provider, "/v1/responses", { model: "gpt-5", input: "Hello" })
      assert.strictEqual(status, 401)
      assert.match(
        message,
        /^You didn't provide an API key\. You need to provide your API key in an Authorization header/
      )
      const wrong = yield* rejection(() =>
        openai(provider, "sk-proj-0123456789").chat.completions.create({ model: "gpt-5", messages })
      )
      assert.instanceOf(wrong, AuthenticationError)
      assert.deepStrictEqual((wrong as APIError).error, {
        message: "Incorrect API key provided: sk-proj-******6789. You can find your API key at " +
          "https://platform.openai.com/account/api-keys.",
        type: "invalid_request_error",
        param: null,
        code: "invalid_api_key"
      })
      const short = yield* rejection(() => openai(provider, "sk-wrong").models.list())
      assert.include(String(short), "401 Incorrect API key provided: sk-wrong. You")
      yield* Effect.promise(() => openai(provider).responses.create({ model: "gpt-5", input: "Hello" }))
    }))

  it.effect("is refused by Anthropic where it is missing or wrong", () =>
    Effect.gen(function*() {
      const provider = MockProvider.make({ apiKey: "sk-right" })
      const version = { "anthropic-version": "2023-06-01" }
      assert.deepStrictEqual(yield* post(provider, "/v1/messages", asked, version), [
        401,
        "x-api-key header is required"
      ])
      const wrong = yield* rejection(() => anthropic(provider, "sk-wrong").messages.create(asked))
      assert.instanceOf(wrong, AnthropicAuthenticationError)
      assert.include(String(wrong), "invalid x-api-key")
      yield* Effect.promise(() => anthropic(provider).messages.create(asked))
      const bearer = { ...version, authorization: "Bearer sk-right" }
      assert.deepStrictEqual(yield* post(provider, "/v1/messages", asked, bearer), [200, undefined])
    }))
})

describe("the version of Anthropic's API", () => {
  it.effect("has to be there, once, and is no matter to OpenAI", () =>
    Effect.gen(function*() {
      const provider = MockProvider.make()
      assert.deepStrictEqual(yield* post(provider, "/v1/messages", asked), [
        400,
        "anthropic-version: header is required"
      ])
      const twice = { "anthropic-version": "2023-06-01, 2023-06-01" }
      assert.deepStrictEqual(yield* post(provider, "/v1/messages", asked, twice), [
        400,
        "anthropic-version: \"2023-06-01, 2023-06-01\" is not a valid version"
      ])
      assert.deepStrictEqual(yield* post(provider, "/v1/messages", asked, { "anthropic-version": "2023-06-01" }), [
        200,
        undefined
      ])
      assert.deepStrictEqual(yield* post(provider, "/v1/responses", { model: "gpt-5", input: "Hello" }, twice), [
        200,
        undefined
      ])
    }))
})

describe("models", () => {
  it.effect("are those that there are said to be, and no other is found", () =>
    Effect.gen(function*() {
      const provider = MockProvider.make({ models: ["gpt-5", "org/large model"] })
      const listed = yield* Effect.promise(() => openai(provider).models.list())
      assert.deepStrictEqual(listed.data.map(({ id, object }) => [id, object]), [
        ["gpt-5", "model"],
        ["org/large model", "model"]
      ])
      const found = yield* Effect.promise(() => openai(provider).models.retrieve("org/large model"))
      assert.strictEqual(found.id, "org/large model")
      const ids: Array<string> = []
      yield* Effect.promise(async () => {
        for await (const { id, type } of anthropic(provider).models.list()) ids.push(`${type} ${id}`)
      })
      assert.deepStrictEqual(ids, ["model gpt-5", "model org/large model"])

      const unknown = yield* rejection(() => openai(provider).chat.completions.create({ model: "gpt-4", messages }))
      assert.instanceOf(unknown, NotFoundError)
      assert.include(String(unknown), "The model `gpt-4` does not exist or you do not have access to it.")
      assert.strictEqual((unknown as APIError).code, "model_not_found")
      assert.instanceOf(yield* rejection(() => openai(provider).models.retrieve("gpt-4")), NotFoundError)
      const elsewhere = yield* rejection(() => anthropic(provider).messages.create(asked))
      assert.instanceOf(elsewhere, AnthropicNotFoundError)
      assert.include(String(elsewhere), "model: claude-sonnet-5")
      assert.instanceOf(
        yield* rejection(() => anthropic(provider).models.retrieve("claude-sonnet-5")),
        AnthropicNotFoundError
      )
    }))

  it.effect("have any name where nothing is said of them", () =>
    Effect.gen(function*() {
      const provider = MockProvider.make()
      const { data } = yield* Effect.promise(() => openai(provider).models.list())
      assert.deepStrictEqual(data.map(({ id }) => id), ["mock-model"])
      const { display_name, id } = yield* Effect.promise(() => anthropic(provider).models.retrieve("claude-sonnet-5"))
      assert.deepStrictEqual([id, display_name], ["claude-sonnet-5", "claude-sonnet-5"])
      assert.deepStrictEqual((yield* provider.entries).map(({ by, protocol }) => [by, protocol]), [
        ["list of models", undefined],
        ["list of models", undefined]
      ])
      assert.deepStrictEqual(yield* provider.misses, [])
    }))
})

describe("a count of tokens", () => {
  it.effect("is what the message reports for its input, and needs no limit of its own", () =>
    Effect.gen(function*() {
      const provider = MockProvider.make({ strict: true })
      const body = { model: "claude-sonnet-5", messages, system: "Be brief, and to the point." }
      const counted = yield* Effect.promise(() => anthropic(provider).messages.countTokens(body))
      const { usage } = yield* Effect.promise(() =>
        anthropic(MockProvider.make()).messages.create({ ...body, max_tokens: 9 })
      )
      assert.deepStrictEqual(counted, { input_tokens: usage.input_tokens })
      assert.isAbove(counted.input_tokens, 5)
      const refused = yield* rejection(() => anthropic(provider).messages.countTokens({ ...body, messages: [] }))
      assert.include(String(refused), "messages: at least one message is required")
      assert.deepStrictEqual((yield* provider.misses).map(({ number }) => number), [2])
    }))
})

describe("a path", () => {
  it.effect("at which there is nothing is refused in the words of whom the headers name", () =>
    Effect.gen(function*() {
      const provider = MockProvider.make()
      const lost = yield* post(provider, "/v1/embeddings", {})
      assert.deepStrictEqual(lost, [404, "Invalid URL (POST /v1/embeddings)"])
      const version = { "anthropic-version": "2023-06-01" }
      assert.deepStrictEqual(yield* post(provider, "/v1/complete", {}, version), [404, "Not Found"])
      assert.deepStrictEqual(yield* post(provider, "/v1/models", {}), [405, "Only GET requests are accepted."])
      assert.deepStrictEqual((yield* provider.misses).map(({ reason }) => reason), [
        "nothing is served at /v1/embeddings",
        "nothing is served at /v1/complete"
      ])
    }))
})
