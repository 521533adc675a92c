/**
 * Compares this checkout with another one, row by row, and prints the ratio of their times. See README.md.
 *
 *     npm run bench:against -- <folder of the other checkout> [--only <part of a row's name>,…] [--rounds <number>]
 */
import { spawnSync } from "node:child_process"
import { existsSync } from "node:fs"
import { join, resolve } from "node:path"
import { pathToFileURL } from "node:url"
import { parseArgs } from "node:util"
import type * as Guardrails from "./guardrails.ts"
import type * as MockModels from "./mockModel.ts"
import type * as Modes from "./modes.ts"
import { interleave, ratio } from "./rounds.ts"
import type * as Troupe from "./troupe.ts"
import type * as Windows from "./window.ts"
import type * as Workloads from "./workloads.ts"

const { positionals: [folder], values: { first, only, rounds, row } } = parseArgs({
  allowPositionals: true,
  options: {
    only: { type: "string" },
    rounds: { type: "string", default: "15" },
    // A process of its own times one row, and begins with this checkout or the other one.
    row: { type: "string" },
    first: { type: "string" }
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
const count = Math.max(1, Math.trunc(Number(rounds)) || 15)

if (row === undefined) {
  console.log(`| to ${other} | when the other was warmed up first | when this one was |\n| --- | --: | --: |`)
  for (const name of (await rowsOf(here)).keys()) {
    if (only !== undefined && !only.split(",").some((part) => name.includes(part.trim()))) continue
    const [before, after] = ["other", "this"].map((first) => {
      const { status, stdout } = spawnSync(
        process.execPath,
        [...process.execArgv, import.meta.filename, other, "--row", name, "--first", first, "--rounds", `${count}`],
        { encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] }
      )
      if (status !== 0) process.exit(1)
      return stdout.trim()
    })
    console.log(`| ${name} | ${before} | ${after} |`)
  }
} else {
  const [ours, theirs] = [(await rowsOf(here)).get(row), (await rowsOf(other)).get(row)]
  if (ours === undefined || theirs === undefined) throw new Error(`There is no row "${row}"`)
  const runs = first === "this" ? [ours, theirs] : [theirs, ours]
  const [one, two] = await interleave(runs, count, { warmUp: 1500, batch: 100 })
  console.log((first === "this" ? ratio(one!, two!) : ratio(two!, one!)).toFixed(2))
}
process.exit(0)
