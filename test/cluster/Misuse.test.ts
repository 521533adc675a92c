/** What callers and options bring that isn't what the types say: each message gets an answer, and the conversation continues. */
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Layer, Schema, Stream } from "effect"
import { Tool, Toolkit } from "effect/ai"
import { Agent, Dialogue, Handoff, Plan, ToolPolicy } from "troupe"
import { ClusterDialogue, ClusterPlan, Conversation } from "troupe/cluster"
import { MockModel, MockResponse } from "troupe/testing"
import { withRunner } from "./runners.ts"

const clerk = Agent.make("clerk")
const hello = MockModel.layer(MockModel.make(() => "Hello."))

const thrown = (message: string) => (): never => {
  throw new Error(message)
}

describe("A conversation on a cluster", () => {
  for (const input of [5, "text", [{ _tag: "Nope" }]]) {
    it.live(`answers a message that isn't an input (${JSON.stringify(input)}), and continues`, () => {
      const Desk = Conversation.make("Desk", clerk)
      return Effect.gen(function*() {
        const requests = (yield* Desk.entity.client)("1")
        const refused = yield* requests.Say({ key: "m1", input })
        assert.deepStrictEqual([refused.status, refused.error?.tag], ["Failed", "Defect"])
        const chat = (yield* Desk.client)("1")
        assert.strictEqual((yield* chat.say("Hello", { key: "m2" })).text, "Hello.")
        const malformed = yield* Effect.exit(requests.Begin({ key: "b1", beginning: { _tag: "Say", input } }))
        assert.strictEqual(malformed._tag, "Failure")
        yield* chat.begin({ _tag: "Say", input: "Hello" }, { key: "b2" })
      }).pipe(Effect.provide(withRunner(Desk.layer, hello)))
    })
  }

  for (
    const [name, options] of [
      ["around", { around: thrown("No around") }],
      ["around each run", { around: () => thrown("No run") }],
      ["services", { services: thrown("No services") }]
    ] as const
  ) {
    it.live(`answers with the defect of what is thrown by the option ${name}`, () => {
      const Desk = Conversation.make("Desk", clerk, options as Conversation.Options)
      return Effect.gen(function*() {
        const chat = (yield* Desk.client)("1")
        const { error, status } = yield* chat.say("Hello", { key: "m1" })
        assert.deepStrictEqual([status, error?.tag], ["Failed", "Defect"])
        assert.match(error!.message, /^No /)
        assert.strictEqual((yield* chat.state).conversation.turns.length, 0)
      }).pipe(Effect.provide(withRunner(Desk.layer, hello)))
    })
  }

  it("isn't made with a number of events or a time that is none", () => {
    for (const keepEvents of [NaN, -1, 1.5, "all"]) {
      assert.throws(() => Conversation.make("Desk", clerk, { keepEvents: keepEvents as number }), "\"keepEvents\" is")
    }
    assert.throws(() => Conversation.make("Desk", clerk, { maxIdleTime: "soon" as "1 minute" }), "\"maxIdleTime\" is")
    const plan = Plan.make({ nodes: [Plan.node("read", () => Effect.void)] })
    assert.throws(() => ClusterPlan.make("Report", plan, { keepEvents: -1 }), "\"keepEvents\" is")
    Conversation.make("Desk", clerk, { keepEvents: 0 })
    Conversation.make("Desk", clerk, { keepEvents: Infinity, maxIdleTime: Infinity })
  })

  it.live("isn't served if an agent that it knows only later isn't valid", () => {
    const boss = Agent.make("boss", { handoffs: [Handoff.to(clerk)] })
    const handoffs = [Handoff.to(boss), Handoff.suspend("clerk", () => Agent.make("clerk"))]
    const Desk = Conversation.make("Desk", Agent.make("desk", { handoffs }))
    return Effect.gen(function*() {
      const built = yield* Effect.exit(Effect.scoped(Layer.build(withRunner(Desk.layer, hello))))
      assert.include(Exit.isFailure(built) ? Cause.pretty(built.cause) : "", "DuplicateAgent")
    })
  })

  it.live("names the agent of a plan or a dialogue that isn't there, and those that are", () => {
    const Report = ClusterPlan.make("Report", Plan.make({ nodes: [clerk] }))
    const Talk = ClusterDialogue.make("Talk", Dialogue.make(clerk, Agent.make("boss")))
    return Effect.gen(function*() {
      const report = (yield* Report.client)("1")
      const talk = (yield* Talk.client)("1")
      for (const name of ["clark", "toString"]) {
        assert.throws(() => report.node(name), `"${name}" is none of these nodes: "clerk"`)
        assert.throws(
          () => talk.participant(name as "boss"),
          `The dialogue has no participant "${name}"; available: "clerk", "boss"`
        )
      }
      assert.throws(() => report.node("clerk", 0), "\"run\" is 0")
    }).pipe(
      Effect.provide(withRunner(Layer.merge(Report.layer, Talk.layer), MockModel.layer(MockModel.queue())))
    )
  })

  it.live("reads what is given for a call as a state does, also if it isn't JSON", () => {
    const Kit = Toolkit.make(
      Tool.make("pay", { parameters: Schema.Struct({ n: Schema.Int }), success: Schema.String, needsApproval: true }),
      Tool.make("send", { parameters: Schema.Struct({ n: Schema.Int }), success: Schema.NullOr(Schema.String) })
    )
    const Desk = Conversation.make("Desk", Agent.make("clerk", { toolkit: Kit }))
    const needs = Layer.merge(
      Kit.toLayer({ pay: ({ n }) => Effect.succeed(`paid ${n}`), send: () => ToolPolicy.deferResult }),
      MockModel.layer(
        MockModel.make(({ lastToolResults: [result], lastUserText }) =>
          result === undefined
            ? MockResponse.toolCall(lastUserText, { n: 1 }, { id: lastUserText })
            : JSON.stringify(result.result)
        )
      )
    )
    const cycle: Record<string, unknown> = {}
    cycle.again = cycle
    return Effect.gen(function*() {
      const chat = (yield* Desk.client)("1")
      yield* chat.say("pay")
      for (const params of [{ n: NaN }, { n: 1n }, cycle, () => 1]) {
        const error = yield* Effect.flip(chat.approve("pay", { params: params as never }))
        assert.strictEqual(error._tag === "ConversationError" && error.reason._tag, "ParametersRejected")
      }
      assert.throws(() => chat.approve("pay", { params: Promise.resolve({ n: 2 }) as never }), TypeError, "a Promise")
      assert.throws(() => chat.giveResult("pay", Effect.sync(() => "paid") as never), TypeError, "an Effect")
      assert.strictEqual((yield* chat.approve("pay")).text, "\"paid 1\"")
      yield* chat.say("send")
      const error = yield* Effect.flip(chat.giveResult("send", cycle as never))
      assert.strictEqual(error._tag === "ConversationError" && error.reason._tag, "ResultRejected")
      assert.strictEqual((yield* chat.giveResult("send", undefined as never)).text, "null")
      const [first] = yield* chat.events({ after: -1 }).pipe(Stream.take(1), Stream.runCollect)
      assert.strictEqual(first?.cursor, 1)
    }).pipe(Effect.provide(withRunner(Desk.layer, needs)))
  })
})
