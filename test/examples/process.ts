/** Programs as processes of their own. */
import { buildSync } from "esbuild"
import { type ChildProcess, type ChildProcessWithoutNullStreams, spawn, spawnSync } from "node:child_process"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { threadId } from "node:worker_threads"

export interface Outcome {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

const args = (path: string, rest: ReadonlyArray<string>): Array<string> => [
  "--conditions=@troupe/source",
  path,
  ...rest
]

/** Programs share what Node compiled of their sources: most of a short program's time goes there. */
const environment = {
  ...process.env,
  FORCE_COLOR: undefined,
  NO_COLOR: undefined,
  NODE_OPTIONS: undefined,
  OPENAI_MODEL: undefined,
  ANTHROPIC_MODEL: undefined,
  NODE_COMPILE_CACHE: join(tmpdir(), "troupe-compile-cache")
}

const outcome = (child: ChildProcess, onOutput: (stdout: string) => void = () => {}): Promise<Outcome> =>
  new Promise((resolve, reject) => {
    let stdout = ""
    let stderr = ""
    child.stdout?.setEncoding("utf8").on("data", (text: string) => onOutput(stdout += text))
    child.stderr?.setEncoding("utf8").on("data", (text: string) => stderr += text)
    child.on("error", reject)
    child.on("close", (code) => resolve({ code, stdout, stderr }))
  })

/**
 * Bundles a program that tests start many times, and returns the path of its bundle: from there it starts in a third of the time. Each
 * thread makes a bundle of its own, so that none is read while another thread writes it.
 */
export const bundle = (path: string): string => {
  const outfile = resolve("node_modules/.cache/programs", String(threadId), path.replace(/\.ts$/, ".js"))
  buildSync({
    entryPoints: [path],
    outfile,
    bundle: true,
    platform: "node",
    format: "esm",
    conditions: ["@troupe/source"],
    banner: { js: `import { createRequire } from "node:module"; const require = createRequire(import.meta.url)` }
  })
  return outfile
}

/** Starts a program. */
export const start = (
  path: string,
  rest: ReadonlyArray<string> = [],
  env: Readonly<Record<string, string>> = {}
): ChildProcessWithoutNullStreams => spawn(process.execPath, args(path, rest), { env: { ...environment, ...env } })

/** Runs a program on some input, to its end. */
export const run = (
  path: string,
  rest: ReadonlyArray<string> = [],
  input = "",
  env: Readonly<Record<string, string>> = {}
): Promise<Outcome> => {
  const child = start(path, rest, env)
  child.stdin.end(input)
  return outcome(child)
}

/** Runs a program and stops reading what it prints after the first piece. */
export const runUnread = (path: string, rest: ReadonlyArray<string>, input: string): Promise<Outcome> => {
  const child = start(path, rest)
  child.stdin.on("error", () => {})
  child.stdin.end(input)
  return outcome(child, () => child.stdout.destroy())
}

const quoted = (word: string): string => `'${word.replaceAll("'", `'\\''`)}'`

/** Node makes no terminals: the program of util-linux that does has to be there. */
const assertScript = (): void => {
  const { stdout } = spawnSync("script", ["--version"], { encoding: "utf8" })
  if (stdout?.includes("util-linux") === true) return
  throw new Error(
    "These tests run the desk at a terminal, which `script` of util-linux makes: install it, on Debian by `apt-get install bsdutils`"
  )
}

/**
 * Runs a program at a pseudo-terminal: whenever what was printed since then holds the next cue, its keys are typed.
 */
export const runAtTerminal = (
  path: string,
  rest: ReadonlyArray<string>,
  script: ReadonlyArray<readonly [cue: string, keys: string]>,
  env: Readonly<Record<string, string>> = {}
): Promise<Outcome> => {
  assertScript()
  const command = [process.execPath, ...args(path, rest)].map(quoted).join(" ")
  const child = spawn("script", ["-qefc", command, "/dev/null"], { env: { ...environment, ...env, TERM: "xterm" } })
  const limit = setTimeout(() => child.kill(), 15_000)
  child.on("close", () => clearTimeout(limit))
  child.stdin.on("error", () => {})
  let next = 0
  let seen = 0
  return outcome(child, (stdout) => {
    for (let line = script[next]; line !== undefined; line = script[++next]) {
      const at = stdout.indexOf(line[0], seen)
      if (at < 0) return
      seen = at + line[0].length
      child.stdin.write(line[1])
    }
  })
}
