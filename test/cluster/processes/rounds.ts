/**
 * Rounds of disruptions under load: conversations go on all the time, something is done to their runners or their Postgres, and at the end
 * what every client was told is checked against what is kept, and against what handlers did.
 */
import { Context, Deferred, Effect, Fiber, Layer, Scope } from "effect"
import { SqlClient } from "effect/sql"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { ConversationStore } from "troupe/cluster"
import type { Server } from "../../../scripts/postgres.ts"
import { fold, logOf, problemsOf } from "../crashes/problems.ts"
import { randomOf } from "../crashes/scenarios.ts"
import { postgresAt, schemaOf } from "../databases.ts"
import { messages, startsOnce } from "../desk.ts"
import type { Did } from "../fixtures/options.ts"
import { connect, converse, finish, follow, know, type Known } from "./clients.ts"
import { apply, choose, type Cluster, type Kind } from "./disruptions.ts"
import { type Runner, start } from "./runners.ts"

export interface Options {
  readonly server: Server
  readonly rounds: number
  readonly runners: number
  readonly kinds: ReadonlyArray<Kind>
  readonly seed: number
  /** How many conversations go on at a time. */
  readonly clients?: number
  readonly expiration?: number
  /** Whether starts of handlers aren't marked, to see that it is needed. */
  readonly isCareless?: boolean
  readonly tell?: (line: string) => void
}

/** What was wrong, and what was counted on the way. */
export interface Report {
  readonly problems: ReadonlyArray<string>
  readonly figures: Readonly<Record<string, number | string>>
}

/** A process that was only told to stop waits for its handlers: of none of its calls is the end unknown. */
const unknownOfGentle = (known: Known, did: ReadonlyArray<Did>, all: ReadonlyArray<Runner>): ReadonlyArray<string> =>
  [...known.answers.values()].flatMap((answer) => answer === "refused" ? [] : answer.unknown).flatMap(
    ({ callId, name }) => {
      const started = did.find(({ n, phase, tool }) =>
        phase === "start" && tool === name && n === Number(callId.slice(1))
      )
      const runner = all.find(({ pid }) => pid === started?.pid)
      if (started === undefined || runner === undefined || runner.harmed.some((at) => at >= started.at)) return []
      return [`${callId} is unknown, though nothing was done to its runner but to tell it to stop`]
    }
  )

/** Checks one conversation: what its client knows, what is kept, and what handlers did. */
const check = (store: ConversationStore.Service, known: Known, did: ReadonlyArray<Did>, all: ReadonlyArray<Runner>) =>
  Effect.gen(function*() {
    const problems = [...known.problems]
    const log = yield* logOf(store, `Desk/${known.id}`)
    const events = log.flatMap(({ events }) => events)
    for (const [number, text] of known.told) {
      if (JSON.stringify(events[number - 1]) !== text) problems.push(`event ${number} is told as another`)
    }
    for (const message of messages) {
      const { key } = message
      const answer = known.answers.get(key)
      // Whether a result may be refused is among the problems below.
      if (answer === "refused" && "gives" in message) continue
      const { answer: kept } = yield* Effect.orDie(store.find(`Desk/${known.id}`, key))
      if (answer === undefined || answer === "refused" || kept === undefined) problems.push(`${key} has no answer`)
      else if (JSON.stringify(JSON.parse(kept)) !== JSON.stringify(answer)) problems.push(`${key} has another answer`)
    }
    const { answers, state } = known
    problems.push(...problemsOf(log, state ?? fold(log).state, { executed: did, answers, cancel: undefined }))
    problems.push(...unknownOfGentle(known, did, all))
    return problems.map((problem) => `${known.id}: ${problem}`)
  })

const readDid = (file: string): ReadonlyArray<Did> =>
  readFileSync(file, "utf8").split("\n").filter((line) => line !== "").map((line) => JSON.parse(line) as Did)

/** Disrupts a cluster of its own, and says what was wrong. */
export const disrupt = (options: Options): Effect.Effect<Report, unknown> =>
  Effect.gen(function*() {
    const { clients = 10, expiration = 2000, isCareless = false, kinds, rounds, seed, server, tell = () => {} } =
      options
    const schema = yield* schemaOf(server.url)
    const place = yield* Effect.acquireRelease(
      Effect.sync(() => mkdtempSync(join(tmpdir(), "runners-"))),
      (place) => Effect.sync(() => rmSync(place, { recursive: true }))
    )
    const did = join(place, "did.jsonl")
    const next = randomOf(seed)
    const problems: Array<string> = []
    const runners: Array<Runner> = []
    const all: Array<Runner> = []
    let ended = 0
    const scope = yield* Effect.scope
    const add: Cluster["add"] = Effect.gen(function*() {
      const runner = yield* start({
        url: server.url,
        schema,
        did,
        modelTakes: 5,
        toolsTake: 20,
        expiration,
        isCareless
      })
      runners.push(runner)
      all.push(runner)
      // Who ends by itself is started again, as a supervisor does.
      yield* Effect.forkIn(
        Effect.gen(function*() {
          const how = yield* Deferred.await(runner.ended)
          if (runner.isEnding) return
          runners.splice(runners.indexOf(runner), 1)
          ended++
          tell(`a runner has ended by itself, with ${how}: ${runner.output.slice(-3).join("; ")}`)
          yield* add
        }),
        scope
      )
    })
    yield* Effect.all(Array.from({ length: options.runners }, () => add), { concurrency: "unbounded" })
    const chats = yield* connect(server.url, schema, expiration)
    // If even this process stands still, the machine is too busy for anybody to hold a lock.
    let last = performance.now()
    const watching = setInterval(() => {
      const now = performance.now()
      if (now - last > expiration / 4) { for (const { harmed } of all) harmed.push(Date.now()) }
      last = now
    }, expiration / 20)
    yield* Effect.addFinalizer(() => Effect.sync(() => clearInterval(watching)))
    const conversations: Array<Known> = []
    const begin = Effect.suspend(() => {
      const known = know(`c${conversations.length}`)
      conversations.push(known)
      return Effect.as(follow(chats, known), known)
    })
    const goOn = (some: ReadonlyArray<Known>) =>
      Effect.forEach(some, (known) => Effect.andThen(converse(chats, known), finish(chats, known)), {
        concurrency: "unbounded",
        discard: true
      })
    const load = { isOver: false }
    const talk = Effect.gen(function*() {
      while (!load.isOver) {
        yield* Effect.scoped(Effect.flatMap(begin, (known) => goOn([known])))
      }
    })
    const cluster: Cluster = {
      server,
      runners,
      all,
      expiration,
      problems,
      next,
      add,
      goOn,
      waiting: (count) =>
        Effect.forEach(
          Array.from({ length: count }),
          () =>
            Effect.flatMap(
              Scope.provide(begin, scope),
              (known) => Effect.as(converse(chats, known, 1), known)
            ),
          { concurrency: "unbounded" }
        )
    }
    const talking = yield* Effect.forkChild(
      Effect.all(Array.from({ length: clients }, () => talk), { concurrency: "unbounded", discard: true })
    )
    const counts: Partial<Record<Kind, number>> = {}
    for (let round = 0; round < rounds; round++) {
      yield* Effect.sleep(300 + next(1200))
      const kind = choose(kinds, next)
      counts[kind] = (counts[kind] ?? 0) + 1
      tell(`${round} ${kind}, ${conversations.length} conversations`)
      yield* apply(kind, cluster)
    }
    load.isOver = true
    yield* Fiber.join(talking)
    const context = yield* Layer.build(
      Layer.provideMerge(ConversationStore.layerSql(), postgresAt(server.url, schema))
    )
    const store = Context.get(context, ConversationStore.ConversationStore)
    const effects = new Map<string, Array<Did>>()
    for (const one of readDid(did)) effects.set(one.conversation, [...effects.get(one.conversation) ?? [], one])
    for (const known of conversations) {
      problems.push(...yield* check(store, known, effects.get(known.id) ?? [], all))
    }
    const sql = Context.get(context, SqlClient.SqlClient)
    const [left] = yield* sql<{ n: number }>`SELECT COUNT(*)::int AS n FROM cluster_messages WHERE NOT processed`
    if (left!.n > 0) problems.push(`${left!.n} messages are left unprocessed`)
    const answers = conversations.flatMap(({ answers }) => [...answers.values()])
    return {
      problems,
      figures: {
        conversations: conversations.length,
        ...counts,
        "events told": conversations.reduce((sum, { told }) => sum + told.size, 0),
        "handlers started": [...effects.values()].flat().filter(({ phase, tool }) =>
          phase === "start" && startsOnce.includes(tool)
        )
          .length,
        "unknown calls": answers.reduce((sum, answer) => sum + (answer === "refused" ? 0 : answer.unknown.length), 0),
        "asked again": conversations.reduce((sum, { repeats }) => sum + repeats, 0),
        "of these since no answer came for 20 s": conversations.reduce((sum, { timeouts }) => sum + timeouts, 0),
        "runners ended by themselves": ended,
        "slowest message, ms": Math.max(...conversations.map(({ slowest }) => slowest))
      }
    }
  }).pipe(Effect.scoped)
