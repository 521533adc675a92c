import { assert, describe, it } from "@effect/vitest"
import { AgentState, AgentStatus, Conversation } from "troupe"
import { state } from "./arbitraries.ts"
import { callsIn, places } from "./legal.ts"

const withCalls = (...states: ReadonlyArray<Conversation.CallState>): AgentState.AgentState => ({
  ...AgentState.make("triage"),
  status: AgentStatus.waitingForTools,
  conversation: Conversation.make([{
    _tag: "Assistant",
    agent: "triage",
    parts: states.map((state, index) => ({ _tag: "Call", id: `c${index}`, name: "tool", params: {}, state })),
    usage: {},
    finishReason: "tool-calls"
  }])
})

const pending: Conversation.CallState = { _tag: "Pending" }
const approved: Conversation.CallState = { _tag: "Approved" }
const awaiting: Conversation.CallState = { _tag: "AwaitingApproval" }
const awaitingResult: Conversation.CallState = { _tag: "AwaitingResult" }
const answered: Conversation.CallState = { _tag: "Answered", outcome: "Succeeded", result: 1 }
const settled: Conversation.CallState = { _tag: "Settled", outcome: "Succeeded", result: 1 }
const delegated = (child: AgentState.AgentState): Conversation.CallState => ({ _tag: "Delegated", child })

const withStatus = (status: AgentStatus.AgentStatus): AgentState.AgentState => ({
  ...AgentState.make("triage"),
  status
})

const request = { target: "billing", callId: "c0" }
const error = { tag: "Defect", message: "", agent: "triage", step: 0 }

describe("AgentState.next", () => {
  it.each<[string, AgentState.AgentState, AgentState.Command]>([
    ["asks the model where it speaks next", AgentState.make("triage"), { _tag: "AskModel" }],
    ["hands over where another agent is asked for", withStatus(AgentStatus.handoffRequested(request)), {
      _tag: "HandOver",
      request
    }],
    ["stops where the run ended well", withStatus(AgentStatus.complete), { _tag: "Stop" }],
    ["stops where it failed", withStatus(AgentStatus.failed(error)), { _tag: "Stop" }],
    ["runs open calls in their order", withCalls(pending, settled, approved), {
      _tag: "RunCalls",
      callIds: ["c0", "c2"]
    }],
    ["runs around those that await approval", withCalls(awaiting, pending), { _tag: "RunCalls", callIds: ["c1"] }],
    ["awaits approval where nothing else is open", withCalls(settled, awaiting), { _tag: "Await" }],
    ["awaits results and approvals where nothing else is open", withCalls(awaitingResult, awaiting), { _tag: "Await" }],
    ["takes a result that was given, and runs around those that aren't", withCalls(awaitingResult, answered), {
      _tag: "RunCalls",
      callIds: ["c1"]
    }],
    ["awaits with a called agent that awaits a result", withCalls(delegated(withCalls(awaitingResult))), {
      _tag: "Await"
    }],
    ["goes on with a called agent that was given one", withCalls(delegated(withCalls(answered, awaitingResult))), {
      _tag: "RunCalls",
      callIds: ["c0"]
    }],
    ["goes on with a called agent that can go on", withCalls(delegated(AgentState.make("billing"))), {
      _tag: "RunCalls",
      callIds: ["c0"]
    }],
    ["awaits with a called agent that awaits", withCalls(delegated(withCalls(awaiting))), { _tag: "Await" }],
    ["awaits with one two deep", withCalls(delegated(withCalls(settled, delegated(withCalls(awaiting))))), {
      _tag: "Await"
    }],
    ["goes on with one two deep", withCalls(awaiting, delegated(withCalls(delegated(withCalls(awaiting, approved))))), {
      _tag: "RunCalls",
      callIds: ["c1"]
    }],
    ["settles the call of an agent that has ended", withCalls(delegated(withStatus(AgentStatus.complete))), {
      _tag: "RunCalls",
      callIds: ["c0"]
    }]
  ])("%s", (_name, state, command) => {
    assert.deepStrictEqual(AgentState.next(state), command)
  })

  it.prop("runs only open calls, in the model's order", [state], ([state]) => {
    const command = AgentState.next(state)
    if (command._tag !== "RunCalls") return
    const open = Conversation.openCalls(state.conversation).map((call) => call.id)
    assert.isAbove(command.callIds.length, 0)
    assert.deepStrictEqual(command.callIds, open.filter((id) => command.callIds.includes(id)))
  })

  it.prop("awaits exactly while every way on leads to an approval or a result", [state], ([state]) => {
    // A call that has ended the run leads to its failure, whatever else is open.
    const waits = ({ run, status }: AgentState.AgentState) =>
      status._tag === "WaitingForTools" && run.fatal === undefined
    const open = (self: AgentState.AgentState): ReadonlyArray<Conversation.CallState> =>
      callsIn(self.conversation).flatMap((call) =>
        call.state._tag === "Delegated" && waits(call.state.child)
          ? open(call.state.child)
          : call.state._tag === "Settled"
          ? []
          : [call.state]
      )
    const isAwaiting = waits(state) &&
      open(state).every(({ _tag }) => _tag === "AwaitingApproval" || _tag === "AwaitingResult")
    assert.strictEqual(AgentState.next(state)._tag === "Await", isAwaiting)
  })

  it.prop("never awaits where nobody can approve or give a result", [state], ([state]) => {
    for (const place of places(state)) {
      if (AgentState.next(place.state)._tag !== "Await") continue
      assert.isAbove(
        AgentState.pendingApprovals(place.state).length + AgentState.pendingResults(place.state).length,
        0
      )
    }
  })
})
