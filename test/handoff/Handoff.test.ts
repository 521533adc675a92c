import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { Agent, AgentState, Handoff } from "troupe"
import { MockModel, MockResponse } from "troupe/testing"

describe("Handoff", () => {
  it.effect("lets the target answer", () =>
    Effect.gen(function*() {
      const refunds = Agent.make("refunds", { description: "Refunds and returns", instructions: "Settle refunds." })
      const triage = Agent.make("triage", {
        instructions: "Send the customer to the right desk.",
        handoffs: [Handoff.to(refunds, { reason: "Refund and return requests" })]
      })
      const state = yield* Agent.run(triage, "I want my money back.")
      assert.deepStrictEqual([state.agent, AgentState.text(state), state.trail], [
        "refunds",
        "Your refund is on its way.",
        ["triage", "refunds"]
      ])
    }).pipe(Effect.provide(MockModel.layer(MockModel.byAgent({
      triage: MockModel.queue(MockResponse.toolCall("handoff_to_refunds", { reason: "wants a refund" })),
      refunds: MockModel.queue("Your refund is on its way.")
    })))))
})
