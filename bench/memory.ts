/**
 * Says how many bytes a run of 1,000 steps leaves behind: a process of its own, with `--expose-gc`.
 *
 *     node --expose-gc bench/memory.ts troupe|by-hand each|last
 */
import { Effect } from "effect"
import * as byHand from "./byHand.ts"
import * as model from "./effectModel.ts"
import { median } from "./rounds.ts"
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

// V8 compiles code in the first runs, and what that takes isn't what a run leaves behind: of ten runs that are all kept, the median counts.
const kept: Array<ReadonlyArray<unknown>> = []
const left: Array<number> = []
let before = await heapUsed()
for (let i = 0; i < 10; i++) {
  kept.push(await run(steps))
  const after = await heapUsed()
  left.push(after - before)
  before = after
}
console.log(JSON.stringify({ bytes: median(left), kept: kept[0]!.length }))
