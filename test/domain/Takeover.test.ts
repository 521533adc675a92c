import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { AgentEvent, AgentState, AgentStatus, Conversation } from "troupe"
import { problems } from "./legal.ts"

const { HandoffCompleted, HandoffRequested, RunStarted, ToolCallSettled } = AgentEvent.AgentEvent.cases
const here = { path: ["triage"], calls: [], step: 0, sequence: 0, at: 0 } as const
const request = { target: "billing", callId: "h", reason: "money" }

/** Two calls are open: one asks for a handoff, one looks something up. */
const open = AgentState.withConversation(
  AgentState.ask(AgentState.make("triage"), "Hello", 0),
  Conversation.make([
    Conversation.user("Hello"),
    Conversation.assistant("triage", [
      Conversation.call("h", "handoff_to_billing", {}),
      Conversation.call("l", "look", {})
    ])
  ])
)
const requested = AgentState.reduce(open, HandoffRequested.make({ ...here, request }))

const throughJson = (state: AgentState.AgentState) => Result.getOrThrow(AgentState.fromJson(AgentState.toJson(state)))

const callsOf = (state: AgentState.AgentState) => {
  const turn = Conversation.lastAssistant(state.conversation)
  return turn === undefined ? [] : Conversation.callsOf(turn)
}

describe("A handoff that was asked for", () => {
  it("is asked for by an open call, of a run that hasn't failed", () => {
    assert.deepStrictEqual(requested.status, AgentStatus.handoffRequested(request))
    const unknown = HandoffRequested.make({ ...here, request: { ...request, callId: "other" } })
    assert.strictEqual(AgentState.reduce(open, unknown), open)
    const failed = { ...open, status: AgentStatus.failed({ tag: "x", message: "", agent: "triage", step: 0 }) }
    assert.strictEqual(AgentState.reduce(failed, HandoffRequested.make({ ...here, request })), failed)
  })

  it("is asked for no more once its call is settled in another way", () => {
    const settled = (callId: string) =>
      ToolCallSettled.make({ ...here, callId, name: "look", outcome: "Failed", result: "no", duration: 0 })
    const without = AgentState.reduce(requested, settled("h"))
    assert.strictEqual(without.status._tag, "WaitingForTools")
    assert.strictEqual(AgentState.reduce(without, settled("l")).status._tag, "InProgress")
    assert.strictEqual(AgentState.reduce(requested, settled("l")).status._tag, "HandoffRequested")
  })

  it("keeps the agent in control of the calls that are open, whoever a new run begins with", () => {
    const input = [Conversation.text("Hurry")]
    for (const state of [open, requested]) {
      const begun = AgentState.reduce(state, RunStarted.make({ ...here, path: ["billing"], input }))
      assert.deepStrictEqual([begun.agent, begun.trail], ["triage", ["triage"]])
    }
    const byPolicy = { ...AgentState.make("triage"), status: AgentStatus.handoffRequested({ target: "billing" }) }
    assert.strictEqual(
      AgentState.reduce(byPolicy, RunStarted.make({ ...here, path: ["sales"], input })).agent,
      "triage"
    )
    const free = AgentState.reduce(AgentState.make("triage"), RunStarted.make({ ...here, path: ["sales"], input }))
    assert.deepStrictEqual([free.agent, free.trail], ["sales", ["sales"]])
  })

  it("leaves no call open behind it", () => {
    const after = AgentState.reduce(requested, HandoffCompleted.make({ ...here, request }))
    assert.deepStrictEqual([after.agent, after.status._tag], ["billing", "InProgress"])
    assert.deepStrictEqual(
      callsOf(after).map(({ id, state }) => [id, state._tag === "Settled" ? state.outcome : state._tag]),
      [["h", "HandedOff"], ["l", "Interrupted"]]
    )
    assert.deepStrictEqual(problems(after.conversation), [])
    assert.deepStrictEqual(throughJson(after), after)
  })

  it("is carried out once, and only as it was asked for", () => {
    const completed = HandoffCompleted.make({ ...here, request })
    assert.strictEqual(AgentState.reduce(open, completed), open)
    const other = HandoffCompleted.make({ ...here, request: { ...request, target: "sales" } })
    assert.strictEqual(AgentState.reduce(requested, other), requested)
    const after = AgentState.reduce(requested, completed)
    assert.strictEqual(AgentState.reduce(after, completed), after)
  })

  it("leaves nobody's call open in what crosses either", () => {
    const conversation = open.conversation
    const after = AgentState.reduce(requested, HandoffCompleted.make({ ...here, request, conversation }))
    assert.isFalse(Conversation.hasOpenCalls(after.conversation))
    assert.deepStrictEqual(throughJson(after), after)
  })
})
