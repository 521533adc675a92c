import { Context, Effect, type Layer } from "effect"
import type { HttpClient, HttpServer } from "effect/http"
import { describe, expectTypeOf, it } from "vitest"
import { MockModel, MockProvider } from "../../src/testing/index.ts"

class Database extends Context.Service<Database, string>()("test/Database") {}

const handler = MockModel.make(() => Effect.as(Database, "a"))

describe("MockProvider", () => {
  it("collects what its handler needs", () => {
    expectTypeOf(MockProvider.layer({ handler })).toEqualTypeOf<
      Layer.Layer<MockProvider.MockProvider, never, Database>
    >()
    expectTypeOf(MockProvider.layer({ handler: MockModel.queue("a") })).toEqualTypeOf<
      Layer.Layer<MockProvider.MockProvider>
    >()
    expectTypeOf(MockProvider.layerHttpClient()).toEqualTypeOf<
      Layer.Layer<MockProvider.MockProvider | HttpClient.HttpClient>
    >()
    expectTypeOf(MockProvider.layerServer({ handler })).toEqualTypeOf<
      Layer.Layer<MockProvider.MockProvider, never, HttpServer.HttpServer | Database>
    >()
    // @ts-expect-error nobody provides the database
    MockProvider.make({ handler })
  })

  it("gives requests by protocol", () => {
    const { requests } = MockProvider.make()
    expectTypeOf(requests("openai-chat")).toEqualTypeOf<Effect.Effect<ReadonlyArray<MockProvider.ChatRequest>>>()
    expectTypeOf(requests("openai-responses")).toEqualTypeOf<
      Effect.Effect<ReadonlyArray<MockProvider.ResponsesRequest>>
    >()
    expectTypeOf(MockProvider.requests("anthropic-messages")).toEqualTypeOf<
      Effect.Effect<ReadonlyArray<MockProvider.MessagesRequest>, never, MockProvider.MockProvider>
    >()
    expectTypeOf<MockProvider.ChatRequest["model"]>().toEqualTypeOf<string>()
    expectTypeOf<MockProvider.MessagesRequest["max_tokens"]>().toEqualTypeOf<number>()
    expectTypeOf<MockProvider.ChatRequest["messages"][number]["role"]>().toEqualTypeOf<
      "system" | "assistant" | "user" | "function" | "tool" | "developer"
    >()
    // @ts-expect-error there is no such protocol
    requests("gemini")
  })
})
