import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { Tool, Toolkit } from "effect/ai"
import { Agent, AgentState, Handoff, Mode } from "troupe"
import { type Defined, definitionOf } from "../../../src/agent/definition/AgentDefinition.ts"
import { requestIn } from "../../../src/agent/rules/OfferedTools.ts"

const toolkit = Toolkit.make(Tool.make("look"), Tool.make("dig", { success: Schema.String }))

const asked = AgentState.ask(AgentState.make("a"), "Hello.", 0)
const answered = { ...asked, run: { ...asked.run, iteration: 1 } }

const choiceIn = (agent: Defined, state: AgentState.AgentState, isChangingModes = false) =>
  requestIn(definitionOf(agent), state, isChangingModes).toolChoice

describe("OfferedTools", () => {
  it("makes no request anew while the state changes nothing that is offered", () => {
    const agent = Agent.make("a", { toolkit, toolChoice: "required" })
    const definition = definitionOf(agent)
    assert.strictEqual(requestIn(definition, asked, false), requestIn(definition, asked, false))
    assert.strictEqual(requestIn(definition, answered, false), requestIn(definition, answered, false))
  })

  it("lets a choice that forces a call count for the first request of a run", () => {
    const agent = Agent.make("a", { toolkit, toolChoice: { tool: "look" } })
    assert.deepStrictEqual(choiceIn(agent, asked), { tool: "look" })
    assert.deepStrictEqual(choiceIn(agent, answered), "auto")
  })

  it("offers only the tools that settings name", () => {
    const agent = Agent.make("a", { toolkit })
    assert.deepStrictEqual(choiceIn(agent, { ...asked, settings: { tools: ["dig"] } }), {
      mode: "auto",
      oneOf: ["dig"]
    })
  })

  it("offers no handoff and no mode while a mode is set up or cleaned up", () => {
    const research = Mode.make("research", { enter: () => Effect.void, invokable: true })
    const agent = Agent.make("a", { toolkit, handoffs: [Handoff.to(Agent.make("b"))], modes: [research] })
    assert.deepStrictEqual(choiceIn(agent, asked), {
      mode: "auto",
      oneOf: ["look", "dig", "handoff_to_b", "enter_research_mode"]
    })
    assert.deepStrictEqual(choiceIn(agent, asked, true), { mode: "auto", oneOf: ["look", "dig"] })
  })

  it("offers nothing but the final answer once a limit allows one more answer", () => {
    const agent = Agent.make("a", { toolkit, output: Schema.Finite })
    const landing = { ...answered, run: { ...answered.run, landing: 1 } }
    assert.deepStrictEqual(choiceIn(agent, landing), { mode: "auto", oneOf: ["final_answer"] })
  })
})
