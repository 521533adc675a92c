import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Schema } from "effect"
import { Tool, Toolkit } from "effect/ai"
import { Agent, AgentState, Conversation, Guardrail } from "troupe"
import { MockModel, MockResponse } from "troupe/testing"

const { all, toolCall } = MockResponse

const Tools = Toolkit.make(
  Tool.make("look", { parameters: Schema.Struct({ at: Schema.Json }), success: Schema.String }),
  Tool.make("wait", { parameters: Schema.Struct({ at: Schema.Json }), success: Schema.String })
)

const look = (at: Schema.Json) => toolCall("look", { at })
const wait = (at: Schema.Json) => toolCall("wait", { at })

type OnCall = ReturnType<typeof Guardrail.noRepeat>

const agentWith = (...toolCalls: ReadonlyArray<OnCall>) =>
  Agent.make("agent", { toolkit: Tools, guardrails: { toolCall: toolCalls } })

const reply = (...responses: ReadonlyArray<MockResponse.Input>) =>
  Layer.merge(
    Tools.toLayer({ look: () => Effect.succeed("seen"), wait: () => Effect.succeed("waited") }),
    MockModel.layer(MockModel.queue(...responses))
  )

/** What came of each call, in order. */
const results = (state: AgentState.AgentState): ReadonlyArray<unknown> =>
  state.conversation.turns.flatMap((turn) => turn._tag === "Assistant" ? Conversation.callsOf(turn) : []).map((call) =>
    call.state._tag === "Settled" && call.state.result
  )

const run = (self: OnCall, ...responses: ReadonlyArray<MockResponse.Input>) =>
  Agent.run(agentWith(self), "Go").pipe(Effect.map(results), Effect.provide(reply(...responses, "Done.")))

const blocked = (guardrail: string, reason: string) => `Guardrail "${guardrail}" blocked this call: ${reason}`

describe("A list of allowed tools", () => {
  it.effect("lets no other be called", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* run(Guardrail.toolAllowList(["look"]), all(look(1), wait(1))), [
        "seen",
        blocked("toolAllowList", "\"wait\" isn't allowed")
      ])
      assert.deepStrictEqual(yield* run(Guardrail.toolAllowList([]), look(1)), [
        blocked("toolAllowList", "\"look\" isn't allowed")
      ])
    }))
})

describe("A limit of calls", () => {
  it.effect("counts all that the model asked for in the run, in its order", () =>
    Effect.gen(function*() {
      const reason = "no more than 3 calls are allowed"
      assert.deepStrictEqual(
        yield* run(Guardrail.maxToolCalls(3), look(1), all(wait(1), look(2), wait(2)), look(3)),
        ["seen", "waited", "seen", blocked("maxToolCalls", reason), blocked("maxToolCalls", reason)]
      )
    }))

  it.effect("may count those of one tool", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(
        yield* run(Guardrail.maxToolCalls(1, "look"), all(wait(1), look(1), look(2)), wait(2)),
        ["waited", "seen", blocked("maxToolCalls", "no more than 1 call of \"look\" is allowed"), "waited"]
      )
      assert.deepStrictEqual(yield* run(Guardrail.maxToolCalls(0, "look"), look(1)), [
        blocked("maxToolCalls", "no more than 0 calls of \"look\" are allowed")
      ])
    }))

  it.effect("counts anew from each input of a user, and goes on where a run does", () =>
    Effect.gen(function*() {
      const agent = agentWith(Guardrail.maxToolCalls(1))
      const state = yield* Agent.runMultiTurn(agent, ["Go", "Again"]).pipe(
        Effect.provide(reply(look(1), "Done.", look(2), look(3), "Done."))
      )
      assert.deepStrictEqual(results(state), [
        "seen",
        "seen",
        blocked("maxToolCalls", "no more than 1 call is allowed")
      ])
      const stopped = yield* Effect.flip(
        Agent.run(agent, "Go").pipe(Effect.provide(reply(look(1), MockResponse.httpError(500))))
      )
      if (stopped._tag !== "AgentError") return assert.fail(stopped._tag)
      const resumed = yield* Agent.resume(agent, AgentState.reopen(stopped.state)).pipe(
        Effect.provide(reply(look(2), "Done."))
      )
      assert.deepStrictEqual(results(resumed), [
        "seen",
        blocked("maxToolCalls", "no more than 1 call is allowed")
      ])
    }))

  it("is a whole number from 0 on", () => {
    for (const limit of [-1, 0.5, Number.NaN, Infinity]) {
      assert.throws(() => Guardrail.maxToolCalls(limit), Guardrail.InvalidOption)
    }
  })
})

describe("No repetition", () => {
  const again = blocked("noRepeat", "\"look\" was called with the same parameters before")

  it.effect("lets a call be made once with the same parameters, whatever the order of their keys", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(
        yield* run(
          Guardrail.noRepeat(),
          look({ x: 1, y: [1, { a: null, b: "c" }] }),
          look({ y: [1, { b: "c", a: null }], x: 1 })
        ),
        ["seen", again]
      )
    }))

  it.effect("lets other parameters, other tools, and orders that say something pass", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(
        yield* run(
          Guardrail.noRepeat(),
          look([1, 2]),
          all(look([2, 1]), wait([1, 2]), look([1, "2"])),
          all(look({ x: 1 }), look({ x: 1, y: null }), look(null), look({}))
        ),
        ["seen", "seen", "waited", "seen", "seen", "seen", "seen", "seen"]
      )
    }))

  it.effect("counts calls of the same answer in their order, and more than one where it is told to", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* run(Guardrail.noRepeat(), all(look(1), look(1), look(2))), ["seen", again, "seen"])
      assert.deepStrictEqual(yield* run(Guardrail.noRepeat(2), look(1), look(1), look(2), look(1)), [
        "seen",
        "seen",
        "seen",
        blocked("noRepeat", "\"look\" was called with the same parameters 2 times")
      ])
    }))

  it.effect("counts anew from each input of a user", () =>
    Effect.gen(function*() {
      const state = yield* Agent.runMultiTurn(agentWith(Guardrail.noRepeat()), ["Go", "Again"]).pipe(
        Effect.provide(reply(look(1), "Done.", look(1), "Done."))
      )
      assert.deepStrictEqual(results(state), ["seen", "seen"])
    }))

  it("is of a whole number from 1 on", () => {
    for (const times of [0, -1, 1.5]) assert.throws(() => Guardrail.noRepeat(times), Guardrail.InvalidOption)
  })
})
