/**
 * The floors of `src`, and the rooms of the floor `agent`: a file imports from its own or from a lower one, and type imports count.
 *
 * Rules:
 * 1. a file of `src` stands on a floor or is `src/index.ts`, the roof, which reads the floors of the core
 * 2. a floor reads itself and what `floors` lists beside it, and nothing reads the roof
 * 3. the core depends on `effect` alone, and `ai-sdk`, which is no part of it, on the types of `@ai-sdk/provider` too
 * 4. `domain` is data and functions on it: it reads no module of Effect that holds programs
 * 5. a file of `agent` stands in a room or is a public module, which reads the rooms
 * 6. a room reads itself and what `rooms` lists beside it, and nothing in `agent` reads a public module
 * 7. `rules` are functions of what they are given: they read no module of Effect that holds programs
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
  model: [],
  agent: ["domain", "handoff", "modes", "model"],
  testing: ["domain", "agent", "model"],
  "ai-sdk": ["model"],
  cluster: ["domain", "handoff", "modes", "agent"]
}

/**
 * The rooms of `agent`: what an agent is (`definition`), what must happen (`rules`), what has happened and who sees it (`journal`), one
 * verb done to the world (`perform`), its order (`run`), many runs of one conversation (`session`). What a `guardrail` and a `window` are made
 * with stands above: what performs them is carried by them, so that only programs that have some load it.
 */
export const rooms: Readonly<Record<string, ReadonlyArray<string>>> = {
  session: ["run", "perform", "journal", "rules", "definition"],
  run: ["perform", "journal", "rules", "definition"],
  guardrail: ["perform", "definition"],
  window: ["definition"],
  perform: ["journal", "rules", "definition"],
  journal: ["rules", "definition"],
  rules: ["definition"],
  definition: [],
  trace: ["journal"]
}

/** The public modules of `agent`, over its rooms. */
const modules: ReadonlyArray<string> = ["Agent.ts", "ContextWindow.ts", "Guardrail.ts", "Session.ts", "StopWhen.ts"]

/** Floors that have entry points of their own. */
const aside: ReadonlyArray<string> = ["testing", "ai-sdk", "cluster"]

/** What a floor may import beside Effect, its types only: nobody has to install it to load the floor. */
const typed: Readonly<Record<string, string>> = { "ai-sdk": "@ai-sdk/provider" }

const roof = "index.ts"

const programs = new RegExp(`^effect/(${
  [
    String.raw`(Fiber|Layer|Rc|Request|Scoped|Tx)\w*`,
    "Cache|Channel|ChannelSchema|Clock|Config|ConfigProvider|Console|Deferred|Effect|Effectable|ErrorReporter",
    "ExecutionPlan|FileSystem|Latch|Logger|ManagedRuntime|Metric|PartitionedSemaphore|Path|Pool|PubSub|Pull|Queue",
    "Random|Ref|Resource|Runtime|Schedule|Scheduler|Scope|Semaphore|Sink|Stdio|Stream|SubscriptionRef",
    "SynchronizedRef|Take|Terminal|Tracer",
    String.raw`ai/(Chat|DecisionModel|EmbeddingModel|IdGenerator|LanguageModel|Mcp\w+|Model|Telemetry)`,
    "(?!ai/|encoding/Base64$)[a-z-]+/.+"
  ].join("|")
})$`)

export interface Violation {
  readonly file: string
  readonly line: number
  readonly message: string
}

interface Import {
  readonly specifier: string
  readonly offset: number
  readonly isType: boolean
}

/** What a program imports or re-exports, in any spelling. */
const imports = (program: Program): ReadonlyArray<Import> => {
  const found: Array<Import> = []
  const add = (node: { readonly type: string; readonly start: number } | null, isType = false): void => {
    if (node !== null && "value" in node && typeof node.value === "string") {
      found.push({ specifier: node.value, offset: node.start, isType })
    }
  }
  new Visitor({
    ImportDeclaration: (node) => add(node.source, node.importKind === "type"),
    ExportNamedDeclaration: (node) => add(node.source, node.exportKind === "type"),
    ExportAllDeclaration: (node) => add(node.source, node.exportKind === "type"),
    ImportExpression: (node) => add(node.source),
    TSImportType: (node) => add(node.source, true),
    TSExternalModuleReference: (node) => add(node.expression),
    TSModuleDeclaration: (node) => add(node.id)
  }).visit(program)
  return found
}

/** The room of `agent` that a path in `src` leads into, or the public module that it is. */
const roomOf = (path: string): string | undefined => path.startsWith("agent/") ? path.split("/")[1] : undefined

/** Why a file of `agent` may not import another one, if so. */
const objectionOfRoom = (at: string, target: string): string | undefined => {
  const room = roomOf(at)!
  const other = roomOf(target)
  if (other === undefined || other === room || (modules.includes(room) && !modules.includes(other))) return undefined
  if (modules.includes(other)) return "nothing in agent reads a public module"
  return rooms[room]!.includes(other) ? undefined : `${room} reads ${rooms[room]!.join(", ") || "no other room"}`
}

/** Why a file on `floor` may not import `specifier`, if so. `at` is the file's path in `src`. */
const objection = (floor: string, at: string, { isType, specifier }: Import): string | undefined => {
  if (!specifier.startsWith(".")) {
    if (specifier === typed[floor]) return isType ? undefined : "only its types"
    if (specifier !== "effect" && !specifier.startsWith("effect/")) return "the core depends on effect alone"
    const pure = floor === "domain" ? floor : roomOf(at) === "rules" ? "rules" : undefined
    return pure !== undefined && programs.test(specifier) ? `${pure} holds no programs` : undefined
  }
  const target = posix.join(posix.dirname(at), specifier)
  if (target === roof) return "nothing reads the roof"
  const other = target.split("/")[0]!
  if (floor === roof) return aside.includes(other) ? `${other} has its own entry point` : undefined
  if (other === floor) return floor === "agent" ? objectionOfRoom(at, target) : undefined
  if (floors[floor]!.includes(other)) return undefined
  return `${floor} reads ${floors[floor]!.join(", ") || "no other floor"}`
}

/** Why a file has no place in `src`, if so. */
const misplaced = (at: string): string | undefined => {
  const floor = at.split("/")[0]!
  if (floor !== roof && !(at.includes("/") && floor in floors)) {
    return `stands on no floor: ${Object.keys(floors).join(", ")}`
  }
  const room = roomOf(at)
  if (room === undefined || modules.includes(room) || (at.split("/").length > 2 && room in rooms)) return undefined
  return `stands in no room of agent: ${Object.keys(rooms).join(", ")}`
}

/** Every import of `files`, path in `src` to source, that breaks a rule. */
export const violations = (files: Readonly<Record<string, string>>): ReadonlyArray<Violation> =>
  Object.entries(files).flatMap(([at, source]) => {
    const file = `src/${at}`
    const floor = at.split("/")[0]!
    const message = misplaced(at)
    if (message !== undefined) return [{ file, line: 1, message }]
    const { errors, program } = parseSync(file, source)
    if (errors.length > 0) return [{ file, line: 1, message: "does not parse" }]
    return imports(program).flatMap((imported) => {
      const message = objection(floor, at, imported)
      if (message === undefined) return []
      const { offset, specifier } = imported
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
