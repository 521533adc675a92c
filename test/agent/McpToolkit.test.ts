import { createOpenAI } from "@ai-sdk/openai"
import { NodeServices } from "@effect/platform-node"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, FileSystem, Layer } from "effect"
import { McpClient, McpProtocol } from "effect/ai"
import { KeyValueStore } from "effect/persistence"
import { ChildProcess } from "effect/process"
import { join } from "node:path"
import { Agent, AgentState, McpToolkit, Session, ToolPolicy } from "troupe"
import { AiSdkModel } from "troupe/ai-sdk"
import { Cassette, MockModel, MockProvider, MockResponse } from "troupe/testing"
import { told, toldOf } from "./watch.ts"

const { all, toolCall } = MockResponse

/** A client of a real server, which runs in a process of its own. */
const Client = McpClient.layerStdio({
  name: "test",
  version: "1.0.0",
  protocol: McpProtocol.v2025_11_25,
  command: ChildProcess.make(process.execPath, [join(import.meta.dirname, "fixtures/mcpServer.ts")])
}).pipe(Layer.provide(NodeServices.layer))

const make = (options?: McpToolkit.Options) =>
  Effect.flatMap(McpClient.McpClient, (client) => McpToolkit.make(client, options))

const calling = (...names: ReadonlyArray<string>) =>
  MockModel.queue(all(...names.map((name) => toolCall(name, {}, { id: name }))), "Done.")

/** The base64 of the server's image. */
const base64 = "iVBORw0KGgo="

describe("Tools of an MCP server", () => {
  layer(Client, { excludeTestServices: true })((it) => {
    it.effect("give images to a model whose provider takes them in results, and a note to another, never base64 in JSON", () =>
      Effect.gen(function*() {
        const agent = Agent.make("a", { toolkit: yield* make() })
        const sent = Effect.fnUntraced(function*(api: "chat" | "responses") {
          const { fetch, entries } = MockProvider.make({ handler: calling("draw", "count"), strict: true })
          const model = createOpenAI({ apiKey: "none", fetch: fetch as typeof globalThis.fetch })[api]("gpt-5")
          const state = yield* Agent.run(agent, "Go").pipe(Effect.provide(AiSdkModel.layer(model)))
          assert.strictEqual(AgentState.text(state), "Done.")
          return JSON.stringify((yield* entries).at(-1)?.asked?.body)
        })
        const responses = yield* sent("responses")
        assert.include(
          responses,
          `"output":[{"type":"input_text","text":"A lamp:"},{"type":"input_image","image_url":"data:image/png;base64,${base64}"`
        )
        const chat = yield* sent("chat")
        assert.include(chat, `"A lamp:\\n[A file of type image/png: this provider takes none in results.]\\nAurora"`)
        assert.notInclude(chat, base64)
        for (const body of [responses, chat]) assert.include(body, JSON.stringify(JSON.stringify({ lamps: 3 })))
      }))

    it.effect("fail in sentences, the server's own or one about it", () =>
      Effect.gen(function*() {
        const agent = Agent.make("a", { toolkit: yield* make() })
        yield* Effect.gen(function*() {
          yield* Agent.run(agent, "Go")
          assert.deepStrictEqual((yield* told).map(({ isFailure }) => isFailure), [true, true, true, true])
          assert.strictEqual(yield* toldOf("sold"), "Sold out:\n[A file of type image/png]\nthe lamp")
          assert.strictEqual(yield* toldOf("silent"), `The tool "silent" failed.`)
          assert.match(String(yield* toldOf("die")), /^The tool "die" failed: [\w ]+\S*( \(code -?\d+\))?$/)
          assert.strictEqual(yield* toldOf("list"), `The parameters of the tool "draw" must be a JSON object.`)
        }).pipe(Effect.provide(MockModel.layer(MockModel.queue(
          all(
            ...["sold", "silent", "die"].map((name) => toolCall(name, {}, { id: name })),
            toolCall("draw", ["a"], { id: "list" })
          ),
          "Done."
        ))))
      }))

    it.effect("give the JSON of structured content if they give no words, also beside an image and in a failure", () =>
      Effect.gen(function*() {
        const agent = Agent.make("a", { toolkit: yield* make() })
        yield* Effect.gen(function*() {
          yield* Agent.run(agent, "Go")
          assert.strictEqual(yield* toldOf("blank"), `{"lamps":3}`)
          assert.strictEqual(yield* toldOf("refuse"), `{"code":7}`)
          const drawn = (yield* MockModel.calls).at(-1)!.request.lastToolResults.find(({ id }) => id === "chart")
          assert.deepStrictEqual(
            drawn?.modelOutput?.map((part) => part.type === "text" ? part.text : part.mediaType),
            ["image/png", `{"lamps":3}`]
          )
        }).pipe(Effect.provide(MockModel.layer(calling("chart", "blank", "refuse"))))
      }))

    it.effect("aren't made if it isn't clear which of them need approval", () =>
      Effect.gen(function*() {
        const wrong = Effect.fnUntraced(function*(needsApproval: unknown) {
          const options = { needsApproval } as McpToolkit.Options
          return String(yield* Effect.flip(Effect.catchDefect(make(options), (defect) => Effect.fail(defect))))
        })
        const option = "`needsApproval` of `McpToolkit.make`"
        assert.strictEqual(
          yield* wrong(() => undefined),
          `TypeError: ${option} must return a boolean at once, not undefined`
        )
        assert.include(
          yield* wrong(() => Promise.resolve(true)),
          `${option} must return a boolean at once, not a Promise`
        )
        assert.strictEqual(
          yield* wrong("destructiv"),
          `TypeError: ${option} is a string, neither "destructive" nor a function`
        )
      }))

    it.effect("fail in sentences in a toolkit of McpClient's too", () =>
      Effect.gen(function*() {
        const client = yield* McpClient.McpClient
        const listTools = () =>
          Effect.map(client.listTools(), (tools) => tools.filter(({ name }) => !name.includes(".")))
        const agent = Agent.make("a", { toolkit: yield* McpClient.toolkit({ ...client, listTools }) })
        yield* Effect.gen(function*() {
          yield* Agent.run(agent, "Go")
          assert.strictEqual(yield* toldOf("sold"), `The tool "sold" failed: MCP tool reported an error: Sold out:`)
          assert.match(String(yield* toldOf("draw")), /^The tool "draw" failed: MCP image content requires/)
        }).pipe(Effect.provide(MockModel.layer(calling("sold", "draw"))))
      }))

    it.effect("end a call that hangs by one policy for all of them", () =>
      Effect.gen(function*() {
        const agent = Agent.make("a", { toolkit: ToolPolicy.setAll(yield* make(), { timeout: "1 second" }) })
        yield* Effect.gen(function*() {
          assert.strictEqual(AgentState.text(yield* Agent.run(agent, "Go")), "Done.")
          assert.strictEqual(yield* toldOf("hang"), `The tool "hang" timed out.`)
        }).pipe(Effect.provide(MockModel.layer(calling("hang"))))
      }))

    it.effect("have their results of megabytes cut by one policy for all of them", () =>
      Effect.gen(function*() {
        const agent = Agent.make("a", { toolkit: ToolPolicy.setAll(yield* make(), { maxLength: 9 }) })
        yield* Effect.gen(function*() {
          const state = yield* Agent.run(agent, "Go")
          assert.strictEqual(
            yield* toldOf("list"),
            `${"é".repeat(9)}\n[Cut here: 2999991 of 3000000 characters are left out.]`
          )
          const [drawn] = (yield* MockModel.calls).at(-1)!.request.lastToolResults
          assert.deepStrictEqual(
            drawn!.modelOutput?.map((part) => part.type === "text" ? part.text : part.mediaType),
            ["A lamp:", "image/png", "Au\n[Cut here: 4 of 6 characters are left out.]"]
          )
          assert.isBelow(JSON.stringify(AgentState.toJson(state)).length, 10_000)
        }).pipe(Effect.provide(MockModel.layer(calling("draw", "list"))))
      }))

    it.effect("are played from a tape as they were, with their images", () =>
      Effect.gen(function*() {
        const agent = Agent.make("a", { toolkit: yield* make() })
        const path = `${yield* (yield* FileSystem.FileSystem).makeTempDirectoryScoped()}/tape.jsonl`
        const run = Agent.run(agent, "Go").pipe(Effect.map(AgentState.toJson))
        const recorded = yield* run.pipe(
          Effect.provide(Cassette.layer(path, { mode: "record" })),
          Effect.provide(MockModel.layer(calling("draw", "sold")))
        )
        const played = yield* run.pipe(
          Effect.tap(Cassette.assertDrained),
          Effect.provide(Cassette.layer(path, { mode: "replay" }))
        )
        const calls = (json: unknown) => JSON.stringify((json as { conversation: unknown }).conversation)
        assert.strictEqual(calls(played), calls(recorded))
        assert.include(calls(played), base64)
      }).pipe(Effect.provide(NodeServices.layer)))

    it.effect("wait for approval where they may destroy something, if that is chosen", () =>
      Effect.gen(function*() {
        const names = ["draw", "add.one", "drop", "unknown"].map((name) => name.replace(".", "_"))
        const waiting = Effect.fnUntraced(function*(options?: McpToolkit.Options) {
          const agent = Agent.make("a", { toolkit: yield* make(options) })
          const state = yield* Agent.run(agent, "Go").pipe(Effect.provide(MockModel.layer(calling(...names))))
          return AgentState.pendingApprovals(state).map(({ name }) => name)
        })
        assert.deepStrictEqual(yield* waiting(), [])
        assert.deepStrictEqual(yield* waiting({ needsApproval: "destructive" }), ["drop", "unknown"])
        assert.deepStrictEqual(yield* waiting({ needsApproval: ({ name }) => name === "draw" }), ["draw"])
        const { tools } = yield* make()
        assert.deepStrictEqual(
          names.map((name) => ToolPolicy.get(tools[name]!).idempotent),
          [true, true, false, false]
        )
      }))

    it.effect("are those of the server at the time of a run: the conversation goes on with those that came", () =>
      Effect.gen(function*() {
        const remote = Effect.map(make({ prefix: "shop__" }), (toolkit) => Agent.make("remote", { toolkit }))
        yield* Effect.gen(function*() {
          const state = yield* Agent.run(yield* remote, "Go")
          const next = yield* Agent.continueConversation(yield* remote, state, "And now?")
          assert.strictEqual(AgentState.text(next), "All done.")
          assert.strictEqual(yield* toldOf("b"), "new")
          const offered = (yield* MockModel.calls).map(({ request }) => request.toolNames.includes("shop__learned"))
          assert.deepStrictEqual(offered, [false, false, true, true])
          const session = yield* Session.make(yield* remote, { state: next })
          assert.strictEqual(AgentState.text(yield* session.call("And then?")), "In a session.")
        }).pipe(Effect.provide(MockModel.layer(MockModel.queue(
          toolCall("shop__learn", {}, { id: "a" }),
          "Done.",
          toolCall("shop__learned", {}, { id: "b" }),
          "All done.",
          "In a session."
        ))))
      }))

    it.effect("are those of the server at the time of a call of a stored session, which is opened for that", () =>
      Effect.gen(function*() {
        const remote = Effect.map(make({ prefix: "again__" }), (toolkit) => Agent.make("remote", { toolkit }))
        const say = (input: string) =>
          Effect.scoped(Effect.gen(function*() {
            const session = yield* Session.make(yield* remote, { store: Session.store("42") })
            return AgentState.text(yield* session.call(input))
          }))
        yield* Effect.gen(function*() {
          assert.strictEqual(yield* say("Go"), "Done.")
          assert.strictEqual(yield* say("And now?"), "All done.")
          const offered = (yield* MockModel.calls).map(({ request }) => request.toolNames.includes("again__later"))
          assert.deepStrictEqual(offered, [false, false, true, true])
          assert.lengthOf((yield* Session.load("42"))?.conversation.turns ?? [], 6)
        }).pipe(
          Effect.provide(KeyValueStore.layerMemory),
          Effect.provide(MockModel.layer(MockModel.queue(
            toolCall("again__teach", {}, { id: "a" }),
            "Done.",
            toolCall("again__later", {}, { id: "b" }),
            "All done."
          )))
        )
      }))
  })
})
