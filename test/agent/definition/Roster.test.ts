import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { Tool, Toolkit } from "effect/ai"
import { Agent, AgentState, Handoff, Mode } from "troupe"
import { MockModel } from "troupe/testing"
import { rosterOf } from "../../../src/agent/definition/Roster.ts"
import { requestIn } from "../../../src/agent/rules/OfferedTools.ts"

const look = Tool.make("look", { success: Schema.String })

/** What each agent of a roster sends as its toolkit, and what it offers in that. */
const sent = (agent: Agent.Any) =>
  Array.from(rosterOf(agent).agents.values(), (each) => {
    const { toolChoice, toolkit } = requestIn(each, AgentState.make(each.name), false)
    return [each.name, Object.keys(toolkit.tools), toolChoice]
  })

describe("A roster", () => {
  it("lets agents that take turns send one toolkit, in which each offers its own tools", () => {
    const diver = Agent.make("diver", { toolkit: Toolkit.make(Tool.make("dive"), look) })
    const guide = Agent.make("guide", { toolkit: Toolkit.make(look), handoffs: [Handoff.to(diver)] })
    const all = ["look", "handoff_to_diver", "dive"]
    assert.deepStrictEqual(sent(guide), [
      ["guide", all, { mode: "auto", oneOf: ["look", "handoff_to_diver"] }],
      ["diver", all, { mode: "auto", oneOf: ["dive", "look"] }]
    ])
  })

  it.effect("lets each agent send its own toolkit if two tools of one name have different schemas", () =>
    Effect.gen(function*() {
      const Depths = Toolkit.make(Tool.make("look", { success: Schema.Finite }))
      const withHandlers = yield* Effect.provide(Depths, Depths.toLayer({ look: () => Effect.succeed(20) }))
      const diver = Agent.make("diver", { toolkit: withHandlers })
      const guide = Agent.make("guide", { toolkit: Toolkit.make(look), handoffs: [Handoff.to(diver)] })
      assert.deepStrictEqual(sent(guide), [
        ["guide", ["look", "handoff_to_diver"], "auto"],
        ["diver", ["look"], "auto"]
      ])
    }))

  it("has no agent with two tools of one name, though modes may bring the same tool", () => {
    const mode = (name: string, tool: Tool.Any) =>
      Mode.make(name, { enter: () => Effect.void, toolkit: Toolkit.make(tool) })
    const make = (first: Tool.Any, second: Tool.Any) => () =>
      Agent.make("guide", { modes: [mode("by day", first), mode("by night", second)] })
    assert.doesNotThrow(make(look, look))
    assert.throws(make(look, Tool.make("look", { success: Schema.String })), Agent.DuplicateTool)
  })

  it.effect("has one state to begin with and one path for all conversations, which no program can change", () =>
    Effect.gen(function*() {
      const guide = Agent.make("guide")
      const paths: Array<ReadonlyArray<string>> = []
      const observer: Agent.Observer = ({ path }) => Effect.sync(() => paths.push(path))
      const begun = yield* Agent.runMultiTurn(guide, [])
      const state = yield* Agent.observe(Agent.run(guide, "Hi"), observer)
      const lists = [
        begun.trail,
        begun.modes,
        begun.prompt,
        begun.logs,
        begun.conversation.turns,
        state.trail,
        ...paths
      ]
      for (const list of lists) assert.throws(() => (list as Array<unknown>).push("else"), TypeError)
      assert.throws(() => Object.assign(begun, { steps: 5 }), TypeError)
      assert.throws(() => Object.assign(begun.run, { steps: 5 }), TypeError)
      assert.deepStrictEqual(yield* Agent.runMultiTurn(guide, []), AgentState.make("guide"))
    }).pipe(Effect.provide(MockModel.layer(MockModel.queue("Hi")))))
})
