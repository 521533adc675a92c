/**
 * The floors of `src`: a file imports from its own floor or one below, and type imports count.
 *
 * Rules:
 * 1. a file of `src` stands on a floor or is `src/index.ts`, the roof, which reads every floor but `testing`
 * 2. a floor reads itself and what `floors` lists beside it, and nothing reads the roof
 * 3. the core depends on `effect` alone
 * 4. `domain` is data and functions on it: it reads no module of Effect that holds programs
 *
 * Circles are the linter's (`import/no-cycle`).
 */
import { globSync, readFileSync } from "node:fs"
import { posix } from "node:path"
import { parseSync, type Program, Visitor } from "oxc-parser"

export const floors: Readonly<Record<string, ReadonlyArray<string>>> = {
  domain: [],
  handoff: ["domain"],
  modes: ["domain"],
  agent: ["domain", "handoff", "modes"],
  testing: ["domain", "agent"]
}

const roof = "index.ts"

const programs = new RegExp(`^effect/(${
  [
    String.raw`(Fiber|Layer|Rc|Request|Scoped|Tx)\w*`,
    "Cache|Channel|ChannelSchema|Clock|Config|ConfigProvider|Console|Deferred|Effect|Effectable|ErrorReporter",
    "ExecutionPlan|FileSystem|Latch|Logger|ManagedRuntime|Metric|PartitionedSemaphore|Path|Pool|PubSub|Pull|Queue",
    "Random|Ref|Resource|Runtime|Schedule|Scheduler|Scope|Semaphore|Sink|Stdio|Stream|SubscriptionRef",
    "SynchronizedRef|Take|Terminal|Tracer",
    String.raw`ai/(Chat|DecisionModel|EmbeddingModel|IdGenerator|LanguageModel|Mcp\w+|Model|Telemetry)`,
    "(?!ai/)[a-z-]+/.+"
  ].join("|")
})$`)

export interface Violation {
  readonly file: string
  readonly line: number
  readonly message: string
}

/** What a program imports or re-exports, in any spelling, with the offset of each. */
const imports = (program: Program): ReadonlyArray<readonly [specifier: string, offset: number]> => {
  const found: Array<readonly [string, number]> = []
  const add = (node: { readonly type: string; readonly start: number } | null): void => {
    if (node !== null && "value" in node && typeof node.value === "string") found.push([node.value, node.start])
  }
  new Visitor({
    ImportDeclaration: (node) => add(node.source),
    ExportNamedDeclaration: (node) => add(node.source),
    ExportAllDeclaration: (node) => add(node.source),
    ImportExpression: (node) => add(node.source),
    TSImportType: (node) => add(node.source),
    TSExternalModuleReference: (node) => add(node.expression),
    TSModuleDeclaration: (node) => add(node.id)
  }).visit(program)
  return found
}

/** Why a file on `floor` may not import `specifier`, if so. `at` is the file's path in `src`. */
const objection = (floor: string, at: string, specifier: string): string | undefined => {
  if (!specifier.startsWith(".")) {
    if (specifier !== "effect" && !specifier.startsWith("effect/")) return "the core depends on effect alone"
    return floor === "domain" && programs.test(specifier) ? "domain holds no programs" : undefined
  }
  const target = posix.join(posix.dirname(at), specifier)
  if (target === roof) return "nothing reads the roof"
  const other = target.split("/")[0]!
  if (floor === roof) return other === "testing" ? "testing has its own entry point" : undefined
  if (other === floor || floors[floor]!.includes(other)) return undefined
  return `${floor} reads ${floors[floor]!.join(", ") || "no other floor"}`
}

/** Every import of `files`, path in `src` to source, that breaks a rule. */
export const violations = (files: Readonly<Record<string, string>>): ReadonlyArray<Violation> =>
  Object.entries(files).flatMap(([at, source]) => {
    const file = `src/${at}`
    const floor = at.split("/")[0]!
    if (floor !== roof && !(at.includes("/") && floor in floors)) {
      return [{ file, line: 1, message: `stands on no floor: ${Object.keys(floors).join(", ")}` }]
    }
    const { errors, program } = parseSync(file, source)
    if (errors.length > 0) return [{ file, line: 1, message: "does not parse" }]
    return imports(program).flatMap(([specifier, offset]) => {
      const message = objection(floor, at, specifier)
      if (message === undefined) return []
      return [{ file, line: source.slice(0, offset).split("\n").length, message: `imports "${specifier}": ${message}` }]
    })
  })

if (import.meta.main) {
  const src = posix.join(import.meta.dirname, "../src")
  const paths = globSync("**/*.ts", { cwd: src })
  const found = violations(Object.fromEntries(paths.map((path) => [path, readFileSync(posix.join(src, path), "utf8")])))
  for (const { file, line, message } of found) console.error(`${file}:${line} ${message}`)
  console.log(`floors: ${paths.length} files, ${found.length} violations`)
  process.exitCode = found.length === 0 && paths.length > 0 ? 0 : 1
}
