import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Effect, Result } from "effect"
import { AgentState, AgentStatus } from "troupe"
import { Laws } from "troupe/testing"
import { misfit } from "../../src/testing/laws/Moves.ts"
import { times } from "../matrix.ts"
import { places, problems } from "./legal.ts"
import { choices, isItsFold, type Life, live } from "./lives.ts"

/** The moves that were made in a life, by the agents that were called too. */
const movesIn = ({ states }: Life): ReadonlyArray<string> =>
  states.slice(1).flatMap((state, at) =>
    places(states[at]!).flatMap((before) => {
      const after = AgentState.at(state, before.calls)?.status._tag
      const from = before.state.status._tag
      return after === undefined || after === from ? [] : [`${from} → ${after}`]
    })
  )

describe("A life", () => {
  it.prop("is the fold of all its events, what people decide included", [choices], ([choices]) => {
    isItsFold(live(choices))
  }, { arbitrary: { runs: times(100, 35) } })

  it.prop("makes no move that isn't listed, and leaves no event out", [choices], ([choices]) => {
    const { events, states } = live(choices)
    assert.deepStrictEqual(Laws.illegalMoves(states), [])
    events.forEach((event, at) => assert.isUndefined(misfit(states[at]!, event, states[at + 1]!)))
  }, { arbitrary: { runs: times(100, 35) } })

  it.prop("is legal and survives JSON in each of its states", [choices], ([choices]) => {
    for (const state of live(choices).states) {
      assert.deepStrictEqual(problems(state.conversation), [])
      assert.deepStrictEqual(Result.getOrThrow(AgentState.fromJson(AgentState.toJson(state))), state)
    }
  }, { arbitrary: { runs: times(60, 25) } })

  it.effect("makes each move that is listed, sooner or later", () =>
    Effect.gen(function*() {
      const lives = yield* Arbitrary.sampleEffect(choices, { count: 600, seed: 1 })
      const made = new Set(lives.flatMap((choices) => movesIn(live(choices))))
      const listed = Object.entries(AgentStatus.moves).flatMap(([from, all]) => all.map((to) => `${from} → ${to}`))
      assert.deepStrictEqual([...made].sort(), listed.sort())
    }))
})
