/** Runners as processes: how one is started, ended and frozen, and what has happened to it. */
import { Deferred, Effect, type Scope } from "effect"
import { type ChildProcess, spawn } from "node:child_process"
import { createServer } from "node:net"
import { join } from "node:path"
import { createInterface } from "node:readline"
import type { RunnerOptions } from "../fixtures/options.ts"

export interface Runner {
  readonly pid: number
  readonly port: number
  readonly ended: Deferred.Deferred<number | string>
  /** When something was done to it, or it stood still, that may leave calls unknown, in epoch milliseconds. */
  readonly harmed: Array<number>
  isEnding: boolean
  readonly signal: (signal: NodeJS.Signals) => void
  /** Asks for its memory, after its garbage is collected. */
  readonly memory: Effect.Effect<{ readonly heap: number; readonly rss: number }>
  readonly output: ReadonlyArray<string>
}

const freePort = Effect.callback<number>((resume) => {
  const server = createServer().listen(0, "127.0.0.1", () => {
    const { port } = server.address() as { port: number }
    server.close(() => resume(Effect.succeed(port)))
  })
})

const runner = join(import.meta.dirname, "..", "fixtures", "runner.ts")

const begin = (options: RunnerOptions): ChildProcess =>
  spawn(
    process.execPath,
    ["--conditions=@troupe/source", "--expose-gc", runner, JSON.stringify(options)],
    { stdio: ["pipe", "pipe", "pipe"] }
  )

/** Starts a runner, and waits until it takes part in its cluster. It is killed with the scope. */
export const start = (options: Omit<RunnerOptions, "port">): Effect.Effect<Runner, never, Scope.Scope> =>
  Effect.gen(function*() {
    const port = yield* freePort
    const child = yield* Effect.acquireRelease(
      Effect.sync(() => begin({ ...options, port })),
      (child) => Effect.sync(() => void child.kill("SIGKILL"))
    )
    const ended = Deferred.makeUnsafe<number | string>()
    const isUp = Deferred.makeUnsafe<void>()
    const output: Array<string> = []
    const harmed: Array<number> = []
    const lines = createInterface({ input: child.stdout! })
    lines.on("line", (line) => {
      if (line === "up") Deferred.doneUnsafe(isUp, Effect.void)
      else if (line === "stalled") harmed.push(Date.now())
      else if (!line.startsWith("{")) output.push(line)
    })
    createInterface({ input: child.stderr! }).on("line", (line) => output.push(line))
    child.once("exit", (code, signal) => Deferred.doneUnsafe(ended, Effect.succeed(signal ?? code ?? "?")))
    const early = Effect.flatMap(
      Deferred.await(ended),
      (how) => Effect.die(new Error(`A runner ended before it was up, with ${how}:\n${output.join("\n")}`))
    )
    yield* Effect.raceFirst(Deferred.await(isUp), early)
    return {
      pid: child.pid!,
      port,
      ended,
      harmed,
      isEnding: false,
      output,
      signal: (signal) => void child.kill(signal),
      memory: Effect.callback((resume) => {
        lines.once("line", (line) => resume(Effect.succeed(JSON.parse(line) as { heap: number; rss: number })))
        child.stdin!.write("memory\n")
      })
    }
  })
