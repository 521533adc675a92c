import { assert, describe, it } from "@effect/vitest"
import { Result, Struct } from "effect"
import { AgentStatus } from "troupe"

const Status = AgentStatus.AgentStatus

describe("AgentStatus", () => {
  it("reaches every status from the first one", () => {
    const reached = new Set<keyof typeof AgentStatus.moves>(["InProgress"])
    for (const from of reached) for (const to of AgentStatus.moves[from]) reached.add(to)
    assert.deepStrictEqual([...reached].sort(), Struct.keys(Status.cases).sort())
  })

  it("has a way on from every status: a conversation outlives a run", () => {
    for (const [from, to] of Object.entries(AgentStatus.moves)) assert.isAbove(to.length, 0, from)
  })

  it("counts staying as no move", () => {
    for (const [from, to] of Object.entries<ReadonlyArray<string>>(AgentStatus.moves)) assert.notInclude(to, from)
  })

  it.prop("makes a move exactly when the table lists it", [Status, Status], ([from, to]) => {
    const moved = AgentStatus.moveTo(from, to)
    assert.strictEqual(Result.isSuccess(moved), AgentStatus.moves[from._tag].includes(to._tag))
    if (Result.isSuccess(moved)) assert.strictEqual(moved.success, to)
    assert.deepStrictEqual(AgentStatus.moveTo(to)(from), moved)
  })

  it.prop("ends a run exactly in Complete and Failed", [Status], ([status]) => {
    assert.strictEqual(AgentStatus.isTerminal(status), status._tag === "Complete" || status._tag === "Failed")
  })

  it("names both statuses and the moves there are in the error", () => {
    const requested = AgentStatus.handoffRequested({ target: "billing" })
    const error = Result.getOrThrow(Result.flip(AgentStatus.moveTo(requested, AgentStatus.complete)))
    assert.strictEqual(error._tag, "IllegalMove")
    assert.strictEqual(
      error.message,
      `An agent can't go from "HandoffRequested" to "Complete"; ` +
        `from "HandoffRequested" it can go to "InProgress", "WaitingForTools", "Failed"`
    )
  })

  it("holds what a failure and a handoff are about", () => {
    const error = { tag: "StepLimitReached", message: "too long", agent: "triage", step: 3 }
    assert.deepStrictEqual(AgentStatus.failed(error), { _tag: "Failed", error })
    const request = { target: "billing", callId: "c1", reason: "an invoice" }
    assert.deepStrictEqual(AgentStatus.handoffRequested(request), { _tag: "HandoffRequested", request })
  })
})
