import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { AgentEvent, AgentState } from "troupe"

const at = { path: ["desk"], calls: [], run: "", step: 0, sequence: 0, at: 0 } as const
const inside = { ...at, path: ["desk", "clerk"], calls: ["call_1"] } as const
const state = AgentState.make("desk")
const error = { tag: "Defect", message: "boom", agent: "desk", step: 0 }

describe("AgentEvent", () => {
  it("says of each start what ends it, and nothing that starts ends anything", () => {
    const ends = Object.values(AgentEvent.starts).flat()
    assert.strictEqual(new Set(ends).size, ends.length)
    for (const start of Object.keys(AgentEvent.starts)) assert.isFalse(ends.some((end) => end === start))
    for (const tag of ends) assert.isTrue(Object.hasOwn(AgentEvent.AgentEvent.cases, tag))
  })

  it("is of no run, and says nothing of where that began, where it was stored before runs had ids", () => {
    const { run: _, ...stored } = { ...at, _tag: "RunStarted" as const }
    const decode = Schema.decodeUnknownSync(Schema.toCodecJson(AgentEvent.AgentEvent))
    assert.deepStrictEqual(decode(stored), { ...stored, run: "" })
    const position = { turns: 4, steps: 2, events: 31 }
    const whole = { ...stored, run: "r1", isReopened: true, position } as const
    assert.deepStrictEqual(decode(whole), whole)
    assert.deepStrictEqual(Schema.encodeSync(Schema.toCodecJson(AgentEvent.AgentEvent))(whole), whole)
  })

  it("tells the end of a whole run from that of a called agent", () => {
    const ends: ReadonlyArray<AgentEvent.AgentEvent> = [
      { ...at, _tag: "RunCompleted", state },
      { ...at, _tag: "RunInterrupted", state },
      { ...at, _tag: "RunFailed", error, state }
    ]
    for (const end of ends) {
      assert.isTrue(AgentEvent.isRunEnd(end))
      assert.isFalse(AgentEvent.isRunEnd({ ...end, path: inside.path, calls: inside.calls }))
    }
    assert.isFalse(AgentEvent.isRunEnd({ ...at, _tag: "StepCompleted" }))
  })
})
