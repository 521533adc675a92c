/**
 * Kills the process that has a conversation, in every place, some thousand times, and says what went wrong.
 *
 *     npm run crash -- --rounds 5000 [--from 0] [--without marks|keys|epoch]
 */
import { Effect } from "effect"
import { parseArgs } from "node:util"
import { countWrites, emptyStore, type Mutation, play, scenarioOf } from "../test/cluster/crashes/play.ts"

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "1000" },
    from: { type: "string", default: "0" },
    without: { type: "string" }
  }
})
const mutation = values.without as Mutation | undefined

const main = Effect.gen(function*() {
  const writes = yield* Effect.scoped(Effect.flatMap(emptyStore(), countWrites))
  const from = Number(values.from)
  const rounds = Number(values.rounds)
  console.log(`${writes} writes without a death; ${writes * 3} scenarios of one death come first`)
  let wrong = 0
  for (let n = from; n < from + rounds; n++) {
    const scenario = { ...scenarioOf(n, writes), mutation }
    const problems = yield* Effect.scoped(Effect.flatMap(emptyStore(mutation), (store) => play(scenario, store)))
    if (problems.length === 0) continue
    wrong++
    if (wrong <= 20) console.log(`${n} ${JSON.stringify(scenario)}\n  ${problems.join("\n  ")}`)
  }
  console.log(`${rounds} scenarios, ${wrong} with problems`)
  return wrong
})

process.exitCode = await Effect.runPromise(main) === 0 ? 0 : 1
