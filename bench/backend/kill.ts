/**
 * The backend killed at random moments under load, and started again over the same folder, many times.
 *
 *     node --conditions=@troupe/source bench/backend/kill.ts --kills 100 --clients 20
 *
 * Clients go on whatever happens: they repeat what they have no answer to, under the same key, and come back to their streams
 * with `Last-Event-ID`. At the end each conversation has to be there, legal, and answered: every message that was taken in
 * stands in it once and in order, and no call ran again after its result was told. Ends with 1 where something is wrong.
 */
import { Result } from "effect"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { parseArgs } from "node:util"
import { AgentState } from "../../src/index.ts"
import { Client, isEnd, messages, pick, Refused, type Told, type View } from "./client.ts"
import { type Service, start } from "./service.ts"

const { values } = parseArgs({
  options: { kills: { type: "string", default: "100" }, clients: { type: "string", default: "20" } }
})
const kills = Number(values.kills)
const data = mkdtempSync(join(tmpdir(), "backend-kill-"))

const problems: Array<string> = []
const logs: Array<string> = []
/** Whether clients shall say no more. */
const end = { isNear: false }

/** A conversation as its client knows it. */
interface Known {
  readonly id: string
  /** What was said and taken in, in order. */
  readonly said: Array<string>
  /** The events that were told, on any of its streams. */
  readonly told: Array<Told>
}

const conversations: Array<Known> = []

let service: Service = await start(data)
const port = Number(new URL(service.url).port)
const client = new Client(service.url)

/** Does something until it is answered: the service may be away, or die before it answers. */
const insist = async <A>(
  f: () => Promise<A>,
  accepts: (error: Refused) => A | undefined = () => undefined
): Promise<A> => {
  while (true) {
    try {
      return await f()
    } catch (error) {
      if (error instanceof Refused && error.status < 500 && error.status !== 409) {
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
    const view = await insist(() => client.read(known.id))
    const last = known.told.at(-1)?.id ?? 0
    if (!view.isRunning && last >= view.cursor) return view
    try {
      await client.events(known.id, last, (told) => {
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
  while (!end.isNear) {
    const { id } = await insist(() => client.open())
    const known: Known = { id, said: [], told: [] }
    conversations.push(known)
    for (let turn = 0; turn < 5 && !end.isNear; turn++) {
      const text = pick(messages)
      await insist(() => client.say(id, text, String(turn)))
      known.said.push(text)
      let view = await follow(known)
      while (view.approvals.length > 0) {
        const { callId } = view.approvals[0]!
        // Where the answer was lost, the call doesn't await approval any more.
        await insist(
          () => client.resolve(id, callId, pick(["approve", "deny"])),
          ({ status }) => status === 404 ? { cursor: 0 } : undefined
        )
        view = await follow(known)
      }
    }
  }
}

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
  await client.events(known.id, 0, (told) => {
    kept.push(told)
    return told.id >= view.cursor
  })
  for (const [where, events] of [["told", known.told], ["kept", kept]] as const) {
    const settled = new Set<string>()
    for (const { data: { callId = "", calls }, event } of events) {
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
  service.process.kill("SIGKILL")
  await service.ended
  logs.push(service.log().split("\n").slice(3).join("\n").trim())
  service = await start(data, port)
  if (kill % 10 === 0) console.log(`${kill} kills, ${conversations.length} conversations, ${problems.length} problems`)
}
end.isNear = true
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
service.process.kill("SIGTERM")
const how = await service.ended
logs.push(service.log().split("\n").slice(3).join("\n").trim())
const log = logs.filter((text) => text !== "").join("\n")
if (log !== "") console.log(log.slice(0, 3000))
rmSync(data, { recursive: true })
process.exitCode = problems.length > 0 || how !== 0 ? 1 : 0
