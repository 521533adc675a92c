import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { AgentState, Conversation } from "troupe"
import { withUniqueIds } from "../../src/domain/CallIds.ts"
import * as TakenIds from "../../src/domain/TakenIds.ts"
import { times } from "../matrix.ts"
import { state } from "./arbitraries.ts"
import { choices, live } from "./lives.ts"

/** Gives the id that a model's call gets in a state. */
const given = (state: AgentState.AgentState, id: string): string => {
  const [call] = withUniqueIds([Conversation.call(id, "pay", {})], TakenIds.of(state))
  return call?._tag === "Call" ? call.id : ""
}

const throughText = (state: AgentState.AgentState) =>
  Result.getOrThrow(AgentState.fromJson(JSON.stringify(AgentState.toJson(state))))

const forgetting = (ids: ReadonlyArray<string>, from = AgentState.make("desk")) =>
  TakenIds.retire(TakenIds.retire(from, ids), Array.from({ length: 1000 }, (_, at) => `young-${at}-${ids.length}`))

/** Ids that models write: anew in each conversation, at random, like those that they read, and some that nobody should. */
const models: ReadonlyArray<(n: number, last: string) => string> = [
  () => "p",
  (n) => `call_${(n % 40).toString(36)}`,
  (n) => `toolu_${(n * 2654435761 % 2 ** 32).toString(16)}x${n}`,
  (_, last) => last,
  (_, last) => last.replace(/\d+$/, (number) => String(Number(number) + 1)),
  (n) => `p-n${n}`,
  () => "p-n999999999999999",
  () => "p-n999999999999999999999",
  () => ""
]

describe("Ids of calls that are gone", () => {
  it("are never given again, whatever a model writes and however many there were", () => {
    let state = AgentState.make("desk")
    const seen = new Set<string>()
    let last = "p"
    for (let n = 0; n < 6000; n++) {
      const id = given(state, models[(n * 7 + (n >> 3)) % models.length]!(n, last))
      assert.isFalse(seen.has(id), `${id}, the call ${n}`)
      assert.match(id, /^[\w-]+$/)
      seen.add(id)
      last = id.length > 40 ? "p" : id
      state = TakenIds.retire(state, [id])
      if (n % 500 === 0) state = throughText(state)
    }
    assert.isBelow(JSON.stringify(state).length, 60_000)
    assert.isAtMost(state.retired?.length ?? 0, 1000)
  })

  it("don't change the ids that providers make up, but for one in many", () => {
    const ids = Array.from({ length: 6000 }, (_, n) => `call_${(n * 2654435761 % 2 ** 32).toString(36)}_${n}`)
    const state = forgetting(ids.slice(0, 5000))
    const changed = ids.slice(5000).filter((id) => given(state, id) !== id)
    assert.isBelow(changed.length, 30)
    assert.isTrue(ids.slice(0, 4000).every((id) => given(state, id) === `${id}-n1`))
  })

  it("get numbers that only grow once they are forgotten, also where all might be", () => {
    const numbers = forgetting(["p-n7", "q"])
    assert.deepStrictEqual(["p", "p-n7", "q", "q-n3", "q-n8", "fresh"].map((id) => given(numbers, id)), [
      "p",
      "p-n7-n8",
      "q-n8",
      "q-n3-n8",
      "q-n8",
      "fresh"
    ])
    const ids = btoa("\xff".repeat(8192))
    const full = { ...AgentState.make("desk"), forgotten: { ids, last: 41 } }
    assert.deepStrictEqual([given(full, "fresh"), given(throughText(full), "fresh")], ["fresh-n42", "fresh-n42"])
  })

  it("are those of called agents too, when these are settled or go away", () => {
    const child = forgetting(["p-n3", "p"], AgentState.make("clerk"))
    const parent = TakenIds.retireAll(forgetting(["x-n9"]), child)
    assert.deepStrictEqual([given(parent, "p"), given(parent, "young-5-2"), given(parent, "x-n9")], [
      "p-n10",
      "young-5-2-2",
      "x-n9-n10"
    ])
    const call = { ...Conversation.call("c", "clerk", {}), state: { _tag: "Delegated", child } } as const
    const conversation = Conversation.make([
      { _tag: "User", parts: [Conversation.text("Go.")] },
      { _tag: "Assistant", agent: "desk", parts: [call], usage: {}, finishReason: "tool-calls" }
    ])
    const waiting = AgentState.make("desk", { conversation })
    assert.strictEqual(given(waiting, "p"), "p-n4")
    const edited = throughText(AgentState.editAt(waiting, 0, "Something else."))
    assert.deepStrictEqual([given(edited, "p"), given(edited, "c")], ["p-n4", "c-2"])
  })

  it("are read from states that were stored before", () => {
    const document = {
      ...AgentState.toJson(AgentState.make("desk")) as object,
      retired: ["b"],
      retiredBefore: ["a", "p"]
    }
    const state = Result.getOrThrow(AgentState.fromJson(document))
    assert.deepStrictEqual([given(state, "a"), given(state, "b"), given(state, "c")], ["a-2", "b-2", "c"])
    const after = TakenIds.retire(state, ["c"])
    assert.deepStrictEqual([after.retired, after.retiredBefore], [["a", "b", "c", "p"], undefined])
  })

  it("are refused in a document if they can't be read", () => {
    const document = AgentState.toJson(AgentState.make("desk")) as object
    for (const ids of ["", "AAAA", "not base64"]) {
      assert.isTrue(Result.isFailure(AgentState.fromJson({ ...document, forgotten: { ids, last: 0 } })))
    }
  })
})

/** The ids that a model's calls get in a state, one after the other. */
const givenAll = (taken: TakenIds.TakenIds, ids: ReadonlyArray<string>) =>
  withUniqueIds(ids.map((id) => Conversation.call(id, "pay", {})), taken).map((part) =>
    part._tag === "Call" ? part.id : ""
  )

describe("Ids of calls in settled turns", () => {
  it.prop("are kept from run to run, and the same ids are given", [choices, state], ([choices, other]) => {
    const settled = new TakenIds.SettledIds()
    const { states } = live(choices)
    const last = [...TakenIds.of(states[states.length - 1]!).names]
    for (const each of [...states, other, ...states.toReversed()]) {
      const ids = [...TakenIds.of(each).names, ...last]
      const asked = ids.flatMap((id) => [id, `${id}-2`]).concat("fresh", "fresh", "")
      const kept = givenAll(TakenIds.of(each, undefined, settled), asked)
      assert.deepStrictEqual(kept, givenAll(TakenIds.of(each), asked))
    }
  }, { arbitrary: { runs: times(60, 25) } })

  it("are numbered on from those before", () => {
    const answers = ["p", "p-2", "p-n9", "q"].map((id) =>
      Conversation.assistant("desk", [Conversation.call(id, "pay", {})])
    )
    const after = {
      ...AgentState.make("desk"),
      conversation: Conversation.make([Conversation.user("Pay."), ...answers])
    }
    const settled = new TakenIds.SettledIds()
    const given = givenAll(TakenIds.of(after, undefined, settled), ["p", "x-n3", "x-n10"])
    assert.deepStrictEqual(given, ["p-3", "x-n3-n10", "x-n10-n11"])
  })

  it("are read once, while turns are only added", () => {
    let reads = 0
    const answer = (n: number) => {
      const { parts, ...turn } = Conversation.assistant("desk", [
        Conversation.call(`c${n}`, "pay", {}, { _tag: "Settled", outcome: "Succeeded", result: 1 })
      ])
      return {
        ...turn,
        get parts() {
          reads++
          return parts
        }
      }
    }
    const settled = new TakenIds.SettledIds()
    let turns = Array.from({ length: 100 }, (_, n) => answer(n))
    const first = { ...AgentState.make("desk"), conversation: { turns } }
    assert.strictEqual(TakenIds.of(first, undefined, settled).another("c7"), "c7-2")
    reads = 0
    turns = [...turns, answer(100)]
    const taken = TakenIds.of({ ...first, conversation: { turns } }, undefined, settled)
    assert.deepStrictEqual([taken.has("c7"), taken.has("c99"), taken.has("c100"), taken.has("c101")], [
      true,
      true,
      true,
      false
    ])
    assert.isBelow(reads, 6)
  })
})
