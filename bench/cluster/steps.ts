/** What a step costs on one runner: over each store, early and late in a conversation, and in statements, rows and bytes. */
import { NodeCrypto } from "@effect/platform-node"
import { Effect, Layer } from "effect"
import { SingleRunner, TestRunner } from "effect/cluster"
import { SqlClient, Statement } from "effect/sql"
import { Conversation, ConversationStore } from "../../src/cluster/index.ts"
import { Agent, ContextWindow } from "../../src/index.ts"
import { postgres, sqlite } from "../../test/cluster/databases.ts"
import { median } from "../rounds.ts"
import { makeDesk, services, steps } from "./desk.ts"
import { figure } from "./figure.ts"

const desk = makeDesk()
const Desk = Conversation.make("Desk", desk)
/** Sees the last turns only, so that what a request costs doesn't grow with the conversation. */
const Windowed = Conversation.make("Windowed", makeDesk(ContextWindow.make({ maxTurns: 40 })))

const runner = SingleRunner.layer({ shardingConfig: Conversation.sharding() }).pipe(
  Layer.provide(NodeCrypto.layerDigest)
)

const desks = Layer.merge(Desk.layer, Windowed.layer).pipe(Layer.provide(services))

const inMemory = desks.pipe(Layer.provideMerge(Layer.merge(TestRunner.layer, ConversationStore.layerMemory)))

const over = <E>(sql: Layer.Layer<SqlClient.SqlClient, E>) =>
  desks.pipe(
    Layer.provideMerge(Layer.merge(runner, ConversationStore.layerSql())),
    Layer.provideMerge(sql)
  )

const timed = <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<number, E, R> =>
  Effect.suspend(() => {
    const from = performance.now()
    return Effect.map(self, () => performance.now() - from)
  })

let runs = 0

/** The milliseconds of each of some runs, each in a conversation of its own, one after the other. */
const alone = (count: number) =>
  Effect.gen(function*() {
    const chats = yield* Desk.client
    const took: Array<number> = []
    for (let n = 0; n < count; n++) took.push(yield* timed(chats(`alone-${runs++}`).say("Go", { key: "1" })))
    return took
  })

/** The milliseconds that a run takes if twenty go on at once. */
const together = (count: number) =>
  Effect.gen(function*() {
    const chats = yield* Desk.client
    const ids = Array.from({ length: count }, () => `together-${runs++}`)
    const all = Effect.forEach(ids, (id) => chats(id).say("Go", { key: "1" }), { concurrency: 20, discard: true })
    return (yield* timed(all)) / count
  })

/** The milliseconds of each turn of one conversation. */
const long = (desk: typeof Desk | typeof Windowed, turns: number) =>
  Effect.gen(function*() {
    const chat = (yield* desk.client)(`long-${runs++}`)
    const took: Array<number> = []
    for (let turn = 0; turn < turns; turn++) took.push(yield* timed(chat.say("Go", { key: String(turn) })))
    return took
  })

/** Prints what a step takes over a store, alone, together, and early and late in a conversation. */
const ofStore = (name: string, aim: number, turns: number) =>
  Effect.gen(function*() {
    yield* alone(30)
    yield* figure(`${name}: a step, ms`, median(yield* alone(100)) / steps, `≤ ${aim}`)
    yield* figure(`${name}: a run, 20 at once, ms`, yield* together(200))
    for (const [what, desk] of [["all turns", Desk], ["a window", Windowed]] as const) {
      const took = yield* long(desk, turns)
      const early = median(took.slice(5, 25)) / steps
      const late = median(took.slice(-20)) / steps
      yield* figure(`${name}: a step at turn 10, ${what} sent, ms`, early)
      yield* figure(`${name}: a step at turn ${turns}, ${what} sent, ms`, late)
      yield* figure(`${name}: late to early, ${what} sent`, late / early, what === "a window" ? "≤ 1.3" : undefined)
    }
  })

const bare = Effect.gen(function*() {
  const took: Array<number> = []
  for (let n = 0; n < 200; n++) took.push(yield* timed(Agent.run(desk, "Go")))
  yield* figure("Agent.run without a cluster: a step, ms", median(took.slice(50)) / steps)
}).pipe(Effect.provide(services))

/** Prints what a run leaves in the database, and how many statements it takes. */
const stored = (count: { statements: number }) =>
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const sizes = sql<{ name: string; rows: number; bytes: number }>`
      SELECT 'the log' AS name, COUNT(*)::int AS rows, pg_total_relation_size('troupe_conversation_log')::int AS bytes
      FROM troupe_conversation_log
      UNION ALL
      SELECT 'conversations', COUNT(*)::int, pg_total_relation_size('troupe_conversations')::int FROM troupe_conversations
      UNION ALL
      SELECT 'messages', COUNT(*)::int, pg_total_relation_size('cluster_messages')::int FROM cluster_messages
      UNION ALL
      SELECT 'replies', COUNT(*)::int, pg_total_relation_size('cluster_replies')::int FROM cluster_replies`
    const before = yield* sizes
    count.statements = 0
    const many = 500
    yield* together(many)
    yield* figure("Postgres: statements a run", count.statements / many)
    yield* figure("Postgres: statements a step", count.statements / many / steps)
    for (const [at, { bytes, name, rows }] of (yield* sizes).entries()) {
      yield* figure(`Postgres: rows a run, ${name}`, (rows - before[at]!.rows) / many)
      yield* figure(`Postgres: bytes a run with indexes, ${name}`, (bytes - before[at]!.bytes) / many)
    }
    count.statements = 0
    yield* Effect.sleep("5 seconds")
    yield* figure("Postgres: statements a second of a runner that has nothing to do", count.statements / 5)
  })

/** Measures the steps of conversations. */
export const measureSteps = (url: string, turns: number) =>
  Effect.gen(function*() {
    yield* bare
    yield* ofStore("memory", 1, turns).pipe(Effect.provide(inMemory))
    yield* ofStore("SQLite", 2.5, turns).pipe(Effect.provide(over(sqlite)))
    yield* ofStore("Postgres", 4, turns).pipe(Effect.provide(over(postgres(url))))
    const count = { statements: 0 }
    yield* stored(count).pipe(
      Effect.provide(over(postgres(url))),
      Effect.provideService(Statement.CurrentTransformer, (statement) =>
        Effect.sync(() => {
          count.statements++
          return statement
        }))
    )
  })
