/** The backend as a process of its own. */
import { spawn } from "node:child_process"
import { readFileSync } from "node:fs"
import { join } from "node:path"

export const token = "a-token-for-measuring"
export const colleagueToken = "a-token-for-deciding"

export interface Service {
  readonly url: string
  readonly pid: number
  /** What it said when it began to listen. */
  readonly greeting: string
  /** What it wrote beside that. */
  readonly log: () => string
  /** Sends a signal, and gives the exit code or the signal that ended it. */
  readonly end: (signal: NodeJS.Signals) => Promise<number | string>
}

const root = join(import.meta.dirname, "../..")

/** Where it listens, where it keeps conversations, and which model it asks. */
const greetingOf = /^Listens on (http:\/\/[^,\s]+),.*\n.*\n.*\n/m

/**
 * Starts the service over a folder, on a port that is free or on the one given, and waits until it listens. It asks the
 * embedded model, unless `env` names another.
 */
export const start = (
  data: string,
  port = 0,
  env: Readonly<Record<string, string | undefined>> = {}
): Promise<Service> =>
  new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ["--conditions=@troupe/source", "examples/backend/main.ts"], {
      cwd: root,
      env: {
        ...process.env,
        OPENAI_MODEL: undefined,
        ANTHROPIC_MODEL: undefined,
        HOST: "127.0.0.1",
        PORT: String(port),
        DATA: data,
        TOKENS: `bench=${token}`,
        COLLEAGUE_TOKENS: `bench=${colleagueToken}`,
        LIMIT_RATE: "100000000",
        LIMIT_RUNS: "100000",
        LIMIT_STREAMS: "100000",
        ...env
      },
      stdio: ["ignore", "pipe", "pipe"]
    })
    let output = ""
    const ended = new Promise<number | string>((resolve) => {
      child.once("exit", (code, signal) => resolve(signal ?? code ?? "?"))
    })
    const take = (text: string) => {
      output += text
      const [greeting, url] = greetingOf.exec(output) ?? []
      if (greeting === undefined || url === undefined) return
      resolve({
        url,
        pid: child.pid!,
        greeting,
        log: () => output.replace(greeting, "").trim(),
        end: (signal) => {
          child.kill(signal)
          return ended
        }
      })
    }
    child.stdout.setEncoding("utf8").on("data", take)
    child.stderr.setEncoding("utf8").on("data", take)
    void ended.then((how) => reject(new Error(`the service ended (${how}):\n${output}`)))
  })

/** The memory of a process, in megabytes. */
export const memoryOf = (pid: number): number => {
  const kilobytes = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]
  return Number(kilobytes) / 1024
}
