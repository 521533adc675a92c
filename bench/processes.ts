/**
 * What is measured in processes of their own: memory and the import of modules.
 */
import { execFileSync } from "node:child_process"
import { existsSync } from "node:fs"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { median, ratio } from "./rounds.ts"

const here = import.meta.dirname
const root = join(here, "..")

const output = (...args: ReadonlyArray<string>): string =>
  execFileSync(process.execPath, args, { cwd: here, encoding: "utf8" })

/** Gives the bytes that a run of 1,000 steps leaves behind, and how many things were kept. */
export const memory = (subject: "troupe" | "by-hand", which: "each" | "last"): { bytes: number; kept: number } =>
  JSON.parse(output("--expose-gc", join(here, "memory.ts"), subject, which))

/** Builds Troupe as it is published, so that no types are stripped while it is imported, and gives the folder. */
export const build = (): string => {
  const out = join(root, ".bench", "dist")
  execFileSync(process.execPath, [join(root, "scripts", "build.ts"), out], { stdio: "inherit" })
  return out
}

const effect = ["Effect", "Schema", "Stream", "ai/LanguageModel", "ai/Tool", "ai/Toolkit"].map((name) =>
  `effect/${name}`
)

export interface Import {
  readonly took: number
  readonly ratio: number
}

export interface Imports {
  readonly byHand: number
  readonly all: Import
  readonly loop: Import
  readonly withAiSdk: Import
  readonly aiSdk: Import | undefined
}

/** Gives the milliseconds that it takes to import what an agent is written with, each time in a new process. */
export const coldImport = (dist: string, rounds: number): Imports => {
  const built = (...names: ReadonlyArray<string>): ReadonlyArray<string> => [
    ...names.map((name) => pathToFileURL(join(dist, `${name}.js`)).href),
    ...effect
  ]
  const subjects = [effect, built("index"), built("Agent", "AgentState"), built("Agent", "AgentState", "ai-sdk/index")]
  if (existsSync(join(here, "node_modules", "ai"))) subjects.push(["ai", "zod"])
  const samples: ReadonlyArray<Array<number>> = subjects.map(() => [])
  for (let round = 0; round < rounds; round++) {
    subjects.forEach((_, turn) => {
      const at = (round + turn) % subjects.length
      samples[at]!.push(Number(output(join(here, "cold.ts"), ...subjects[at]!)))
    })
  }
  const [byHand, all, loop, withAiSdk, aiSdk] = samples.map((took): Import => ({
    took: median(took),
    ratio: ratio(took, samples[0]!)
  }))
  return { byHand: byHand!.took, all: all!, loop: loop!, withAiSdk: withAiSdk!, aiSdk }
}
