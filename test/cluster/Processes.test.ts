import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { start } from "../../scripts/postgres.ts"
import { some, times } from "../matrix.ts"
import { describePostgres } from "./backings.ts"
import type { Kind } from "./processes/disruptions.ts"
import { disrupt } from "./processes/rounds.ts"

/** Disrupts runners on a Postgres of their own, which some of the kinds end. */
const disrupted = (kinds: ReadonlyArray<Kind>, rounds: number, runners: number) =>
  Effect.gen(function*() {
    const server = yield* Effect.acquireRelease(Effect.promise(start), ({ stop }) => Effect.promise(stop))
    // Locks last longer than a Postgres takes to answer while the other tests run beside it.
    const expiration = 4000
    const { figures, problems } = yield* disrupt({ server, rounds, runners, kinds, expiration, seed: 1, clients: 6 })
    assert.deepStrictEqual(problems, [])
    return figures
  }).pipe(Effect.scoped)

interface Disruption {
  readonly when: string
  readonly kinds: ReadonlyArray<Kind>
  readonly rounds: number
  readonly runners: number
}

/** What may happen to runners. The first is played by `npm test`, and all by `npm run test:long`, since each takes many seconds. */
const disruptions: ReadonlyArray<Disruption> = [
  { when: "one of two is killed, again and again", kinds: ["kill"], rounds: times(3, 1), runners: 2 },
  {
    when: "one of three is killed, told to stop, or loses its locks",
    kinds: ["kill", "term", "locks"],
    rounds: 3,
    runners: 3
  },
  { when: "one freezes until another has its conversations, and comes back", kinds: ["freeze"], rounds: 1, runners: 2 },
  { when: "Postgres ends at once and begins again", kinds: ["restart"], rounds: 1, runners: 2 },
  { when: "each is replaced while approvals wait", kinds: ["deploy"], rounds: 1, runners: 2 }
]

describePostgres("Runners on one Postgres lose nothing and start nothing twice", () => {
  it.live.each(some(disruptions, disruptions.length))(
    "when $when",
    ({ kinds, rounds, runners }) =>
      Effect.gen(function*() {
        const figures = yield* disrupted(kinds, rounds, runners)
        if (kinds.length === 1) assert.strictEqual(figures[kinds[0]!], rounds)
      }),
    120_000
  )
})
