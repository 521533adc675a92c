/**
 * Kills the process that has a conversation, in every place, some thousand times, and says what went wrong.
 *
 *     npm run crash -- --rounds 5000 [--from 0] [--store memory|sqlite|postgres] [--without marks|keys|epoch|closing]
 *
 * With `--processes` it disrupts real runners on a Postgres of their own while conversations go on:
 *
 *     npm run crash -- --processes --rounds 300 [--runners 3] [--only kill,freeze,…] [--without marks] [--seed 1] [--verbose]
 */
import { Effect, Layer } from "effect"
import { parseArgs } from "node:util"
import { ConversationStore } from "troupe/cluster"
import { countWrites, play } from "../test/cluster/crashes/play.ts"
import { type Mutation, scenarioOf, single } from "../test/cluster/crashes/scenarios.ts"
import { emptyStore } from "../test/cluster/crashes/stores.ts"
import { postgres, sqlite } from "../test/cluster/databases.ts"
import { kindsOf } from "../test/cluster/processes/disruptions.ts"
import { disrupt } from "../test/cluster/processes/rounds.ts"
import { start } from "./postgres.ts"

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "1000" },
    from: { type: "string", default: "0" },
    store: { type: "string", default: "memory" },
    without: { type: "string" },
    processes: { type: "boolean", default: false },
    runners: { type: "string", default: "3" },
    only: { type: "string" },
    seed: { type: "string", default: "1" },
    verbose: { type: "boolean", default: false }
  }
})
const mutation = values.without as Mutation | undefined
const rounds = Number(values.rounds)

/** A Postgres of its own, for as long as the scope is open. */
const server = Effect.acquireRelease(Effect.promise(start), ({ stop }) => Effect.promise(stop))

const layers: Readonly<Record<string, Layer.Layer<ConversationStore.ConversationStore, unknown>>> = {
  memory: ConversationStore.layerMemory,
  sqlite: Layer.provide(ConversationStore.layerSql(), sqlite),
  postgres: Layer.provide(
    ConversationStore.layerSql(),
    Layer.unwrap(Effect.map(server, ({ url }) => postgres(url)))
  )
}

const scenarios = Effect.gen(function*() {
  const store = yield* emptyStore(layers[values.store]!)
  const writes = yield* countWrites(store)
  const from = Number(values.from)
  console.log(`${writes} writes without a death; ${single(writes)} scenarios of one death come first`)
  let wrong = 0
  for (let n = from; n < from + rounds; n++) {
    const scenario = { ...scenarioOf(n, writes), mutation }
    const problems = yield* play(scenario, store, `desk/${n}`)
    if (problems.length === 0) continue
    wrong++
    if (wrong <= 20) console.log(`${n} ${JSON.stringify(scenario)}\n  ${problems.join("\n  ")}`)
  }
  console.log(`${rounds} scenarios over ${values.store}, ${wrong} with problems`)
  return wrong
})

const processes = Effect.gen(function*() {
  const { figures, problems } = yield* disrupt({
    server: yield* server,
    rounds,
    runners: Number(values.runners),
    kinds: kindsOf(values.only),
    seed: Number(values.seed),
    isCareless: mutation === "marks",
    tell: values.verbose ? (line) => console.log(line) : () => {}
  })
  for (const [name, figure] of Object.entries(figures)) console.log(`${name}: ${figure}`)
  for (const problem of problems.slice(0, 50)) console.log(problem)
  console.log(`${rounds} rounds, ${problems.length} problems`)
  return problems.length
})

process.exitCode = await Effect.runPromise(Effect.scoped(values.processes ? processes : scenarios)) === 0 ? 0 : 1
