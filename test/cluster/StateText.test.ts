import { assert, describe, it } from "@effect/vitest"
import { AgentState, Conversation } from "troupe"
import { TextWriter } from "../../src/cluster/StateText.ts"
import { state } from "../domain/arbitraries.ts"
import { choices, live } from "../domain/lives.ts"
import { times } from "../matrix.ts"

/** Whether the engine itself reads a text as it wrote it: see `test/domain/StateJson.test.ts`. */
const isReadable = (text: string): boolean => JSON.stringify(JSON.parse(text)) === text

describe("The text of a state", () => {
  it.prop("is the same written with what was written before", [choices, state], ([choices, state]) => {
    const writer = new TextWriter()
    const { states } = live(choices)
    for (const each of [...states, state, ...states.toReversed()]) {
      const text = writer.write(each)
      assert.match(text, /^\{"version":1,/)
      if (isReadable(text)) assert.deepStrictEqual(JSON.parse(text), AgentState.toJson(each))
    }
  }, { arbitrary: { runs: times(60, 25) } })

  it("encodes a settled turn once where its states are written one after the other", () => {
    let reads = 0
    const counted = (): Conversation.Turn => ({
      _tag: "Feedback",
      get text() {
        reads++
        return "Go on."
      }
    })
    const writer = new TextWriter()
    let turns = Array.from({ length: 100 }, counted)
    const add = (): void => {
      turns = [...turns, Conversation.assistant("desk", "Yes.")]
      writer.write({ ...AgentState.make("desk"), conversation: { turns } })
    }
    add()
    const first = reads
    for (let n = 0; n < 10; n++) add()
    assert.strictEqual(reads, first)
    assert.isAbove(first, 99)
  })
})
