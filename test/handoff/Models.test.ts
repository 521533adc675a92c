import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, ExecutionPlan, Layer, Schema } from "effect"
import { Tool, Toolkit } from "effect/ai"
import { Agent, AgentState, Group, Handoff, HandoffPolicy } from "troupe"
import { MockModel, MockResponse } from "troupe/testing"
import { callsIn } from "../domain/legal.ts"

const { toolCall } = MockResponse

const model = (...responses: ReadonlyArray<MockResponse.Input>) =>
  Layer.fresh(MockModel.layer(MockModel.queue(...responses)))

describe("An agent that takes over", () => {
  it.effect("asks the environment's model though the one before it had a plan", () =>
    Effect.gen(function*() {
      const a = Agent.make("a").pipe(Agent.withModel(ExecutionPlan.make({
        provide: model(toolCall("handoff_to_b", {}), "The plan's")
      })))
      const group = Group.make({ a, b: Agent.make("b") }, { start: "a", policy: HandoffPolicy.explicit("b") })
      const state = yield* Agent.run(group, "Hi").pipe(Effect.provide(model("The environment's")))
      assert.deepStrictEqual([state.agent, AgentState.text(state)], ["b", "The environment's"])
    }))

  it.effect("runs its tools with the services that they were made with, whatever the model before it brought", () =>
    Effect.gen(function*() {
      class Label extends Context.Service<Label, string>()("test/Label") {}
      const Tools = Toolkit.make(Tool.make("label", { success: Schema.String }))
      const handlers = Tools.toLayer({ label: () => Effect.map(Label, (label) => label) as Effect.Effect<string> })
        .pipe(Layer.provide(Layer.succeed(Label, "outer")))
      const inner = Layer.merge(
        model(toolCall("label", {}), toolCall("handoff_to_b", {})),
        Layer.succeed(Label, "inner")
      ) as ReturnType<typeof model>
      const a = Agent.make("a", { toolkit: Tools }).pipe(Agent.withModel(inner))
      const group = Group.make({ a, b: Agent.make("b", { toolkit: Tools }) }, {
        start: "a",
        policy: HandoffPolicy.explicit("b")
      })
      const state = yield* Agent.run(group, "Hi").pipe(
        Effect.provide([handlers, model(toolCall("label", {}), "Done.")])
      )
      assert.strictEqual(AgentState.text(state), "Done.")
      const labels = callsIn(state.conversation).filter(({ name }) => name === "label")
      assert.deepStrictEqual(labels.map(({ state }) => state._tag === "Settled" && state.result), ["inner", "outer"])
    }))

  it.effect("is named by what goes wrong from its first step on", () =>
    Effect.gen(function*() {
      const b = Agent.make("b").pipe(Agent.withModel(Layer.effectContext(Effect.fail("no key" as const))))
      const a = Agent.make("a", { toolkit: Toolkit.make(Tool.make("look")), handoffs: [Handoff.to(b)] })
      const state = yield* Agent.settle(a, "Hi").pipe(
        Effect.provide(model(toolCall("look", {}), toolCall("look", {}), toolCall("handoff_to_b", {}))),
        Effect.provide(Toolkit.make(Tool.make("look")).toLayer({ look: () => Effect.void }))
      )
      assert.deepStrictEqual(
        state.status._tag === "Failed" &&
          [state.status.error.agent, state.status.error.step, state.status.error.message],
        ["b", 0, "no key"]
      )
    }))
})

describe("A state that has ended", () => {
  it.effect("needs no model to be resumed", () =>
    Effect.gen(function*() {
      const a = Agent.make("a")
      const done = yield* Agent.run(a, "Hi").pipe(Effect.provide(model("Done.")))
      const keyless = Agent.withModel(a, Layer.effectContext(Effect.fail("no key" as const)))
      assert.deepStrictEqual(yield* Agent.resume(keyless, done), done)
    }))
})
