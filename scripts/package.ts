/**
 * Checks the package as users get it: what the tarball holds, what each entry point weighs, and whether a fresh project
 * that installs it type-checks and runs, entry by entry and example by example, on every supported Node.
 *
 * Wants `npm run build` and `npm run checks` first.
 */
import { Effect } from "effect"
import { execFile, execFileSync, spawnSync } from "node:child_process"
import { cpSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { availableParallelism, tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { directory as examplesDirectory, path, write } from "./examples.ts"
import { weigh } from "./packageWeights.ts"

const root = resolve(import.meta.dirname, "..")

/** The Nodes that the library runs on. */
const majors = [20, 22, 24, 26]

const { exports }: {
  readonly exports: Readonly<Record<string, { readonly module: string; readonly default: string }>>
} = JSON.parse(readFileSync(join(root, "package.json"), "utf8"))

/** What users import. */
const names = Object.keys(exports).filter((name) => name !== "./package.json").map((name) =>
  name.replace(".", "troupe")
)
const entries = names.map((name) => exports[name.replace("troupe", ".")]!)

const allowed =
  /^(package\.json|README\.md|LICENSE|AGENTS\.md|CHANGELOG\.md|docs\/.+\.md|dist\/.+\.(js|d\.ts)(\.map)?|src\/.+\.ts)$/
const required = ["LICENSE", "README.md", "AGENTS.md", "CHANGELOG.md", "docs/start.md", "docs/errors.md"]

const temporary = mkdtempSync(join(tmpdir(), "troupe-package-"))
const failures: Array<string> = []
const check = (what: string, problems: ReadonlyArray<string>): void => {
  console.log(`${problems.length === 0 ? "ok  " : "FAIL"} ${what}`)
  for (const problem of problems) console.log(problem.replace(/^/gm, "     "))
  if (problems.length > 0) failures.push(what)
}

/** The environment of a user's shell: nothing of the npm script that runs this, and no bins of this project. */
const env = {
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(npm_|NODE_OPTIONS$)/i.test(name))),
  PATH: process.env["PATH"]?.split(":").filter((folder) => !folder.includes("node_modules")).join(":")
}

const said = (...texts: ReadonlyArray<string>): ReadonlyArray<string> =>
  texts.map((text) => text.trim()).filter((text) => text !== "")

/** What a command had to say when it failed. */
const run = (cwd: string, command: string, ...args: ReadonlyArray<string>): ReadonlyArray<string> => {
  const { error, status, stderr, stdout } = spawnSync(command, args, { cwd, env, encoding: "utf8" })
  return status === 0 ? [] : said(`${command} ${args.join(" ")}: ${error?.message ?? `exit ${status}`}`, stdout, stderr)
}

/** What a program had to say when it failed, run beside others. */
const runProgram = (cwd: string, node: string, program: string): Effect.Effect<ReadonlyArray<string>> =>
  Effect.callback((resume) => {
    const running = execFile(
      node,
      [join("out", program)],
      { cwd, env, encoding: "utf8" },
      (error, stdout, stderr) =>
        resume(Effect.succeed(error === null ? [] : said(`${program}: ${error.message}`, stdout, stderr)))
    )
    running.stdin?.end()
  })

/** What programs had to say that failed, where as many run side by side as the machine has cores. */
const runPrograms = (cwd: string, node: string, programs: ReadonlyArray<string>): Promise<ReadonlyArray<string>> =>
  Effect.runPromise(
    Effect.map(
      Effect.forEach(programs, (program) => runProgram(cwd, node, program), { concurrency: availableParallelism() }),
      (problems) => problems.flat()
    )
  )

const pack = (): string => {
  const json = execFileSync("npm", ["pack", "--json", "--ignore-scripts", "--pack-destination", temporary], {
    cwd: root,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"]
  })
  const [packed]: ReadonlyArray<{ filename: string; size: number; files: ReadonlyArray<{ path: string }> }> = JSON
    .parse(json)
  if (packed === undefined) throw new Error("npm pack packed nothing")
  const files = packed.files.map((file) => file.path)
  const built = globSync("**/*.ts", { cwd: join(root, "src") }).map((file) => file.replace(/\.ts$/, ""))
  const expected = [
    ...required,
    "dist/index.js",
    "dist/testing/index.js",
    "dist/ai-sdk/index.js",
    "dist/troupe.js",
    ...entries.flatMap(({ module, default: file }) => [module, file].map((path) => path.replace("./", ""))),
    ...built.flatMap((file) => [`src/${file}.ts`, `dist/${file}.d.ts`])
  ]
  check(`tarball: ${files.length} files, ${Math.round(packed.size / 1000)} kB`, [
    ...files.filter((file) => !allowed.test(file)).map((file) => `${file} doesn't belong in the package`),
    ...expected.filter((file) => !files.includes(file)).map((file) => `${file} is missing from the package`)
  ])
  return join(temporary, packed.filename)
}

/** A project outside of the repository with the tarball in it and the examples of the documentation as its sources. */
const install = (tarball: string, versions: Readonly<Record<string, string>>): string => {
  const consumer = join(temporary, "consumer")
  mkdirSync(join(consumer, "scripts"), { recursive: true })
  writeFileSync(join(consumer, "package.json"), JSON.stringify({ name: "consumer", private: true, type: "module" }))
  writeFileSync(
    join(consumer, "tsconfig.json"),
    JSON.stringify({
      compilerOptions: {
        target: "es2023",
        lib: ["es2023", "dom", "dom.iterable", "dom.asynciterable"],
        module: "nodenext",
        strict: true,
        exactOptionalPropertyTypes: true,
        rewriteRelativeImportExtensions: true,
        rootDir: ".",
        outDir: "out",
        types: ["node"],
        skipLibCheck: true
      },
      include: ["*.ts", "scripts", ".examples/**/*.ts"]
    })
  )
  for (const entry of names) {
    writeFileSync(
      join(consumer, `${entry.replace("/", "-")}.ts`),
      [
        `import * as entry from "${entry}"`,
        `const names = Object.keys(entry)`,
        `if (names.length === 0) throw new Error("${entry} exports nothing")`,
        `for (const [name, value] of Object.entries(entry)) if (value === undefined) throw new Error(name)`
      ].join("\n")
    )
  }
  cpSync(join(root, "scripts/claims.ts"), join(consumer, "scripts/claims.ts"))
  write()
  cpSync(examplesDirectory, join(consumer, ".examples"), { recursive: true })
  // A program of docs/mcp.md starts this server.
  cpSync(join(root, "examples/mcp"), join(consumer, "examples/mcp"), { recursive: true })
  check(
    "a fresh project installs it",
    run(
      consumer,
      "npm",
      "install",
      "--no-audit",
      "--no-fund",
      tarball,
      ...[
        "effect",
        "typescript",
        "@types/node",
        "@effect/opentelemetry",
        "@effect/platform-node",
        "@effect/sql-pg",
        "@opentelemetry/api",
        "@opentelemetry/resources",
        "@opentelemetry/sdk-trace-base",
        "@opentelemetry/semantic-conventions",
        "@ai-sdk/provider",
        "@ai-sdk/openai",
        "@ai-sdk/anthropic",
        "@ai-sdk/openai-compatible",
        "openai"
      ].map((name) => `${name}@${versions[name]}`)
    )
  )
  return consumer
}

/** A program with a model of the AI SDK's specification 3. */
const olderProgram = `import { createOpenAI } from "@ai-sdk/openai"
import { Effect } from "effect"
import { Agent, AgentState } from "troupe"
import { AiSdkModel } from "troupe/ai-sdk"
import { MockModel, MockProvider } from "troupe/testing"

const mock = MockProvider.make({ handler: MockModel.queue("It runs.") })
const model = createOpenAI({ apiKey: "none", fetch: mock.fetch })("gpt-5")
const program = Agent.run(Agent.make("assistant"), "Does it run?").pipe(
  Effect.map(AgentState.text),
  Effect.provide(AiSdkModel.layer(model, { maxOutputTokens: 1000, reasoning: "low" }))
)
const text: string = await Effect.runPromise(program)
if (text !== "It runs.") throw new Error(text)
`

/** Checks that a project takes the tarball whose own dependencies are the AI SDK's packages of specification 3. */
const installBesideOlder = (tarball: string, versions: Readonly<Record<string, string>>): void => {
  const folder = join(temporary, "older")
  const openai = versions["ai-sdk-openai-3"]?.replace("npm:", "") ?? ""
  const same = ["effect", "typescript", "@types/node"].map((name) => `${name}@${versions[name]}`)
  mkdirSync(folder)
  writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "older", private: true, type: "module" }))
  writeFileSync(join(folder, "main.ts"), olderProgram)
  const install = ["install", "--no-audit", "--no-fund"]
  const flags = [
    "--noEmit",
    "--skipLibCheck",
    "--strict",
    "--module",
    "nodenext",
    "--target",
    "es2023",
    "--types",
    "node"
  ]
  check("a project with the AI SDK's specification 3 installs it, type-checks and runs", [
    ...run(folder, "npm", ...install, "@ai-sdk/provider@3", openai, ...same),
    ...run(folder, "npm", ...install, tarball),
    ...run(folder, process.execPath, "node_modules/typescript/bin/tsc", ...flags, "main.ts"),
    ...run(folder, process.execPath, "main.ts")
  ])
}

/** A Node of the given major: this machine's own, the one that develops the project, or a fresh one. */
const nodeOf = (major: number): string => {
  for (const node of ["node", join(root, "node_modules/.bin/node")]) {
    const { stdout } = spawnSync(node, ["--version"], { env, encoding: "utf8" })
    if (stdout?.startsWith(`v${major}.`)) return node
  }
  const folder = join(temporary, `node-${major}`)
  mkdirSync(folder)
  writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true, allowScripts: { node: true } }))
  check(`Node ${major} installs`, run(folder, "npm", "install", "--no-audit", "--no-fund", `node@${major}`))
  return join(folder, "node_modules/.bin/node")
}

try {
  const tarball = pack()
  check(
    "publint",
    run(root, process.execPath, join(root, "checks/node_modules/.bin/publint"), "run", "--strict", tarball)
  )
  check(
    "attw",
    run(root, process.execPath, join(root, "checks/node_modules/.bin/attw"), "--profile", "esm-only", tarball)
  )
  const { devDependencies: versions }: { devDependencies: Readonly<Record<string, string>> } = JSON.parse(
    readFileSync(join(root, "package.json"), "utf8")
  )
  const consumer = install(tarball, versions)
  installBesideOlder(tarball, versions)
  const { dependencies = {} } = JSON.parse(readFileSync(join(consumer, "node_modules/troupe/package.json"), "utf8"))
  check("it depends on nothing but its peer", Object.keys(dependencies))
  for (const { problems, what } of weigh(consumer, (file) => run(consumer, process.execPath, file))) {
    check(what, problems)
  }
  check("it type-checks", run(consumer, process.execPath, "node_modules/typescript/bin/tsc"))
  const programs = [
    ...names.map((entry) => `${entry.replace("/", "-")}.js`),
    ...write().examples.map((example) => path(example).replace(/\.ts$/, ".js"))
  ]
  for (const major of majors) {
    const node = nodeOf(major)
    const { stdout: version } = spawnSync(node, ["--version"], { env, encoding: "utf8" })
    check("its command line runs", run(consumer, node, "node_modules/troupe/dist/troupe.js", "--help"))
    check(
      `${programs.length} programs run on Node ${version?.trim()}`,
      version?.startsWith(`v${major}.`)
        ? await runPrograms(consumer, node, programs)
        : [`no Node ${major}`]
    )
  }
} finally {
  rmSync(temporary, { recursive: true, force: true })
}

console.log(failures.length === 0 ? "package: ok" : `package: ${failures.length} checks fail: ${failures.join("; ")}`)
process.exitCode = failures.length === 0 ? 0 : 1
