/** The backend as a process of its own. */
import { type ChildProcess, spawn } from "node:child_process"
import { readFileSync } from "node:fs"
import { join } from "node:path"

export const token = "a-token-for-measuring"

export interface Service {
  readonly url: string
  readonly process: ChildProcess
  /** The exit code or the signal that ended it. */
  readonly ended: Promise<number | string>
  /** What it wrote beside its first lines. */
  readonly log: () => string
}

const root = join(import.meta.dirname, "../..")

/** Starts the service over a folder, on a port that is free or on the one given, and waits until it listens. */
export const start = (data: string, port = 0, env: Record<string, string> = {}): Promise<Service> =>
  new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ["--conditions=@troupe/source", "examples/backend/main.ts"], {
      cwd: root,
      env: {
        ...process.env,
        HOST: "127.0.0.1",
        PORT: String(port),
        DATA: data,
        TOKENS: `bench=${token}`,
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
      const url = /^Listens on (http:\/\/[^,\s]+)/m.exec(output)?.[1]
      if (url !== undefined) resolve({ url, process: child, ended, log: () => output })
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
