/** Runners of their own processes on a Postgres, for measurements, and what they and their server have worked. */
import { Effect } from "effect"
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { postgresAt, schemaOf } from "../../test/cluster/databases.ts"
import type { RunnerOptions } from "../../test/cluster/fixtures/options.ts"
import { member } from "../../test/cluster/processes/clients.ts"
import { start } from "../../test/cluster/processes/runners.ts"

/** After how many milliseconds the lock of a dead runner expires, as `Conversation.sharding` has it. */
const expiration = 6000

/** Starts runners on an empty schema, and a client in this process. */
export const cluster = (url: string, count: number, options: Partial<RunnerOptions> = {}) =>
  Effect.gen(function*() {
    const schema = yield* schemaOf(url)
    const place = yield* Effect.acquireRelease(
      Effect.sync(() => mkdtempSync(join(tmpdir(), "runners-"))),
      (place) => Effect.sync(() => rmSync(place, { recursive: true }))
    )
    const add = start({ url, schema, did: join(place, "did.jsonl"), expiration, ...options })
    const runners = yield* Effect.all(Array.from({ length: count }, () => add), { concurrency: "unbounded" })
    const client = yield* member(url, schema, expiration, options.isDelayed)
    // Shards are dealt out within two refreshes of the assignments.
    yield* Effect.sleep(expiration / 2)
    return { add, client, runners, sql: postgresAt(url, schema) }
  })

const ticks = 100

/** The seconds that a process was on a processor, and those of its children that have ended. */
const processorOf = (pid: number): number => {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8").replace(/^.*\) /, "").split(" ").map(Number)
    return (fields[11]! + fields[12]! + fields[13]! + fields[14]!) / ticks
  } catch {
    return 0
  }
}

const parentOf = (pid: string): number => {
  try {
    return Number(readFileSync(`/proc/${pid}/stat`, "utf8").replace(/^.*\) /, "").split(" ")[1])
  } catch {
    return 0
  }
}

/** The seconds that a process and its children were on a processor. */
export const processorTime = (pid: number): number =>
  readdirSync("/proc").filter((name) => /^\d+$/.test(name) && parentOf(name) === pid)
    .reduce((sum, child) => sum + processorOf(Number(child)), processorOf(pid))
