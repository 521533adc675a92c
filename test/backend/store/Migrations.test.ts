import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import type { Event } from "../../../examples/backend/api/Conversations.ts"
import { backings, event, save, state } from "./backings.ts"

const requested: Event = {
  ...event(0),
  _tag: "ApprovalRequested",
  callId: "a",
  name: "pay",
  params: {}
}

for (const backing of backings) {
  backing.describe(`Tables ${backing.name}`, () => {
    it.effect("of the version before are brought up to date with what is in them", () =>
      Effect.gen(function*() {
        const database = yield* backing.make
        yield* Effect.scoped(Effect.gen(function*() {
          const store = yield* database.open()
          for (const id of ["1", "2"]) {
            yield* store.create("ada", id, state(id))
            const lease = (yield* store.lease(id))!
            lease.log(id === "1" ? requested : event(0))
            yield* save(lease, id, state(id))
          }
        }))
        for (
          const statement of [
            "DROP INDEX conversations_awaiting",
            "ALTER TABLE conversations DROP COLUMN awaits",
            "ALTER TABLE conversations DROP COLUMN changes",
            "DROP TABLE writable",
            "DELETE FROM migrations WHERE migration_id > 1"
          ]
        ) yield* database.sql(statement)
        const store = yield* database.open()
        // What asked for an approval may still wait for it: the state says whether it does.
        assert.deepStrictEqual((yield* store.awaiting("ada")).map(({ id }) => id), ["1"])
        const saved = yield* store.read("ada", "2")
        assert.deepStrictEqual([saved?.state, saved?.cursor, saved?.row.changes], [state("2"), 1, []])
      }))
  })
}
