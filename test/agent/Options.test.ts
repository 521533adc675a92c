import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { Agent, Mode } from "troupe"
import { MockModel, MockResponse } from "troupe/testing"

describe("An agent", () => {
  it("can't be with a number that is no limit", () => {
    const options = { maxHandoffs: 0, outputRetries: 0, toolConcurrency: 1, maxInputLength: 1 }
    for (const [option, least] of Object.entries(options)) {
      for (const limit of [least - 1, 1.5, Number.NaN]) {
        assert.throws(
          () => Agent.make("a", { [option]: limit }),
          Agent.InvalidLimit,
          `"${option}" is ${limit}, not a whole number from ${least} on or Infinity`
        )
      }
      Agent.make("a", { [option]: least })
      Agent.make("a", { [option]: Infinity })
    }
    Agent.make("a", { toolConcurrency: "unbounded" })
  })

  it.effect("of any name is a tool that providers take", () =>
    Effect.gen(function*() {
      const tools = ["店長", "the desk", "Zoë", "writer"].map((name) => Agent.asTool(Agent.make(name)))
      for (const { name } of tools) assert.match(name, /^[\w-]{1,64}$/)
      assert.strictEqual(new Set(tools.map(({ name }) => name)).size, 4)
      assert.strictEqual(tools[3]!.name, "writer")
      assert.throws(() => Agent.asTool(Agent.make("a"), { name: "has space" }), Agent.InvalidName)
      const desk = Agent.asTool(Agent.make("the desk"))
      yield* Agent.run(Agent.make("boss", { agents: [desk], toolChoice: { tool: "the desk" } }), "Go")
      const [call] = yield* MockModel.calls
      assert.deepStrictEqual(call?.request.toolChoice, { tool: "the_desk" })
    }).pipe(Effect.provide(MockModel.layer(MockModel.repeat(MockResponse.text("Done."))))))
})

describe("A mode", () => {
  it("can't be of an isolation or an invocation that isn't there", () => {
    const enter = () => Effect.void
    assert.throws(
      () => Mode.make("m", { isolation: "Fork" as never, enter }),
      Mode.InvalidOption,
      `"isolation" of mode "m" is "Fork", not one of: none, config, thread, fork`
    )
    assert.throws(
      () => Mode.make("m", { invocation: "pop" as never, enter }),
      Mode.InvalidOption,
      "not one of: push, switch"
    )
  })

  it("has a tool of its own in any script", () => {
    const modes = ["調査", "執筆"].map((name) => Mode.make(name, { invokable: true, enter: () => Effect.void }))
    Agent.make("a", { modes })
  })
})
