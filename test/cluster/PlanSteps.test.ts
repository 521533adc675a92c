/** The log of a plan on a cluster: what its steps cost, and how its state is written. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, PubSub, Result } from "effect"
import { type Answer, fromText } from "../../src/cluster/Answer.ts"
import type { Told } from "../../src/cluster/Journal.ts"
import { kind, type State, type Step } from "../../src/cluster/long/PlanSteps.ts"
import * as StepLog from "../../src/cluster/long/StepLog.ts"
import * as Steps from "../../src/cluster/long/Steps.ts"
import { assertLinear } from "../growth.ts"
import { makeCluster } from "./runners.ts"

const stepsOf = (node: string): ReadonlyArray<Step> => [
  { _tag: "PlaceStarted", place: node, message: "m1", isAgent: true },
  { _tag: "NodeEnded", node, ended: { _tag: "Completed", output: node } }
]

/** The steps that start as many nodes, and then end them. */
const stepsOfMany = (size: number): ReadonlyArray<Step> => {
  const nodes = Array.from({ length: size }, (_, index) => `n${index}`)
  return [0, 1].flatMap((which) => nodes.map((node) => stepsOf(node)[which]!))
}

const readFrom = (text: string) => Result.getOrThrow(Steps.fromText(kind, text))

describe("The steps of a plan on a cluster", () => {
  it("cost as much each in a plan of thousands of nodes as in a small one", () => {
    assertLinear(stepsOfMany, 250, (steps) => void steps.reduce(kind.take, kind.begin))
  })

  it("lead to a state that is read as it was written", () => {
    const error = { tag: "Down", message: "down", agent: "a", step: 0 }
    const steps: ReadonlyArray<Step> = [
      { _tag: "PlanBegun", input: "orders" },
      ...["__proto__", "b"].flatMap(stepsOf),
      { _tag: "PlaceGivenUp", place: "a", error },
      { _tag: "PlaceStarted", place: "a/short", message: "m1", isAgent: true },
      { _tag: "PlaceDecided", place: "a/short", message: "m2", error }
    ]
    const kept = { ...Steps.begin(kind), state: steps.reduce(kind.take, kind.begin) }
    const text = Steps.toText(kind, kept)
    const { state } = JSON.parse(text) as { readonly state: Record<string, object> }
    assert.deepStrictEqual(Object.keys(state.nodes!).sort(), ["__proto__", "b"])
    assert.deepStrictEqual([Object.keys(state.open!), state.givenUp], [["a/short"], { a: error }])
    const again = readFrom(text)
    assert.deepStrictEqual(Steps.toText(kind, again), text)
    const last: State = kind.take(again.state, { _tag: "NodeEnded", node: "a", ended: { _tag: "Skipped" } })
    const ended = JSON.parse(Steps.toText(kind, { ...kept, state: last })) as { readonly state: typeof state }
    assert.deepStrictEqual([ended.state.open, ended.state.givenUp], [{}, {}])
  })

  it("are read as an earlier version wrote them", () => {
    const open = { read: { message: "m1", isAgent: false, isTold: false } }
    const state = { run: 1, input: "orders", nodes: { a: { _tag: "Skipped" } }, open }
    const text = JSON.stringify({ state, unknown: [], cancelled: [], steps: 3 })
    const { state: read, ...others } = JSON.parse(Steps.toText(kind, readFrom(text))) as Record<string, unknown>
    assert.deepStrictEqual(read, { ...state, givenUp: {} })
    assert.deepStrictEqual(others, { unknown: [], cancelled: [], steps: 3 })
  })

  it.effect("say of a cancelled message that it had begun only if it had", () =>
    Effect.gen(function*() {
      const { store } = yield* makeCluster
      const told = yield* PubSub.unbounded<Told<Step>>()
      const log = yield* StepLog.open(kind, { id: "1", store, told })
      const cancelled: Answer = { status: "Cancelled", text: "", pending: [], unknown: [], cursor: 0 }
      yield* log.append({ steps: [{ _tag: "PlanBegun", input: "orders" }], taken: "begun" })
      for (const key of ["begun", "late"]) yield* log.answer(key, () => cancelled)
      const hasBegun = (key: string) => Effect.map(store.find("1", key), ({ answer }) => fromText(answer!).hasBegun)
      assert.deepStrictEqual([yield* hasBegun("begun"), yield* hasBegun("late")], [true, false])
    }))
})
