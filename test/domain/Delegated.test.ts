import { assert, describe, it } from "@effect/vitest"
import { pipe } from "effect"
import { AgentEvent, AgentState, Conversation } from "troupe"

const { ModelResponded, RunStarted, ToolCallSettled } = AgentEvent.AgentEvent.cases

const envelope = { step: 0, sequence: 0, at: 0 } as const

/** An agent answers by a call of a helper, and that by one of its own. */
const called = (path: [string, ...Array<string>], calls: ReadonlyArray<string>, id: string) => [
  RunStarted.make({ ...envelope, path, calls, input: [{ _tag: "Text", text: `to ${path.at(-1)}` }] }),
  ModelResponded.make({
    ...envelope,
    path,
    calls,
    parts: [{ _tag: "Call", id, name: "helper", params: {}, state: { _tag: "Pending" } }],
    usage: {},
    finishReason: "tool-calls"
  })
]

const state = [
  ...called(["lead"], [], "x"),
  ...called(["lead", "helper"], ["x"], "y"),
  ...called(["lead", "helper", "scout"], ["x", "y"], "z")
].reduce(AgentState.reduce, AgentState.make("lead"))

describe("AgentState.at", () => {
  it("gives the state of the agent that calls lead to, at any depth", () => {
    assert.strictEqual(AgentState.at(state, []), state)
    assert.deepStrictEqual([["x"], ["x", "y"]].map((calls) => pipe(state, AgentState.at(calls))?.agent), [
      "helper",
      "scout"
    ])
    const scout = AgentState.at(state, ["x", "y"])
    assert.deepStrictEqual(scout?.conversation.turns.slice(0, 1).map(Conversation.textOf), ["to scout"])
  })

  it("gives nothing where a call isn't there, hasn't begun, or is settled", () => {
    for (const calls of [["a"], ["y"], ["x", "z"], ["x", "y", "z"]]) {
      assert.isUndefined(AgentState.at(state, calls), calls.join("/"))
    }
    const settled = AgentState.reduce(
      state,
      ToolCallSettled.make({
        ...envelope,
        path: ["lead"],
        calls: [],
        callId: "x",
        name: "helper",
        outcome: "Succeeded",
        result: "Done.",
        duration: 0
      })
    )
    assert.isUndefined(AgentState.at(settled, ["x"]))
  })
})
