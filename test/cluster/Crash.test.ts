import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { countWrites, emptyStore, type Mutation, play, scenarioOf } from "./crashes/play.ts"

const problems = (from: number, rounds: number, mutation?: Mutation) =>
  Effect.gen(function*() {
    const writes = yield* Effect.scoped(Effect.flatMap(emptyStore(), countWrites))
    const found: Array<string> = []
    for (let n = from; n < from + rounds; n++) {
      const scenario = { ...scenarioOf(n, writes), mutation }
      const problems = yield* Effect.scoped(Effect.flatMap(emptyStore(mutation), (store) => play(scenario, store)))
      found.push(...problems.map((problem) => `${n}: ${problem}`))
    }
    return found
  })

describe("A death", () => {
  it.live("at any write, before it, after it, or only seemingly, loses nothing and starts nothing twice", () =>
    Effect.gen(function*() {
      const writes = yield* Effect.scoped(Effect.flatMap(emptyStore(), countWrites))
      assert.isAbove(writes, 40)
      assert.deepStrictEqual(yield* problems(0, writes * 3), [])
    }))

  it.live("after another, and while a message is cancelled, does neither", () =>
    Effect.map(problems(1000, 200), (found) => assert.deepStrictEqual(found, [])))

  it.live("would start handlers twice if starts weren't marked", () =>
    Effect.map(problems(55, 60, "marks"), (found) => assert.match(found.join("\n"), /was started 2 times/)))

  it.live("would say inputs twice if messages had no keys", () =>
    Effect.map(problems(0, 165, "keys"), (found) => assert.match(found.join("\n"), /3 inputs/)))

  it.live("would let a process that was replaced write if it took no epoch", () =>
    Effect.map(problems(0, 60, "epoch"), (found) => assert.match(found.join("\n"), /replaced has written/)))
})
