/**
 * The backend under load: conversations side by side on the embedded model, for some time.
 *
 *     npx node bench/backend/load.ts --conversations 500 --seconds 60 --drop 0.1 --reconnect 0.1
 *
 * `--drop` is the share of clients that leave their stream in the middle and ask later what became of it, `--reconnect` of
 * those that leave it and come back with `Last-Event-ID`. Each client checks that the events of a run are all there, once
 * and in order. Ends with 1 where something was wrong.
 */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { parseArgs } from "node:util"
import { Client, isEnd, isPiece, messages, pick, Refused, type Told } from "./client.ts"
import { memoryOf, start } from "./service.ts"

const { values } = parseArgs({
  options: {
    conversations: { type: "string", default: "500" },
    seconds: { type: "string", default: "60" },
    drop: { type: "string", default: "0" },
    reconnect: { type: "string", default: "0" },
    turns: { type: "string", default: "3" }
  }
})
const [count, seconds, drop, reconnect, turns] = [
  values.conversations,
  values.seconds,
  values.drop,
  values.reconnect,
  values.turns
].map(Number) as [number, number, number, number, number]

const data = mkdtempSync(join(tmpdir(), "backend-load-"))
const service = await start(data)
const client = new Client(service.url)

const errors = new Map<string, number>()
const accepted: Array<number> = []
const awaited: Array<number> = []
let refused = 0
const answered: Array<number> = []
let told = 0
let reconnects = 0
let drops = 0
const end = performance.now() + seconds * 1000

const fail = (what: string): void => {
  errors.set(what, (errors.get(what) ?? 0) + 1)
}

/** Follows a run to its end, and checks that nothing is missing and nothing there twice. */
const follow = async (id: string, cursor: number, leaves: boolean): Promise<void> => {
  let last = cursor
  const take = (event: Told): void => {
    told++
    if (isPiece(event)) {
      if (event.id !== last) fail("a piece has another number than the event before it")
      return
    }
    if (event.id <= last) fail("an event came twice, or out of order")
    if (event.id > last + 1) fail("an event is missing")
    last = event.id
  }
  while (true) {
    let left = leaves ? 1 + Math.floor(Math.random() * 20) : Number.POSITIVE_INFINITY
    let isOver = false
    await client.events(id, last, (event) => {
      take(event)
      isOver = isEnd(event)
      return isOver || --left === 0
    })
    if (isOver) return
    if (left > 0) return fail("a stream ended")
    reconnects++
  }
}

/** Leaves in mid-answer, and asks later what became of it. */
const leave = async (id: string, cursor: number): Promise<void> => {
  let left = 1 + Math.floor(Math.random() * 10)
  await client.events(id, cursor, (event) => {
    told++
    return --left === 0 || isEnd(event)
  })
  drops++
  while ((await client.read(id)).isRunning) await sleep(20)
}

/** Asks until it is taken in: what is refused with 429 is asked again in the second after the one that the service says. */
const insist = async <A>(ask: () => Promise<A>): Promise<A> => {
  const begun = performance.now()
  while (true) {
    const asked = performance.now()
    try {
      const answer = await ask()
      accepted.push(performance.now() - asked)
      awaited.push(performance.now() - begun)
      return answer
    } catch (error) {
      if (!(error instanceof Refused) || error.status !== 429) throw error
      refused++
      await sleep((error.retryAfter + Math.random()) * 1000)
    }
  }
}

const converse = async (kind: "stays" | "drops" | "reconnects"): Promise<void> => {
  while (performance.now() < end) {
    try {
      const { id } = await client.open()
      for (let turn = 0; turn < turns; turn++) {
        const said = performance.now()
        const text = pick(messages)
        const { cursor } = await insist(() => client.say(id, text, `${turn}`))
        if (kind === "drops") await leave(id, cursor)
        else await follow(id, cursor, kind === "reconnects")
        answered.push(performance.now() - said)
        for (const { callId } of (await client.read(id)).approvals) {
          const decision = pick(["approve", "deny"])
          const { cursor } = await insist(() => client.resolve(id, callId, decision))
          await follow(id, cursor, kind === "reconnects")
        }
      }
      const { state } = await client.read(id)
      const users = state.conversation.turns.filter(({ _tag }) => _tag === "User").length
      if (users !== turns || state.conversation.turns.at(-1)?._tag !== "Assistant") fail("a message has no answer")
      await client.remove(id)
    } catch (error) {
      fail(
        error instanceof Error
          ? `${error.message} ${String(error.cause ?? "")}`.replaceAll(/[0-9a-f-]{36}/g, "<id>")
          : String(error)
      )
      await sleep(100)
    }
  }
}

const quantile = (numbers: ReadonlyArray<number>, q: number): string =>
  `${
    (numbers.toSorted((a, b) => a - b)[Math.min(numbers.length - 1, Math.floor(numbers.length * q))] ?? 0).toFixed(0)
  } ms`

const memory: Array<number> = []
const sampling = setInterval(() => memory.push(memoryOf(service.pid)), 1000)
const kindOf = (index: number) =>
  index < count * drop ? "drops" : index < count * (drop + reconnect) ? "reconnects" : "stays"
await Promise.all(Array.from({ length: count }, (_, index) => converse(kindOf(index))))
clearInterval(sampling)
const took = seconds + (performance.now() - end) / 1000

console.log(`${count} conversations at a time for ${seconds} s`)
console.log(`answers:      ${answered.length}, ${(answered.length / took).toFixed(0)} a second`)
console.log(`events told:  ${told}, ${(told / took).toFixed(0)} a second`)
console.log(`taken in:     ${[0.5, 0.95, 0.99].map((q) => quantile(accepted, q)).join(", ")} (median, 95 %, 99 %)`)
console.log(
  `refused:      ${refused} with 429; taken in after ${
    [0.5, 0.95, 0.99].map((q) => quantile(awaited, q)).join(", ")
  } with that`
)
console.log(`answered:     ${[0.5, 0.95, 0.99].map((q) => quantile(answered, q)).join(", ")} (median, 95 %, 99 %)`)
console.log(`left:         ${drops} dropped, ${reconnects} came back`)
const step = Math.max(1, Math.floor(memory.length / 12))
const shown = memory.filter((_, index) => index % step === step - 1)
console.log(`memory:       ${shown.map((megabytes) => megabytes.toFixed(0)).join(" ")} MB, every ${step} s`)
console.log(`errors:       ${[...errors.values()].reduce((sum, count) => sum + count, 0)}`)
for (const [what, count] of errors) console.log(`  ${count} × ${what}`)

const how = await service.end("SIGTERM")
if (how !== 0) console.log(`the service ended with ${how}`)
const log = service.log()
if (log !== "") console.log(log.slice(0, 3000))
rmSync(data, { recursive: true })
process.exitCode = errors.size > 0 || how !== 0 || log !== "" ? 1 : 0
