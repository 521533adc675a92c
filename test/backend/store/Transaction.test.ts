import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import { assert, it } from "@effect/vitest"
import { Effect, Fiber, FileSystem } from "effect"
import { SqlClient } from "effect/sql"
import * as Sqlite from "../../../examples/backend/store/Sqlite.ts"
import { inTransaction } from "../../../examples/backend/store/Transaction.ts"

it.effect("A transaction of the embedded store lets nobody else run meanwhile, who would wait for the connection", () =>
  Effect.gen(function*() {
    const folder = yield* (yield* FileSystem.FileSystem).makeTempDirectoryScoped()
    yield* Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const order: Array<string> = []
      const other = yield* Effect.forkChild(Effect.sync(() => order.push("other")))
      // Longer than a fiber may run before others have their turn.
      const work = Effect.forEach(Array.from({ length: 10_000 }), () => Effect.void, { discard: true })
      yield* inTransaction(sql)(Effect.gen(function*() {
        yield* sql`SELECT 1`
        yield* work
        order.push("transaction")
      }))
      yield* Fiber.join(other)
      assert.deepEqual(order, ["transaction", "other"])
    }).pipe(Effect.provide(Sqlite.layer(folder)))
  }).pipe(Effect.provide(NodeFileSystem.layer)))
