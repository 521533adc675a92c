/**
 * Measures what Troupe costs beside the same work written by hand, and prints a table. See README.md.
 *
 *     npm run bench -- [--only <part of a row's name>,…] [--rounds <number>]
 */
import { cpus } from "node:os"
import { parseArgs } from "node:util"
import { load as loadAiSdk } from "./aiSdk.ts"
import { bare } from "./bare.ts"
import { byHand } from "./byHand.ts"
import { withGuardrails, withoutGuardrails } from "./guardrails.ts"
import { kept, type Kind, throughput } from "./loopback.ts"
import { mocked, written } from "./mockModel.ts"
import { withModes, withoutModes } from "./modes.ts"
import { load as loadOpenAiAgents } from "./openAiAgents.ts"
import { build, coldImport, memory } from "./processes.ts"
import { interleave, median, ratio } from "./rounds.ts"
import { compare, record, saveAgain } from "./stored.ts"
import { troupe, troupeNative } from "./troupe.ts"
import { byEsbuild, byRollup } from "./weights.ts"
import { byTokens, byTurns, guardedByTurns, unwindowed } from "./window.ts"
import {
  guarded,
  mockCalls,
  type Modes,
  modes,
  nativeAims,
  nativeName,
  windows,
  type Workload,
  workloads
} from "./workloads.ts"

const { values: { only, rounds: chosen } } = parseArgs({
  options: { only: { type: "string" }, rounds: { type: "string", default: "15" } }
})
const rounds = Math.max(1, Math.trunc(Number(chosen)) || 15)

/** Checks whether rows are to be measured, by their names. */
const isChosen = (rows: string): boolean =>
  only === undefined || only.split(",").some((part) => rows.includes(part.trim()))

const number = (value: number | undefined, digits = 1): string => value === undefined ? "" : value.toFixed(digits)

const row = (...cells: ReadonlyArray<string>): void => console.log(`| ${cells.join(" | ")} |`)

const aiSdk = await loadAiSdk()
const openAiAgents = await loadOpenAiAgents()

const measure = async ({ aim, name, run, units }: Workload): Promise<void> => {
  const subjects = [troupe, byHand, bare, ...(aiSdk === undefined ? [] : [aiSdk])]
  const samples = await interleave(subjects.map((subject) => () => run(subject)), rounds, { warmUp: 500, batch: 100 })
  const [ours, hand, floor, ai] = samples
  const micros = (of: ReadonlyArray<number> | undefined): string => number(of && median(of) * 1000 / units)
  row(
    `${name}, µs`,
    micros(ours),
    micros(hand),
    micros(ai),
    micros(floor),
    number(ratio(ours!, hand!), 2),
    ai === undefined ? "" : number(ratio(ours!, ai), 2),
    number(ratio(ours!, floor!), 2),
    aim === undefined ? "" : `≤ ${aim}`
  )
}

/** Troupe over the object that the AI SDK asks, beside the AI SDK and OpenAI Agents. */
const measureNative = async ({ name, run, units }: Workload): Promise<void> => {
  const peers = [aiSdk, openAiAgents]
  const subjects = [troupeNative, ...peers.filter((peer) => peer !== undefined)]
  const samples = await interleave(subjects.map((subject) => () => run(subject)), rounds, { warmUp: 1000, batch: 100 })
  const micros = (of: ReadonlyArray<number>): string => number(median(of) * 1000 / units)
  const [ours, ...others] = samples
  const [sdk, openAi] = peers.map((peer) => peer === undefined ? undefined : others.shift())
  const cells = (show: (of: ReadonlyArray<number>) => string): ReadonlyArray<string> =>
    [sdk, openAi].map((of) => of === undefined ? "" : show(of))
  const aim = nativeAims[name]
  row(
    `${nativeName(name)}, µs`,
    micros(ours!),
    ...cells(micros),
    ...cells((of) => number(ratio(ours!, of), 2)),
    aim === undefined ? "" : `≤ ${aim}`
  )
}

/** A mode is compared with the same calls in none. */
const measureModes = async ({ aim, name, run, units }: Modes): Promise<void> => {
  const runs = [withModes, withoutModes].map((subject) => () => run(subject))
  const [within, without] = await interleave(runs, rounds, { warmUp: 3000, batch: 100 })
  const micros = (of: ReadonlyArray<number>): string => number(median(of) * 1000 / units)
  row(`${name}, µs`, micros(within!), micros(without!), "", "", number(ratio(within!, without!), 2), "", "", `≤ ${aim}`)
}

/** A context window is compared with the same steps in none. */
const measureWindows = async ({ aim, name, run, units }: typeof behind): Promise<void> => {
  const runs = [byTurns, byTokens, guardedByTurns, unwindowed].map((subject) => () => run(subject))
  const [turns, tokens, both, all] = await interleave(runs, rounds, { warmUp: 1000, batch: 200 })
  const micros = (of: ReadonlyArray<number>): string => number(median(of) * 1000 / units)
  for (const [kind, within] of [["turns", turns!], ["tokens", tokens!], ["turns, ten guardrails", both!]] as const) {
    row(
      `${name}, by ${kind}, µs`,
      micros(within),
      micros(all!),
      "",
      "",
      number(ratio(within, all!), 2),
      "",
      "",
      `≤ ${aim}`
    )
  }
}

const behind = windows(100)

/** Guardrails are compared with the same steps under none. */
const measureGuardrails = async ({ aim, name, run, units }: typeof under): Promise<void> => {
  const runs = [withGuardrails, withoutGuardrails].map((subject) => () => run(subject))
  const [within, without] = await interleave(runs, rounds, { warmUp: 1000, batch: 100 })
  const micros = (of: ReadonlyArray<number>): string => number(median(of) * 1000 / units)
  row(`${name}, µs`, micros(within!), micros(without!), "", "", number(ratio(within!, without!), 2), "", "", `≤ ${aim}`)
}

const under = guarded(100)

/** The mock of a model is compared with a provider written for the same test. */
const measureMocks = async ({ name, run, units }: typeof mockCalls): Promise<void> => {
  const runs = [mocked, written].map((subject) => () => run(subject))
  const [mock, hand] = await interleave(runs, rounds, { warmUp: 500, batch: 100 })
  const micros = (of: ReadonlyArray<number>): string => number(median(of) * 1000 / units)
  row(`${name}, µs`, micros(mock!), micros(hand!), "", "", number(ratio(mock!, hand!), 2), "", "", "")
}

/** The saves of late turns are compared with those of early ones. */
const measureSaves = async (name: string): Promise<void> => {
  const samples: ReadonlyArray<Array<number>> = [[], [], [], []]
  const live: ReadonlyArray<Array<number>> = [[], []]
  for (let round = -3; round < rounds; round++) {
    const talk = await record(1000)
    const { took } = await saveAgain(talk.saves)
    if (round < 0) continue
    compare(took).forEach((sample, at) => samples[at]!.push(sample))
    compare(talk.took).slice(0, 2).forEach((sample, at) => live[at]!.push(sample))
  }
  const micros = (of: ReadonlyArray<number>): string => number(median(of) * 1000)
  const [late, early, all, first] = samples
  const [liveLate, liveEarly] = live
  row(
    `${name}, while it talks, µs`,
    micros(liveLate!),
    micros(liveEarly!),
    "",
    "",
    number(ratio(liveLate!, liveEarly!), 2),
    "",
    "",
    "≤ 1.5"
  )
  row(`${name}, µs`, micros(late!), micros(early!), "", "", number(ratio(late!, early!), 2), "", "", "≤ 1.5")
  row(
    `${name}, new logs included, µs`,
    micros(all!),
    micros(first!),
    "",
    "",
    number(ratio(all!, first!), 2),
    "",
    "",
    "≤ 1.5"
  )
}

const measureThroughput = async (name: string, kind: Kind): Promise<void> => {
  const [mock, hand] = await throughput(kind, rounds, 200)
  const perSecond = (of: ReadonlyArray<number>): string => number(1000 / median(of), 0)
  row(name, perSecond(mock!), perSecond(hand!), "", "", number(ratio(mock!, hand!), 2), "", "", "")
}

const measureServers = async (name: string): Promise<void> => {
  const [mock, hand] = (await kept(10_000, 5000)).map((bytes) => number(bytes / 1024, 0))
  row(`${name}, KiB`, mock!, hand!, "", "", "", "", "", "< 1,024 KiB")
}

/** Memory doesn't vary much from process to process: the median of three. */
const bytes = (subject: "troupe" | "by-hand", which: "each" | "last"): number =>
  median([1, 2, 3].map(() => {
    const { bytes, kept } = memory(subject, which)
    return bytes / kept
  }))

const measureMemory = (name: string, which: "each" | "last", digits: number, aim: string): void => {
  const ours = bytes("troupe", which) / 1024
  const hand = bytes("by-hand", which) / 1024
  row(`${name}, KiB`, number(ours, digits), number(hand, digits), "", "", number(ours / hand, 2), "", "", aim)
}

const measureImport = (dist: string): void => {
  const { aiSdk, all, byHand, loop, withAiSdk } = coldImport(dist, Math.max(rounds, 15))
  for (
    const [name, { ratio, took }, aim] of [
      ["import of what is used", loop, "≤ 1.15"],
      ["import of what is used, with troupe/ai-sdk", withAiSdk, "≤ 1.25"],
      ["import of everything", all, ""]
    ] as const
  ) {
    const toAiSdk = aiSdk && ratio / aiSdk.ratio
    row(
      `${name}, ms`,
      number(took),
      number(byHand),
      number(aiSdk?.took),
      "",
      number(ratio, 2),
      number(toAiSdk, 2),
      "",
      aim
    )
  }
}

const measureBundles = async (dist: string): Promise<void> => {
  for (const [name, weigh] of [["esbuild", byEsbuild], ["Rollup", byRollup]] as const) {
    const ours = await weigh(dist, "troupe")
    const hand = await weigh(dist, "byHand")
    if (ours === undefined || hand === undefined) continue
    const kB = (bytes: number): string => number(bytes / 1000, 0)
    row(`bundle of one agent by ${name}, kB`, kB(ours), kB(hand), "", "", number(ours / hand, 2), "", "", "≤ 330 kB")
  }
}

const saved = "the saves of a turn of 1,000"
const served = "what stays of 10,000 requests to a mock provider"
const each = "each state kept of 1,000 steps"
const last = "the last state kept of 1,000 steps"
let dist: string | undefined
const built = (): string => dist ??= build()

/** The names of rows that are measured together, and what measures them. */
const groups: ReadonlyArray<readonly [rows: string, measure: () => Promise<void> | void]> = [
  ...workloads.map((workload) => [workload.name, () => measure(workload)] as const),
  ...modes.map((workload) => [workload.name, () => measureModes(workload)] as const),
  [`${behind.name}, by turns, by tokens, by turns, ten guardrails`, () => measureWindows(behind)],
  [under.name, () => measureGuardrails(under)],
  [mockCalls.name, () => measureMocks(mockCalls)],
  [`${saved}, while it talks, new logs included`, () => measureSaves(saved)],
  ...(["whole", "streamed"] as const).map((kind) => {
    const name = `requests to a mock provider in a second, ${kind}`
    return [name, () => measureThroughput(name, kind)] as const
  }),
  [served, () => measureServers(served)],
  [each, () => measureMemory(each, "each", 2, "≤ 1")],
  [last, () => measureMemory(last, "last", 0, "< 1,024 KiB")],
  ["import of what is used, with troupe/ai-sdk, import of everything", () => measureImport(built())],
  ["bundle of one agent by esbuild, by Rollup", () => measureBundles(built())]
]
const chosenGroups = groups.filter(([rows]) => isChosen(rows))
const natives = workloads.filter(({ name }) => isChosen(nativeName(name)))
if (chosenGroups.length + natives.length === 0) {
  const rows = [...groups.map(([rows]) => rows), ...workloads.map(({ name }) => nativeName(name))]
  console.error(`No row has "${only}" in its name; there are: ${rows.join("; ")}`)
  process.exit(1)
}

console.log(`Node ${process.version}, ${cpus().length} × ${cpus()[0]?.model.trim()}, medians of ${rounds} rounds.\n`)
if (aiSdk === undefined) {
  console.log("The AI SDK is left out: it isn't installed. `npm ci --prefix bench` installs it.\n")
}
if (openAiAgents === undefined) {
  console.log("OpenAI Agents is left out: it isn't installed. `npm ci --prefix bench` installs it.\n")
}
row("", "Troupe", "by hand", "AI SDK", "floor", "to by hand", "to AI SDK", "to floor", "aim")
row("---", "--:", "--:", "--:", "--:", "--:", "--:", "--:", "--:")
for (const [, measure] of chosenGroups) await measure()
if (natives.length > 0) {
  console.log("")
  row("", "Troupe, native", "AI SDK", "OpenAI Agents", "to AI SDK", "to OpenAI Agents", "aim to AI SDK")
  row("---", "--:", "--:", "--:", "--:", "--:", "--:")
  // The other rows come first: code that two kinds of models have run through is slower.
  for (const workload of natives) await measureNative(workload)
}
