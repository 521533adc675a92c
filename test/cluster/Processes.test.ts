import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { start } from "../../scripts/postgres.ts"
import { times } from "../matrix.ts"
import { describePostgres } from "./backings.ts"
import type { Kind } from "./processes/disruptions.ts"
import { disrupt } from "./processes/rounds.ts"

/** Disrupts runners on a Postgres of their own, which some of the kinds end. */
const rounds = (kinds: ReadonlyArray<Kind>, rounds: number, runners: number) =>
  Effect.gen(function*() {
    const server = yield* Effect.acquireRelease(Effect.promise(start), ({ stop }) => Effect.promise(stop))
    // Locks last longer than a Postgres takes to answer while the other tests run beside it.
    const expiration = 4000
    const { figures, problems } = yield* disrupt({ server, rounds, runners, kinds, expiration, seed: 1, clients: 6 })
    assert.deepStrictEqual(problems, [])
    return figures
  }).pipe(Effect.scoped)

describePostgres("Runners on one Postgres lose nothing and start nothing twice", () => {
  it.live(
    "when one of two is killed, again and again",
    () => Effect.map(rounds(["kill"], times(3, 1), 2), (figures) => assert.strictEqual(figures["kill"], times(3, 1))),
    120_000
  )

  it.live(
    "when one of three is killed, told to stop, or loses its locks",
    () => Effect.asVoid(rounds(["kill", "term", "locks"], 3, 3)),
    120_000
  )

  it.live(
    "when one freezes until another has its conversations, and comes back",
    () => Effect.asVoid(rounds(["freeze"], 1, 2)),
    120_000
  )

  it.live("when Postgres ends at once and begins again", () => Effect.asVoid(rounds(["restart"], 1, 2)), 120_000)

  it.live("when each is replaced while approvals wait", () => Effect.asVoid(rounds(["deploy"], 1, 2)), 120_000)
})
