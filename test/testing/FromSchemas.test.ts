import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Result, Schema } from "effect"
import { LanguageModel, Tool, Toolkit } from "effect/ai"
import { Agent, AgentState, Conversation, Group, HandoffPolicy } from "troupe"
import { MockModel } from "troupe/testing"
import { as, reasonOf } from "./outcome.ts"

const Order = Schema.Struct({
  id: Schema.Int.check(Schema.isGreaterThan(0)),
  on: Schema.Date,
  note: Schema.optionalKey(Schema.NonEmptyString),
  kind: Schema.Literals(["new", "used"]),
  cents: Schema.BigInt
})

const Invoice = Schema.Struct({ number: Schema.NonEmptyString, due: Schema.DateFromString })

const Desk = Toolkit.make(
  Tool.make("order", { parameters: Order, success: Schema.String }),
  Tool.make("cancel", { parameters: Schema.Struct({ ids: Schema.NonEmptyArray(Schema.Int) }), success: Schema.Void }),
  Tool.make("now", { success: Schema.Date }),
  Tool.dynamic("remote", {
    description: "Described by JSON schema alone",
    parameters: {
      type: "object",
      properties: { size: { type: "integer", minimum: 3, maximum: 5 }, name: { type: "string" } },
      required: ["size", "name"],
      additionalProperties: false
    },
    success: Schema.Unknown
  })
)
const table = { order: "ok", cancel: undefined, now: new Date(0), remote: "ok" }

const layer = (seed: string | number = 0) =>
  MockModel.handlers(Desk, table).pipe(Layer.provideMerge(MockModel.layer(MockModel.fromSchemas({ seed }))))

const calls = (state: AgentState.AgentState) =>
  state.conversation.turns.flatMap((turn) => turn._tag === "Assistant" ? [Conversation.callsOf(turn)] : [])

describe("MockModel.fromSchemas", () => {
  it.effect.prop(
    "calls each tool once with parameters that fit, and then answers",
    [Schema.Int],
    ([seed]) =>
      Effect.gen(function*() {
        const state = yield* Agent.run(Agent.make("clerk", { toolkit: Desk }), "Go")
        assert.strictEqual(state.status._tag, "Complete")
        assert.strictEqual(AgentState.text(state), "Done.")
        const turns = calls(state)
        assert.deepStrictEqual(turns.map((turn) => turn.map((call) => call.name)), [
          ["order", "cancel", "now", "remote"],
          []
        ])
        assert.deepStrictEqual(
          turns[0]?.map((call) => call.state._tag === "Settled" && call.state.outcome),
          ["Succeeded", "Succeeded", "Succeeded", "Succeeded"]
        )
        const parts = (yield* MockModel.calls)[0]?.response?.parts
        assert.deepStrictEqual(JSON.parse(JSON.stringify(parts)), parts)
        const Remote = Schema.Struct({
          size: Schema.Int.check(Schema.isBetween({ minimum: 3, maximum: 5 })),
          name: Schema.String
        })
        assert.isTrue(Schema.is(Remote)(turns[0]?.[3]?.params))
      }).pipe(Effect.provide(layer(seed)))
  )

  it.effect("makes up the same by the same seed, and other things by another", () =>
    Effect.gen(function*() {
      const params = (seed: string) =>
        Agent.run(Agent.make("clerk", { toolkit: Desk }), "Go").pipe(
          Effect.map((state) => JSON.stringify(calls(state).flat().map((call) => call.params))),
          Effect.provide(layer(seed))
        )
      assert.strictEqual(yield* params("a"), yield* params("a"))
      assert.notStrictEqual(yield* params("a"), yield* params("b"))
    }))

  it.effect.prop(
    "answers with an output that decodes, after all tools",
    [Schema.Int],
    ([seed]) =>
      Effect.gen(function*() {
        for (const output of [Order, Schema.Array(Order), Schema.Date] as const) {
          const clerk = Agent.make("clerk", { toolkit: Desk, output: output as Schema.Codec<unknown, unknown> })
          const state = yield* Agent.run(clerk, "Go")
          assert.isTrue(Result.isSuccess(AgentState.output(clerk, state)))
          assert.strictEqual(calls(state)[0]?.length, 4)
          assert.strictEqual(state.steps, 2)
        }
      }).pipe(Effect.provide(layer(seed)))
  )

  it.effect.prop("gives an object that fits, where one is asked for", [Schema.Int], ([seed]) =>
    Effect.gen(function*() {
      const { value } = yield* LanguageModel.generateObject({ prompt: "Go", schema: Invoice })
      assert.isTrue(Schema.is(Invoice)(value))
    }).pipe(Effect.provide(layer(seed))))

  it.effect("calls tools again once the user has spoken again", () =>
    Effect.gen(function*() {
      const state = yield* Agent.runMultiTurn(Agent.make("clerk", { toolkit: Desk }), ["Go", "Again"])
      assert.deepStrictEqual(calls(state).map((turn) => turn.length), [4, 0, 4, 0])
    }).pipe(Effect.provide(layer())))

  it.effect("keeps to the choice of tools", () =>
    Effect.gen(function*() {
      const chosen = (toolChoice: LanguageModel.ToolChoice<keyof typeof Desk.tools>) =>
        LanguageModel.generateText({
          prompt: "Go",
          toolkit: Desk,
          toolChoice,
          disableToolCallResolution: true,
          toolCallValidation: "deferred"
        }).pipe(
          Effect.map((response) => response.toolCalls.map((call) => call.name))
        )
      assert.deepStrictEqual(yield* chosen("none"), [])
      assert.deepStrictEqual(yield* chosen({ tool: "now" }), ["now"])
      assert.deepStrictEqual(yield* chosen({ oneOf: ["now", "cancel"] }), ["cancel", "now"])
      assert.deepStrictEqual(yield* chosen("required"), ["order", "cancel", "now", "remote"])
    }).pipe(Effect.provide(layer())))

  it.effect("comes to an end with agents that hand over to each other", () =>
    Effect.gen(function*() {
      const members = { a: Agent.make("a", { toolkit: Desk }), b: Agent.make("b") }
      const group = Group.make(members, {
        start: "a",
        policy: HandoffPolicy.compose(HandoffPolicy.explicit("a"), HandoffPolicy.explicit("b"))
      })
      const state = yield* Agent.run(group, "Go")
      assert.strictEqual(state.status._tag, "Complete")
      assert.deepStrictEqual(state.trail, ["a", "b", "a"])
    }).pipe(Effect.provide(layer())))

  it.effect("says why a schema has no values", () =>
    Effect.gen(function*() {
      const Never = Toolkit.make(
        Tool.make("never", { parameters: Schema.Struct({ a: Schema.Never }), success: Schema.Void })
      )
      const asked = as("clerk")(
        LanguageModel.generateText({ prompt: "Go", toolkit: Never, disableToolCallResolution: true })
      )
      const reason = yield* reasonOf(Effect.provide(asked, MockModel.layer(MockModel.fromSchemas())))
      assert.match(reason, /^nothing can be made up for the parameters of "never": /)
    }))
})
