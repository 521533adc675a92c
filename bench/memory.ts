/**
 * Says how many bytes a run of 1,000 steps leaves behind: a process of its own, with `--expose-gc`.
 *
 *     node --expose-gc bench/memory.ts troupe|by-hand each|last
 */
import { Effect } from "effect"
import * as byHand from "./byHand.ts"
import * as model from "./effectModel.ts"
import { type Calls } from "./script.ts"
import * as troupe from "./troupe.ts"

const steps = 1000

const [subject, which] = process.argv.slice(2)
const keep: Effect.Effect<ReadonlyArray<unknown>, unknown, model.Services> = (subject === "troupe" ? troupe : byHand)
  .keep(which === "each" ? "each" : "last")

const run = (steps: number): Promise<ReadonlyArray<unknown>> => {
  const calls: Calls = { model: 0, tool: 0 }
  return Effect.runPromiseWith(model.services(model.toolLoop(calls, steps), calls))(keep)
}

const heapUsed = async (): Promise<number> => {
  for (let i = 0; i < 2; i++) {
    await new Promise((resolve) => setTimeout(resolve, 10))
    globalThis.gc!()
  }
  return process.memoryUsage().heapUsed
}

for (let i = 0; i < 20; i++) await run(10)
const before = await heapUsed()
const kept = await run(steps)
const after = await heapUsed()
console.log(JSON.stringify({ bytes: after - before, kept: kept.length }))
