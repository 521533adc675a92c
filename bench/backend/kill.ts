/**
 * The backend killed at random moments under load, and started again over the same folder, many times.
 *
 *     npx node bench/backend/kill.ts --kills 100 --clients 20
 *
 * With `--instances 2` and `DATABASE_URL` two processes share one Postgres: each request goes to any of them, each kill meets any
 * of them.
 *
 * Clients go on whatever happens: they repeat what they have no answer to, under the same key, and come back to their streams
 * with `Last-Event-ID`. At the end each conversation has to be there, legal, and answered: every message that was taken in
 * stands in it once and in order, every event that is kept was told, no call ran again after its result was told, and no run was
 * broken off but by a kill: no two processes ran one conversation at a time. Ends with 1 where something is wrong.
 */
import { Result } from "effect"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { parseArgs } from "node:util"
import { AgentState } from "../../src/index.ts"
import { Client, isDecision, isEnd, isPiece, messages, pick, Refused, type Told, type View } from "./client.ts"
import { type Service, start } from "./service.ts"

const { values } = parseArgs({
  options: {
    kills: { type: "string", default: "100" },
    clients: { type: "string", default: "20" },
    instances: { type: "string", default: "1" }
  }
})
const kills = Number(values.kills)
const data = mkdtempSync(join(tmpdir(), "backend-kill-"))

const problems: Array<string> = []
const logs: Array<string> = []
/** Whether clients shall say no more. */
const closing = { isNear: false }
/** When processes were killed, in epoch milliseconds: in the time between the signal and their end. */
const killed: Array<{ readonly from: number; readonly to: number }> = []

/** A conversation as its client knows it. */
interface Known {
  readonly id: string
  /** What was said and taken in, in order. */
  readonly said: Array<string>
  /** The events that were told, on any of its streams. */
  readonly told: Array<Told>
}

const conversations: Array<Known> = []

/** Each process looks often for what nobody runs: one that took what another runs would show. */
const begin = (port?: number): Promise<Service> => start(data, port)

const instances: Array<{ service: Service; readonly port: number; readonly client: Client }> = []
for (let n = 0; n < Number(values.instances); n++) {
  const service = await begin()
  instances.push({ service, port: Number(new URL(service.url).port), client: new Client(service.url) })
}
/** A client of any of the instances. */
const client = (): Client => pick(instances).client

/** Ends a process, and keeps what it logged. */
const end = async (service: Service, signal: NodeJS.Signals): Promise<number | string> => {
  const how = await service.end(signal)
  logs.push(service.log())
  return how
}

/** Does something until it is answered: the service may be away, or die before it answers. */
const insist = async <A>(
  f: () => Promise<A>,
  accepts: (error: Refused) => A | undefined = () => undefined
): Promise<A> => {
  while (true) {
    try {
      return await f()
    } catch (error) {
      if (error instanceof Refused && error.status < 500 && error.status !== 409 && error.status !== 429) {
        const answer = accepts(error)
        if (answer !== undefined) return answer
        throw error
      }
      await sleep(50)
    }
  }
}

/** Reads events until the conversation rests, whoever dies meanwhile. */
const follow = async (known: Known): Promise<View> => {
  while (true) {
    const view = await insist(() => client().read(known.id))
    const last = known.told.at(-1)
    if (!view.isRunning && (last?.id ?? 0) >= view.cursor) return view
    if (last !== undefined && isEnd(last) && view.cursor < last.id) {
      // The end of the run was told, and isn't saved yet: nothing more may come.
      await sleep(50)
      continue
    }
    try {
      await client().events(known.id, last?.id ?? 0, (told) => {
        if (isPiece(told)) return false
        if (told.id <= (known.told.at(-1)?.id ?? 0)) {
          problems.push(`${known.id}: event ${told.id} came twice, or out of order`)
        }
        known.told.push(told)
        return isEnd(told)
      })
    } catch {
      await sleep(50)
    }
  }
}

const converse = async (): Promise<void> => {
  while (!closing.isNear) {
    const { id } = await insist(() => client().open())
    const known: Known = { id, said: [], told: [] }
    conversations.push(known)
    for (let turn = 0; turn < 5 && !closing.isNear; turn++) {
      const text = pick(messages)
      await insist(() => client().say(id, text, String(turn)))
      known.said.push(text)
      let view = await follow(known)
      while (view.approvals.length > 0) {
        const { callId } = view.approvals[0]!
        // Where the answer was lost, the call doesn't await approval any more.
        await insist(
          () => client().resolve(id, callId, pick(["approve", "deny"])),
          ({ status }) => status === 404 ? { cursor: 0 } : undefined
        )
        view = await follow(known)
      }
    }
  }
}

/** Whether an event is the next one of its run, or the first of a run where the one before has ended, or was killed. */
const follows = (before: Told | undefined, { data }: Told): boolean =>
  data.sequence === 0
    ? before === undefined || isEnd(before) || isDecision(before) ||
      killed.some(({ from, to }) => before.data.at <= to && from <= data.at)
    // Pieces of answers have numbers of the run, too.
    : before !== undefined && data.sequence > before.data.sequence

/** What is wrong with a conversation at the end. */
const check = async (known: Known): Promise<void> => {
  const wrong = (what: string) => problems.push(`${known.id}: ${what}`)
  const view = await follow(known)
  if (known.said.length === 0) return
  if (Result.isFailure(AgentState.fromJson(view.state))) return void wrong("its state is illegal")
  const { conversation, status } = view.state
  if (status._tag !== "Complete") wrong(`it ended as ${status._tag}`)
  const users = conversation.turns.filter(({ _tag }) => _tag === "User")
    .map(({ parts }) => parts?.map(({ text }) => text).join(""))
  if (JSON.stringify(users) !== JSON.stringify(known.said)) {
    wrong(`it was told ${JSON.stringify(known.said)} and holds ${JSON.stringify(users)}`)
  }
  if (conversation.turns.at(-1)?._tag !== "Assistant") wrong("its last message has no answer")
  const kept: Array<Told> = []
  await client().events(known.id, 0, (told) => {
    kept.push(told)
    return told.id >= view.cursor
  })
  const seen = new Set(known.told.map(({ id }) => id))
  for (const { event, id } of kept) if (!seen.has(id)) wrong(`event ${id}, ${event}, is kept and wasn't told`)
  for (const [where, events] of [["told", known.told], ["kept", kept]] as const) {
    const settled = new Set<string>()
    for (const [index, told] of events.entries()) {
      const { data: { callId = "", calls }, event } = told
      if (!follows(events[index - 1], told)) {
        wrong(`event ${told.id}, ${event}, is neither the next of its run nor follows a kill, by what was ${where}`)
      }
      const call = [...calls, callId].join("/")
      if (event === "ToolCallStarted" && settled.has(call)) wrong(`call ${call} ran again, by what was ${where}`)
      if (event === "ToolCallSettled") settled.add(call)
    }
  }
}

const clients = Array.from({ length: Number(values.clients) }, () => converse())
let inFlight = 0
for (let kill = 1; kill <= kills; kill++) {
  await sleep(200 + Math.random() * 1000)
  const instance = pick(instances)
  const from = Date.now()
  await end(instance.service, "SIGKILL")
  killed.push({ from, to: Date.now() })
  instance.service = await begin(instance.port)
  if (kill % 10 === 0) console.log(`${kill} kills, ${conversations.length} conversations, ${problems.length} problems`)
}
closing.isNear = true
await Promise.all(clients)
for (const known of conversations) {
  if (known.told.filter(({ event }) => event === "RunStarted").length > known.said.length) inFlight++
  await check(known)
}

const sum = (f: (known: Known) => number) => conversations.reduce((sum, known) => sum + f(known), 0)
console.log(`kills:          ${kills}`)
console.log(`conversations:  ${conversations.length}, ${inFlight} gone on with after a kill or an approval`)
console.log(`messages:       ${sum(({ said }) => said.length)} taken in`)
console.log(
  `calls:          ${sum(({ told }) => told.filter(({ event }) => event === "ToolCallSettled").length)} settled`
)
console.log(`problems:       ${problems.length}`)
for (const problem of problems.slice(0, 50)) console.log(`  ${problem}`)
const ends: Array<number | string> = []
for (const { service } of instances) ends.push(await end(service, "SIGTERM"))
const log = logs.filter((text) => text !== "").join("\n")
if (log !== "") console.log(log.slice(0, 3000))
rmSync(data, { recursive: true })
process.exitCode = problems.length > 0 || ends.some((how) => how !== 0) ? 1 : 0
