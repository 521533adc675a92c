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

/** Builds Troupe as it is published, so that no types are stripped while it is imported. */
const build = (): string => {
  const out = join(root, ".bench", "dist")
  execFileSync(process.execPath, [join(root, "scripts", "build.ts"), out], { stdio: "inherit" })
  return pathToFileURL(join(out, "index.js")).href
}

const effect = ["Effect", "Schema", "Stream", "ai/LanguageModel", "ai/Tool", "ai/Toolkit"].map((name) =>
  `effect/${name}`
)

export interface Import {
  readonly troupe: number
  readonly byHand: number
  readonly aiSdk: number | undefined
  readonly toByHand: number
  readonly toAiSdk: number | undefined
}

/** Gives the milliseconds that it takes to import what an agent is written with, each time in a new process. */
export const coldImport = (rounds: number): Import => {
  const subjects = [[build(), ...effect], effect]
  if (existsSync(join(here, "node_modules", "ai"))) subjects.push(["ai", "zod"])
  const samples: ReadonlyArray<Array<number>> = subjects.map(() => [])
  for (let round = 0; round < rounds; round++) {
    subjects.forEach((_, turn) => {
      const at = (round + turn) % subjects.length
      samples[at]!.push(Number(output(join(here, "cold.ts"), ...subjects[at]!)))
    })
  }
  const [troupe, byHand, aiSdk] = samples
  return {
    troupe: median(troupe!),
    byHand: median(byHand!),
    aiSdk: aiSdk && median(aiSdk),
    toByHand: ratio(troupe!, byHand!),
    toAiSdk: aiSdk && ratio(troupe!, aiSdk)
  }
}
