/** A model of an agent that asks the model around the agent. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Schema, Stream } from "effect"
import { LanguageModel, Tool, Toolkit } from "effect/ai"
import { Agent, AgentState } from "troupe"
import { MockModel } from "troupe/testing"

const Kit = Toolkit.make(Tool.make("look", { success: Schema.String }))

/** Asks the model around it, and passes its answers on. */
const passing = Layer.effect(
  LanguageModel.LanguageModel,
  Effect.flatMap(LanguageModel.LanguageModel, (outer) =>
    LanguageModel.make({
      generateText: ({ prompt }) =>
        Effect.map(outer.generateText({ prompt }), ({ text }) =>
          text === "look"
            ? [{ type: "tool-call", id: "1", name: "look", params: {} }]
            : [{ type: "text", text: `${text}!` }]),
      streamText: () => Stream.die("not asked")
    }))
)

describe("A model of an agent that asks the model around it", () => {
  for (
    const [name, agent] of [["with tools", Agent.make("own", { toolkit: Kit })], [
      "without tools",
      Agent.make("own")
    ]] as const
  ) {
    it.effect(
      `gets its answers, before and after a call, ${name}`,
      () =>
        Agent.run(
          Agent.withModel(
            agent as typeof agent & Agent.Agent<"own", string, never, LanguageModel.LanguageModel>,
            passing
          ),
          "Hi"
        ).pipe(
          Effect.map((state) => assert.strictEqual(AgentState.text(state), "Hello!")),
          Effect.provide(Kit.toLayer({ look: () => Effect.succeed("seen") })),
          Effect.provide(MockModel.layer(MockModel.queue("look", "Hello")))
        ),
      5000
    )
  }
})
