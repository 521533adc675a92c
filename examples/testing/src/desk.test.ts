import { createOpenAI } from "@ai-sdk/openai"
import { NodeFileSystem } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Ref } from "effect"
import { join } from "node:path"
import { Agent, AgentState, Conversation } from "troupe"
import { AiSdkModel } from "troupe/ai-sdk"
import { Cassette, Laws, MockModel, MockProvider, MockResponse, Story } from "troupe/testing"
import { answer, desk, Orders, refunds, Tools, ToolsLive } from "./desk.ts"

/** The tools as they are, over a shop in memory. */
const Shop = ToolsLive.pipe(Layer.provide(Layer.succeed(Orders, {
  find: (id) => Effect.succeed(`Order ${id}: a lamp, sent on Monday`),
  refund: () => Effect.void
})))

/** What the models say in most tests: the desk hands over, and refunds looks the order up and asks for a refund. */
const script = {
  desk: MockModel.queue(MockResponse.toolCall("handoff_to_refunds", { reason: "a broken lamp" })),
  refunds: MockModel.queue(
    MockResponse.toolCall("find_order", { id: 7 }),
    MockResponse.toolCall("refund", { id: 7 }, { id: "r" }),
    "Your money is on its way."
  )
}

describe("pure states", () => {
  it("a denied refund isn't run, and the model reads why", () => {
    const state = Story.tellOrThrow(
      refunds,
      Story.userSays("Refund order 7."),
      Story.modelAnswers([Conversation.call("r", "refund", { id: 7 })]),
      Story.approvalIsRequested("r"),
      Story.deny("r", "It was paid back in May."),
      Story.expectDecision("AskModel"),
      Story.modelAnswers("We have paid it back in May.")
    )

    assert.strictEqual(state.status._tag, "Complete")
    assert.strictEqual(AgentState.text(state), "We have paid it back in May.")
  })

  it("an agent that only calls tools fails after five answers", () => {
    const look = (id: string) => [
      Story.modelAnswers([Conversation.call(id, "find_order", { id: 7 })]),
      Story.toolAnswers(id, "a lamp")
    ]
    const state = Story.tellOrThrow(
      refunds,
      Story.userSays("Refund order 7."),
      ...["a", "b", "c", "d", "e"].flatMap(look),
      Story.expectDecision({ _tag: "Fail", tag: "StepLimitReached" })
    )

    assert.strictEqual(state.status._tag, "Failed")
  })
})

describe("a scripted model", () => {
  it.effect("hands over, and looks the order up before it asks for a refund", () =>
    Effect.gen(function*() {
      const state = yield* Agent.run(desk, "My lamp of order 7 is broken.")
      const calls = yield* MockModel.calls

      assert.deepStrictEqual(state.trail, ["desk", "refunds"])
      assert.deepStrictEqual(calls.map(({ request }) => request.agent), ["desk", "refunds", "refunds"])
      assert.deepStrictEqual(calls[2]?.request.lastToolResults.map(({ result }) => result), [
        "Order 7: a lamp, sent on Monday"
      ])
      assert.deepStrictEqual(AgentState.pendingApprovals(state).map(({ name, params }) => [name, params]), [
        ["refund", { id: 7 }]
      ])
    }).pipe(Effect.provide([Shop, MockModel.layer(MockModel.byAgent(script))])))

  it.effect("pays back once, after a colleague has approved in another process", () =>
    Effect.gen(function*() {
      const paid = yield* Ref.make<ReadonlyArray<number>>([])
      const orders = Layer.succeed(Orders, {
        find: () => Effect.succeed("a lamp"),
        refund: (id) => Ref.update(paid, (ids) => [...ids, id])
      })

      const done = yield* Effect.gen(function*() {
        const waiting = yield* Agent.run(desk, "My lamp of order 7 is broken.")
        assert.deepStrictEqual(yield* Ref.get(paid), [])

        const stored = JSON.stringify(AgentState.toJson(waiting))
        const read = yield* Effect.fromResult(AgentState.fromJson(stored))
        return yield* Agent.resume(desk, yield* Effect.fromResult(AgentState.approve(read, "r")))
      }).pipe(Effect.provide([ToolsLive.pipe(Layer.provide(orders)), MockModel.layer(MockModel.byAgent(script))]))

      assert.strictEqual(AgentState.text(done), "Your money is on its way.")
      assert.deepStrictEqual(yield* Ref.get(paid), [7])
    }))

  it.effect("tells the customer that a colleague decides", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* answer("My lamp is broken."), "A colleague decides, and writes to you.")
    }).pipe(Effect.provide([Shop, MockModel.layer(MockModel.byAgent(script))])))

  it.effect("asks an overloaded model twice, and then asks the customer to come back", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* answer("Hello"), "Please try again later.")
      yield* MockModel.expectCalls(2)
    }).pipe(Effect.provide([Shop, MockModel.layer(MockModel.repeat(MockResponse.httpError(529)))])))
})

describe("a provider on the wire", () => {
  it.effect("is sent the tool that hands over, and is asked again after a 429", () =>
    Effect.gen(function*() {
      const provider = MockProvider.make({ handler: MockModel.queue("Hello!"), status: [429, 200] })
      const openai = createOpenAI({ apiKey: "none", fetch: provider.fetch })

      const text = yield* answer("Hello").pipe(Effect.provide([Shop, AiSdkModel.layer(openai("gpt-5"))]))
      const [body] = yield* provider.requests("openai-responses")

      assert.strictEqual(text, "Hello!")
      assert.deepStrictEqual(body?.tools?.map((tool) => "name" in tool ? tool.name : ""), ["handoff_to_refunds"])
    }))
})

describe("a recording", () => {
  // Without the file the test asks the model, with OPENAI_API_KEY, and writes it. From then on it reads the file.
  // (Here a mock of OpenAI was recorded, so that the example needs no key.)
  const tape = join(import.meta.dirname, "desk.jsonl")
  const Model = AiSdkModel.layer(createOpenAI()("gpt-5"))
  const Recorded = Cassette.toolkit(Tools, Shop).pipe(
    Layer.provideMerge(Cassette.layer(tape).pipe(Layer.provide(Model))),
    Layer.provide(NodeFileSystem.layer)
  )

  it.effect("the prompt still leads the model to a refund", () =>
    Effect.gen(function*() {
      const state = yield* Agent.run(desk, "My lamp of order 7 is broken. I want my money back.")

      assert.deepStrictEqual(AgentState.pendingApprovals(state).map(({ params }) => params), [{ id: 7 }])
      yield* Cassette.assertDrained
    }).pipe(Effect.provide(Recorded)))
})

describe("laws", () => {
  it.effect("hold for whatever the models call", () => Laws.agent(desk, { layer: Shop, runs: 30, seed: 1 }))
})
