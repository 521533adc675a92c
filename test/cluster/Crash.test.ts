import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { ConversationStore } from "troupe/cluster"
import { some, times } from "../matrix.ts"
import { backings } from "./backings.ts"
import { countWrites, play } from "./crashes/play.ts"
import { type Mutation, scenarioOf, single } from "./crashes/scenarios.ts"
import { emptyStore } from "./crashes/stores.ts"

/** Plays the scenarios of these numbers, and gives what was wrong. */
const problems = (
  numbers: (writes: number) => Iterable<number>,
  mutation?: Mutation,
  layer: typeof backings[number]["layer"] = ConversationStore.layerMemory
) =>
  Effect.gen(function*() {
    const store = yield* emptyStore(layer)
    const writes = yield* countWrites(store)
    assert.isAbove(writes, 40)
    const found: Array<string> = []
    for (const n of numbers(writes)) {
      const scenario = { ...scenarioOf(n, writes), mutation }
      found.push(...(yield* play(scenario, store, `desk/${n}`)).map((problem) => `${n}: ${problem}`))
    }
    return found
  }).pipe(Effect.scoped)

/** The numbers from one on. */
const range = (from: number, count: number, step = 1) => Array.from({ length: count }, (_, n) => from + n * step)

describe("A death", () => {
  it.live(
    "at any write, before it, after it, or only seemingly, loses nothing and starts nothing twice",
    () =>
      Effect.map(problems((writes) => some(range(0, single(writes)), 8)), (found) => assert.deepStrictEqual(found, [])),
    120_000
  )

  it.live(
    "after another, and while a message is cancelled, loses nothing and starts nothing twice either",
    () =>
      Effect.map(
        problems((writes) => range(single(writes), times(120, 15))),
        (found) => assert.deepStrictEqual(found, [])
      ),
    120_000
  )

  for (const { describe, layer } of backings.slice(1)) {
    describe(() => {
      it.live(
        "loses nothing and starts nothing twice",
        () =>
          Effect.map(
            problems(
              (writes) => [...some(range(1, single(writes) / 12, 12), 6), ...range(single(writes), times(30, 5))],
              undefined,
              layer
            ),
            (found) => assert.deepStrictEqual(found, [])
          ),
        120_000
      )
    })
  }

  it.live("would start handlers twice if starts weren't marked", () =>
    Effect.map(
      problems(() => range(140, 60), "marks"),
      (found) => assert.match(found.join("\n"), /was started 2 times/)
    ), 120_000)

  it.live("would say inputs twice if messages had no keys", () =>
    Effect.map(
      problems((writes) => range(0, times(single(writes), 140)), "keys"),
      (found) => assert.match(found.join("\n"), /4 inputs/)
    ), 120_000)

  it.live("would let a process that was replaced write if it took no epoch", () =>
    Effect.map(
      problems(() => range(0, times(100, 40)), "epoch"),
      (found) => assert.match(found.join("\n"), /replaced has written/)
    ), 120_000)

  it.live("would cut calls if what a handover interrupts were kept", () =>
    Effect.map(
      problems((writes) => range(3, writes, 5), "closing"),
      (found) => assert.match(found.join("\n"), /l\d+ is Interrupted/)
    ), 120_000)
})
