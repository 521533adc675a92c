/**
 * Compares this checkout with another one, row by row, and prints the ratio of their times and of what they do. See README.md.
 *
 *     npm run bench:against -- <folder of the other checkout> [--only <part of a row's name>,…] [--pairs <number>]
 */
import type * as Scheduler from "effect/Scheduler"
import { fork } from "node:child_process"
import { once } from "node:events"
import { existsSync } from "node:fs"
import { createRequire } from "node:module"
import { join, resolve } from "node:path"
import { pathToFileURL } from "node:url"
import { parseArgs } from "node:util"
import type * as Guardrails from "./guardrails.ts"
import type * as MockModels from "./mockModel.ts"
import type * as Modes from "./modes.ts"
import { type Batch, inTurns, quantile, warmUp } from "./rounds.ts"
import type * as Troupe from "./troupe.ts"
import type * as Windows from "./window.ts"
import type * as Workloads from "./workloads.ts"

const { positionals: [folder], values: { only, pairs, row } } = parseArgs({
  allowPositionals: true,
  options: {
    only: { type: "string" },
    pairs: { type: "string", default: "8" },
    // For the processes that this script starts: the row of the checkout in `folder`.
    row: { type: "string" }
  }
})
if (folder === undefined) {
  console.error("Which checkout? npm run bench:against -- <folder>")
  process.exit(2)
}

type Run = () => Promise<void>

/** Troupe's own program of each row of a checkout. The other checkout has modules of the same form. */
const rowsOf = async (checkout: string): Promise<ReadonlyMap<string, Run>> => {
  const load = async <Module>(name: string): Promise<Module> =>
    await import(pathToFileURL(join(checkout, "bench", name)).href) as Module
  const { troupe } = await load<typeof Troupe>("troupe.ts")
  const { withModes, withoutModes } = await load<typeof Modes>("modes.ts")
  const { withGuardrails } = await load<typeof Guardrails>("guardrails.ts")
  const { byTokens, byTurns, guardedByTurns } = await load<typeof Windows>("window.ts")
  const { mocked } = await load<typeof MockModels>("mockModel.ts")
  const { guarded, mockCalls, modes, windows, workloads } = await load<typeof Workloads>("workloads.ts")
  const behind = windows(100)
  const under = guarded(100)
  return new Map<string, Run>([
    ...workloads.map((each): [string, Run] => [each.name, () => each.run(troupe)]),
    ...modes.flatMap((each): ReadonlyArray<[string, Run]> => [
      [each.name, () => each.run(withModes)],
      [`${each.name}: without the mode`, () => each.run(withoutModes)]
    ]),
    [under.name, () => under.run(withGuardrails)],
    ...([["turns", byTurns], ["tokens", byTokens], ["turns, ten guardrails", guardedByTurns]] as const).map(
      ([kind, windowed]): [string, Run] => [`${behind.name}, by ${kind}`, () => behind.run(windowed)]
    ),
    [mockCalls.name, () => mockCalls.run(mocked)]
  ])
}

const here = resolve(import.meta.dirname, "..")
const other = resolve(folder)
if (!existsSync(join(other, "bench", "workloads.ts"))) {
  console.error(`There is no checkout with a bench in ${other}`)
  process.exit(2)
}

/** A row of a checkout, warmed up in a process of its own. `operations` counts the operations of Effect's runtime in one run. */
interface Timed {
  readonly batch: Batch
  readonly operations: () => Promise<number>
  readonly stop: () => void
}

const start = async (checkout: string, row: string): Promise<Timed> => {
  const child = fork(import.meta.filename, [checkout, "--row", row])
  child.on("exit", (status) => {
    if (!child.killed) {
      console.error(`"${row}" of ${checkout} ended with ${status}`)
      process.exit(1)
    }
  })
  const answer = (): Promise<unknown> => new Promise((resolve) => child.once("message", resolve))
  await answer()
  const ask = async (question: string): Promise<number> => {
    child.send(question)
    return Number(await answer())
  }
  return { batch: () => ask("batch"), operations: () => ask("operations"), stop: () => child.kill() }
}

const sum = (times: ReadonlyArray<number>): number => times.reduce((all, time) => all + time, 0)

/**
 * Times a row of both checkouts in turns, in a new process for each, and gives the ratios of their times and of their operations.
 *
 * A short run has one collection of the young generation in a thousand runs, so some batches have one and others none. In the sums each
 * run has its share, and a median would count one too many or too few.
 */
const pair = async (row: string) => {
  const [ours, theirs] = await Promise.all([start(here, row), start(other, row)])
  const [first, second] = await inTurns([ours.batch, theirs.batch], 80)
  const operations = await ours.operations() / await theirs.operations()
  ours.stop()
  theirs.stop()
  return { time: sum(first!) / sum(second!), operations }
}

/** Counts the operations of a run: before each, the runtime of the checkout asks its scheduler whether to yield. */
const operationsOf = async (checkout: string, run: Run): Promise<number> => {
  const path = createRequire(join(checkout, "package.json")).resolve("effect/Scheduler")
  const { MixedScheduler: { prototype } } = await import(pathToFileURL(path).href) as typeof Scheduler
  const { shouldYield } = prototype
  let count = 0
  prototype.shouldYield = function(fiber) {
    count++
    return shouldYield.call(this, fiber)
  }
  await run()
  prototype.shouldYield = shouldYield
  return count
}

if (row === undefined) {
  const count = Number(pairs)
  if (!Number.isInteger(count) || count < 1) {
    console.error(`--pairs is "${pairs}", not a whole number from 1 on`)
    process.exit(2)
  }
  const all = [...(await rowsOf(here)).keys()]
  const names = all.filter((name) => only === undefined || only.split(",").some((part) => name.includes(part.trim())))
  if (names.length === 0) {
    console.error(`No row has "${only}" in its name; there are: ${all.join("; ")}`)
    process.exit(2)
  }
  console.log(`| to ${other} | median | least | greatest | operations |\n| --- | --: | --: | --: | --: |`)
  for (const name of names) {
    const ratios: Array<number> = []
    const operations: Array<number> = []
    for (let turn = 0; turn < count; turn++) {
      const each = await pair(name)
      ratios.push(each.time)
      operations.push(each.operations)
    }
    const figures = [...[0.5, 0, 1].map((share) => quantile(ratios, share)), quantile(operations, 0.5)]
    console.log(`| ${name} | ${figures.map((figure) => figure.toFixed(2)).join(" | ")} |`)
  }
} else {
  const run = (await rowsOf(other)).get(row)
  if (run === undefined) throw new Error(`There is no row "${row}"`)
  const batch = await warmUp(run, { warmUp: 10_000, batch: 25, keepsGarbage: true })
  const tell = (message: unknown) => new Promise<void>((resolve) => process.send!(message, () => resolve()))
  process.on("message", (asked) => void (asked === "batch" ? batch() : operationsOf(other, run)).then(tell))
  await tell("warm")
  await once(process, "disconnect")
}
process.exit(0)
