/** How long conversations stand still when their runner is killed, told to stop, or loses its locks. */
import { PgClient } from "@effect/sql-pg"
import { Effect, Fiber, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { Desk } from "../../test/cluster/processes/clients.ts"
import { figure, quantile } from "./figure.ts"
import { cluster } from "./runners.ts"

const count = 40

/** Measures take-overs: forty conversations are in the middle of a run of some 2 s. */
export const measureTakeOver = (url: string) =>
  Effect.forEach(["SIGKILL", "SIGTERM", "a lost lock"] as const, (how) =>
    Effect.gen(function*() {
      const { client, runners } = yield* cluster(url, 2, { modelTakes: 100, toolsTake: 300 })
      const chats = yield* Effect.provideContext(Desk.client, client)
      const ends: Array<number> = []
      const talking = yield* Effect.forkChild(
        Effect.forEach(
          Array.from({ length: count }, (_, n) => `${how}-${n}`),
          (id) => Effect.map(chats(id).say("Bill it", { key: "m1" }), () => void ends.push(performance.now())),
          { concurrency: "unbounded", discard: true }
        )
      )
      yield* Effect.sleep(700)
      const at = performance.now()
      if (how === "a lost lock") {
        yield* Effect.flatMap(SqlClient.SqlClient, (sql) =>
          sql`SELECT pg_terminate_backend(pid) FROM (
            SELECT pid FROM pg_locks WHERE locktype = 'advisory' GROUP BY pid LIMIT 1) AS locks`).pipe(
            Effect.provide(PgClient.layer({ url: Redacted.make(url), maxConnections: 1 }))
          )
      } else runners[0]!.signal(how)
      yield* Fiber.join(talking)
      const after = ends.map((end) => (end - at) / 1000)
      yield* figure(`${how}: the last run is answered after, s`, Math.max(...after))
      yield* figure(`${how}: of the slower half, the median, s`, quantile(after, 0.75))
    }).pipe(Effect.scoped), { discard: true })
