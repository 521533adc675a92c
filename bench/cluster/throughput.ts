/** How many runs one runner and two runners do in a second, and what each run costs them, their Postgres and their caller. */
import { Effect } from "effect"
import { Desk } from "../../test/cluster/processes/clients.ts"
import { figure } from "./figure.ts"
import { cluster, processorTime } from "./runners.ts"

const runs = 400
/** A run of "More" asks its model twice, and calls two tools, before it awaits an approval. */
const steps = 2

/** Measures throughput. `server` is the process of Postgres. */
export const measureThroughput = (url: string, server: number) =>
  Effect.gen(function*() {
    const rates: Array<number> = []
    for (const count of [1, 2]) {
      yield* Effect.gen(function*() {
        const { client, runners } = yield* cluster(url, count)
        const chats = yield* Effect.provideContext(Desk.client, client)
        const say = (name: string, many: number) =>
          Effect.forEach(Array.from({ length: many }, (_, n) => `${name}-${n}`), (id) => chats(id).say("More"), {
            concurrency: 50,
            discard: true
          })
        yield* say("warm", 200)
        const worked = () => runners.reduce((sum, { pid }) => sum + processorTime(pid), 0)
        const before = { server: processorTime(server), runners: worked(), caller: processorTime(process.pid) }
        const from = performance.now()
        yield* say("timed", runs)
        const seconds = (performance.now() - from) / 1000
        rates.push(runs / seconds)
        const name = count === 1 ? "one runner" : `${count} runners`
        yield* figure(`${name}: runs a second`, runs / seconds)
        yield* figure(`${name}: processor of runners, ms a step`, (worked() - before.runners) * 1000 / runs / steps)
        yield* figure(
          `${name}: processor of Postgres, ms a step`,
          (processorTime(server) - before.server) * 1000 / runs / steps
        )
        yield* figure(
          `${name}: processor of the caller, ms a run`,
          (processorTime(process.pid) - before.caller) * 1000 / runs
        )
      }).pipe(Effect.scoped)
    }
    yield* figure("throughput of two runners to one", rates[1]! / rates[0]!)
  })
