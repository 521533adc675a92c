/**
 * What a run has started and not ended, event by event: an end ends its own start, and no other.
 */
import { assert, describe, it } from "@effect/vitest"
import { AgentEvent, Conversation } from "troupe"
import { Laws } from "troupe/testing"

const events = AgentEvent.AgentEvent.cases

const here = (sequence: number) => ({ run: "r", path: ["desk"] as const, calls: [], step: 0, sequence, at: 1000 })

const begin = [
  events.RunStarted.make({ ...here(0), input: [Conversation.text("Hello")] }),
  events.StepStarted.make(here(1))
]

const looks = (sequence: number, callId: string) =>
  events.GuardrailStarted.make({ ...here(sequence), guardrail: "cards", stage: "toolResult", callId })

const looked = (sequence: number, started: number, callId: string) =>
  events.GuardrailSettled.make({
    ...here(sequence),
    guardrail: "cards",
    stage: "toolResult",
    callId,
    started,
    verdict: "Pass",
    duration: 0
  })

const starts = (sequence: number, callId: string) =>
  events.ToolCallStarted.make({ ...here(sequence), callId, name: "look", params: {} })

const settles = (sequence: number, callId: string) =>
  events.ToolCallSettled.make({
    ...here(sequence),
    callId,
    name: "look",
    outcome: "Succeeded",
    result: "found",
    duration: 0
  })

/** What is wrong with the middle of a run, whose own end isn't there. */
const wrongIn = (events: ReadonlyArray<AgentEvent.AgentEvent>): ReadonlyArray<string> =>
  Laws.imbalances(events).filter((each) => each !== "at the end, StepStarted , RunStarted  is open")

describe("What goes on side by side", () => {
  it("is ended by its own end, in any order", () => {
    const orders = [[2, 3], [3, 2]] as const
    for (const [first, second] of orders) {
      const checks = [looked(4, first, `c${first}`), looked(5, second, `c${second}`)]
      assert.deepStrictEqual(wrongIn([...begin, looks(2, "c2"), looks(3, "c3"), ...checks]), [])
    }
    for (const [first, second] of [["a", "b"], ["b", "a"]] as const) {
      const calls = [settles(4, first), settles(5, second)]
      assert.deepStrictEqual(wrongIn([...begin, starts(2, "a"), starts(3, "b"), ...calls]), [])
    }
  })

  it("isn't ended by the end of something else", () => {
    const looking = [...begin, looks(2, "c2"), looks(3, "c3")]
    assert.deepStrictEqual(wrongIn([...looking, looked(4, 2, "c2"), looked(5, 2, "c2")]), [
      "event 5, GuardrailSettled of \"check 2\", ends what isn't open",
      "at the end, GuardrailStarted check 3, StepStarted , RunStarted  is open"
    ])
    assert.deepStrictEqual(wrongIn([...looking, looked(4, 9, "c3")]), [
      "event 4, GuardrailSettled of \"check 9\", ends what isn't open",
      "at the end, GuardrailStarted check 3, GuardrailStarted check 2, StepStarted , RunStarted  is open"
    ])
    assert.deepStrictEqual(wrongIn([...begin, starts(2, "a"), starts(3, "b"), settles(4, "b"), settles(5, "b")]), [
      "event 5, ToolCallSettled of \"b\", ends what isn't open",
      "at the end, ToolCallStarted a, StepStarted , RunStarted  is open"
    ])
  })
})
