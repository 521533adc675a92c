/**
 * Measures conversations on a cluster, and prints a table: a Postgres of its own, and runners of their own processes.
 *
 *     npm run bench:cluster -- [--only steps,many,takeover,lag,throughput,memory] [--turns 500] [--many 40,100,200,1000]
 */
import { Effect } from "effect"
import { parseArgs } from "node:util"
import { start } from "../../scripts/postgres.ts"
import { heading } from "./figure.ts"
import { measureLag } from "./lag.ts"
import { measureMany } from "./many.ts"
import { measureMemory } from "./memory.ts"
import { measureSteps } from "./steps.ts"
import { measureTakeOver } from "./takeover.ts"
import { measureThroughput } from "./throughput.ts"

const { values } = parseArgs({
  options: {
    only: { type: "string" },
    turns: { type: "string", default: "500" },
    many: { type: "string", default: "40,100,200,1000" }
  }
})

const program = Effect.gen(function*() {
  const { pid, url } = yield* Effect.acquireRelease(
    Effect.promise(start),
    ({ stop }) => Effect.promise(stop)
  )
  const parts = {
    steps: measureSteps(url, Number(values.turns)),
    many: measureMany(url, values.many.split(",").map(Number)),
    takeover: measureTakeOver(url),
    lag: measureLag(url),
    throughput: measureThroughput(url, pid()),
    memory: measureMemory(url)
  }
  yield* heading
  for (const [name, measure] of Object.entries(parts)) {
    if (values.only === undefined || values.only.split(",").includes(name)) yield* measure
  }
})

await Effect.runPromise(Effect.scoped(program))
process.exit(0)
