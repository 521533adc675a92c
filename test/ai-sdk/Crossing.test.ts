/** What a provider alone shows or takes, through its clients over a socket: files, its own tools, citations, choices. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Logger, Option, Schema, Stream } from "effect"
import { LanguageModel, Tool, Toolkit } from "effect/ai"
import { Agent, AgentState, Conversation } from "troupe"
import { InstructionChain, MockModel, MockProvider, MockResponse } from "troupe/testing"
import { served } from "../testing/provider/serve.ts"
import { bodies } from "./bodies.ts"
import { layerOf, type Protocol, providers } from "./providers.ts"

const input = [
  Conversation.text("See."),
  Conversation.file("image/png", new Uint8Array([137, 80, 78, 71])),
  Conversation.file("image/png", new URL("https://a.b/c.png")),
  Conversation.file("application/pdf", "data:application/pdf;base64,JVBERi0=", { fileName: "a.pdf" })
]

const png = "data:image/png;base64,iVBORw=="
const pdf = { filename: "a.pdf", file_data: "data:application/pdf;base64,JVBERi0=" }

const said: Readonly<Record<Protocol, unknown>> = {
  "openai-chat": [
    { type: "text", text: "See." },
    { type: "image_url", image_url: { url: png } },
    { type: "image_url", image_url: { url: "https://a.b/c.png" } },
    { type: "file", file: pdf }
  ],
  "openai-responses": [
    { type: "input_text", text: "See." },
    { type: "input_image", image_url: png },
    { type: "input_image", image_url: "https://a.b/c.png" },
    { type: "input_file", ...pdf }
  ],
  "anthropic-messages": [
    { type: "text", text: "See." },
    { type: "image", source: { type: "base64", media_type: "image/png", data: "iVBORw==" } },
    { type: "image", source: { type: "url", url: "https://a.b/c.png" } },
    {
      type: "document",
      source: { type: "base64", media_type: "application/pdf", data: "JVBERi0=" },
      title: "a.pdf"
    }
  ]
}

const chosen: Readonly<Record<Protocol, unknown>> = {
  "openai-chat": { type: "function", function: { name: "look" } },
  "openai-responses": { type: "function", name: "look" },
  "anthropic-messages": { type: "tool", name: "look" }
}

const forced: Readonly<Record<Protocol, unknown>> = {
  "openai-chat": "required",
  "openai-responses": "required",
  "anthropic-messages": { type: "any" }
}

const Look = Toolkit.make(Tool.make("look"), Tool.make("leave"))

/** The search of each provider, under a name of our own. */
const searches = {
  "openai-responses": "openai.web_search",
  "anthropic-messages": "anthropic.web_search_20250305"
} as const

const searchOf = (id: `${string}.${string}`) =>
  Tool.providerDefined({
    id,
    customName: "search",
    providerName: "web_search",
    args: Schema.Struct({}),
    parameters: Schema.Unknown,
    success: Schema.Unknown,
    failure: Schema.Unknown
  })({})

const url = "https://example.com"

const { cited, embed, make, serverToolResult, serverToolUse, step } = InstructionChain

const searched = make(
  step([
    serverToolUse("web_search", { query: "warm" }),
    serverToolResult("web_search", { result: [{ url, title: "Example" }] }),
    cited("It is warm.", { url, title: "Example", cited_text: "warm" })
  ]),
  step("Bye.")
)

describe("a conversation that another provider's model began", () => {
  it.effect("is nowhere in the log, unless content is recorded", () =>
    Effect.gen(function*() {
      const agent = Agent.make("a")
      const begun = yield* Effect.provide(Agent.run(agent, "Think."), layerOf(providers["Anthropic"]!))
      const logged = Effect.fnUntraced(function*(recordsContent: boolean) {
        const lines: Array<string> = []
        const logger = Logger.make<unknown, void>(({ message }) => void lines.push(String(message)))
        yield* Agent.continueConversation(agent, begun, "And?").pipe(
          Effect.provide([layerOf(providers["OpenAI's responses"]!), Logger.layer([logger])]),
          Effect.provideService(Agent.RecordContent, recordsContent)
        )
        return lines
      })
      assert.deepStrictEqual(yield* logged(false), [
        "openai.responses gpt-5: other: reasoning; Agent.RecordContent logs all words"
      ])
      const [line] = yield* logged(true)
      assert.include(line, "Skipping reasoning part")
      assert.include(line, "My own thought.")
    }).pipe(Effect.provide(served({
      handler: MockModel.make(() => MockResponse.all(MockResponse.reasoning("My own thought."), "Yes."))
    }))))
})

for (const [what, provider] of Object.entries(providers)) {
  const { protocol, specification } = provider
  const read = bodies[protocol]
  const bodiesSent = Effect.map(MockProvider.entries, (entries) => entries.map(({ asked }) => asked?.body))

  describe(`a request through ${what}, over a socket`, () => {
    it.effect("has files as the provider has them, of bytes, of an address and of a data URL", () =>
      Effect.gen(function*() {
        yield* Effect.provide(Agent.run(Agent.make("a"), input), layerOf(provider, { download: false }))
        const [body] = yield* bodiesSent
        assert.deepStrictEqual(read(body).said as unknown, said[protocol])
      }).pipe(Effect.provide(served({ handler: MockModel.make(() => "ok"), strict: true }))))

    it.effect("has the choice of a tool, and of some", () =>
      Effect.gen(function*() {
        const ask = (toolChoice: LanguageModel.ToolChoice<"look" | "leave">) =>
          LanguageModel.generateText({ prompt: "Look.", toolkit: Look, toolChoice, disableToolCallResolution: true })
        yield* Effect.provide(ask({ tool: "look" }), layerOf(provider))
        yield* Effect.provide(ask({ mode: "required", oneOf: ["leave"] }), layerOf(provider))
        const [one, some] = (yield* bodiesSent).map(read)
        assert.deepInclude(one!.choice as object, chosen[protocol] as object)
        assert.deepStrictEqual(JSON.stringify(some!.choice), JSON.stringify(forced[protocol]))
        assert.deepStrictEqual(some!.tools.map(({ name }) => name), ["leave"])
      }).pipe(Effect.provide(served({ handler: MockModel.make(() => "ok") }))))

    if (protocol === "openai-chat") return

    it.effect("goes on from what the provider searched for and what it cites, which go back as they came", () =>
      Effect.gen(function*() {
        const agent = Agent.make("a", { toolkit: Toolkit.make(searchOf(searches[protocol])) })
        const question = embed("Search", searched)
        const streamed = Stream.runLast(Agent.stream(agent, question)).pipe(
          Effect.map((last) => Option.isSome(last) && "state" in last.value ? last.value.state : undefined)
        )
        for (const way of [Agent.run(agent, question), streamed]) {
          const state = yield* way
          if (state === undefined) return assert.fail("there is no last state")
          const [turn] = state.conversation.turns.filter((turn) => turn._tag === "Assistant")
          const parts = turn?.parts ?? []
          const call = parts.find((part) => part._tag === "Call")
          assert.deepInclude(call, { name: "search", providerExecuted: true })
          assert.strictEqual(call?.state._tag, "Settled")
          assert.include(JSON.stringify(call), protocol === "anthropic-messages" ? url : "warm")
          const source = parts.find((part) => part._tag === "Source")
          assert.deepInclude(source, { title: "Example", url: `${url}/` })
          const text = parts.find((part) => part._tag === "Text")
          assert.strictEqual(specification === "v4", text?.metadata?.["ai-sdk"] !== undefined)

          const stored = yield* Effect.fromResult(AgentState.fromJson(JSON.stringify(AgentState.toJson(state))))
          const next = yield* Agent.continueConversation(agent, stored, "Thanks")
          assert.strictEqual(AgentState.text(next), "Bye.")
          const sent = (yield* bodiesSent).at(-1)
          assert.include(JSON.stringify(read(sent).tools), "web_search")
          const again = JSON.stringify(sent)
          if (protocol === "openai-responses") {
            assert.include(again, `{"type":"web_search_call","id":"${call?.id}","status":"completed"`)
          } else {
            assert.include(
              again,
              `{"type":"server_tool_use","id":"${call?.id}","name":"web_search","input":{"query":"warm"}`
            )
            assert.include(again, `{"type":"web_search_tool_result","tool_use_id":"${call?.id}"`)
            assert.include(again, `"citations":[{"type":"web_search_result_location","cited_text":"warm"`)
          }
        }
      }).pipe(
        Effect.provide(layerOf(provider, { providerOptions: { openai: { store: false } } })),
        Effect.provide(served({ strict: true }))
      ))
  })
}
