import { assert, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { Agent, AgentState } from "troupe"
import { MockModel, MockResponse } from "troupe/testing"
import { desk, Orders, ToolsLive } from "./desk.ts"

it.effect("the desk looks an order up before it answers", () =>
  Effect.gen(function*() {
    const state = yield* Agent.run(desk, "Where is order 7?")
    const [, second] = yield* MockModel.calls

    assert.strictEqual(AgentState.text(state), "It was shipped on Monday.")
    assert.deepStrictEqual(second?.request.lastToolResults.map(({ result }) => result), ["shipped on Monday"])
  }).pipe(
    Effect.provide(ToolsLive.pipe(Layer.provide(Orders.layer))),
    Effect.provide(MockModel.layer(MockModel.queue(
      MockResponse.toolCall("find_order", { id: 7 }),
      "It was shipped on Monday."
    )))
  ))
