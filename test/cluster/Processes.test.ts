import { NodeClusterSocket } from "@effect/platform-node"
import { assert, it } from "@effect/vitest"
import { Effect, Fiber, Layer, Option, type Scope } from "effect"
import { SqlClient } from "effect/sql"
import { type ChildProcess, spawn } from "node:child_process"
import { createServer } from "node:net"
import { join } from "node:path"
import { Conversation } from "troupe/cluster"
import { describePostgres, postgresAt, schema } from "./backings.ts"
import { makeDesk } from "./desk.ts"

const Desk = Conversation.make("Desk", makeDesk())

interface Effect_ {
  readonly conversation: string
  readonly tool: string
  readonly n: number
  readonly phase: string
}

const freePort = Effect.callback<number>((resume) => {
  const server = createServer().listen(0, "127.0.0.1", () => {
    const { port } = server.address() as { port: number }
    server.close(() => resume(Effect.succeed(port)))
  })
})

/** Starts a runner, and waits until it is up. It is killed with the scope. */
const start = (url: string, schema: string): Effect.Effect<ChildProcess, never, Scope.Scope> =>
  Effect.gen(function*() {
    const port = yield* freePort
    const child = yield* Effect.acquireRelease(
      Effect.sync(() =>
        spawn(process.execPath, [
          "--conditions=@troupe/source",
          join(import.meta.dirname, "fixtures", "runner.ts"),
          String(port),
          url,
          schema
        ], { stdio: ["ignore", "pipe", "inherit"] })
      ),
      (child) => Effect.sync(() => void child.kill("SIGKILL"))
    )
    yield* Effect.callback<void>((resume) => {
      child.stdout.on("data", (text: Buffer) => text.toString().includes("up") ? resume(Effect.void) : undefined)
    })
    return child
  })

/** Counts what a handler did in a conversation. */
const count = (effects: ReadonlyArray<Effect_>, { conversation, n, tool }: Effect_, phase: string): number =>
  effects.filter((one) =>
    one.conversation === conversation && one.tool === tool && Number(one.n) === Number(n) && one.phase === phase
  ).length

describePostgres("Two runners on one Postgres", () => {
  it.live(
    "lose nothing and start nothing twice when one is killed, or told to stop, again and again",
    () =>
      Effect.gen(function*() {
        const { name, url } = yield* schema
        const client = NodeClusterSocket.layer({
          storage: "sql",
          clientOnly: true,
          shardingConfig: Conversation.sharding({ runnerAddress: Option.none() })
        }).pipe(Layer.provideMerge(postgresAt(url, name)))
        yield* Effect.gen(function*() {
          const sql = yield* SqlClient.SqlClient
          yield* sql`CREATE TABLE effects (conversation TEXT, tool TEXT, n INTEGER, phase TEXT)`
          const runners = [yield* start(url, name), yield* start(url, name)]
          const chats = yield* Desk.client
          /** Has a conversation to its end, and gives the answers on the way. */
          const converse = (id: string) =>
            Effect.gen(function*() {
              const chat = chats(id)
              const answers = [yield* chat.say("Bill it", { key: "m1" })]
              for (const callId of ["r8", "r5"]) {
                if (answers.at(-1)!.pending.some((one) => one.callId === callId)) {
                  answers.push(yield* chat.approve(callId))
                }
              }
              answers.push(yield* chat.say("More", { key: "m2" }))
              return { id, answers }
            })
          for (const [round, signal] of (["SIGKILL", "SIGTERM", "SIGKILL"] as const).entries()) {
            const ids = Array.from({ length: 20 }, (_, at) => `${round}-${at}`)
            const conversing = yield* Effect.forkChild(Effect.forEach(ids, converse, { concurrency: "unbounded" }))
            // Somebody dies once a quarter of them has begun.
            yield* Effect.repeat(
              sql<{ readonly n: number }>`SELECT COUNT(DISTINCT conversation) AS n FROM effects
            WHERE conversation LIKE ${`${round}-%`}`,
              { until: ([row]) => Number(row!.n) >= 5 }
            )
            runners.shift()!.kill(signal)
            runners.push(yield* start(url, name))
            const ended = yield* Fiber.join(conversing)
            const effects = yield* sql<Effect_>`SELECT * FROM effects WHERE conversation LIKE ${`${round}-%`}`
            const twice = effects.filter((one) => one.tool !== "look" && count(effects, one, "start") > 1)
            assert.deepStrictEqual(twice, [])
            for (const { answers, id } of ended) {
              assert.strictEqual(answers.at(-1)!.status, "Complete", id)
              const state = yield* chats(id).state
              assert.strictEqual(state.conversation.turns.filter((turn) => turn._tag === "User").length, 2, id)
              const unknown = new Set(answers.flatMap((answer) => answer.unknown.map(({ callId }) => callId)))
              // Who is told to stop waits for handlers that run.
              if (signal === "SIGTERM") assert.strictEqual(unknown.size, 0, id)
              for (const turn of state.conversation.turns) {
                for (const part of turn._tag === "Assistant" ? turn.parts : []) {
                  if (part._tag !== "Call" || !["charge", "refund"].includes(part.name)) continue
                  assert.strictEqual(part.state._tag, "Settled", `${id} ${part.id}`)
                  const outcome = part.state._tag === "Settled" ? part.state.outcome : undefined
                  const n = Number(part.id.slice(1))
                  const ends = count(effects, { conversation: id, tool: part.name, n, phase: "" }, "end")
                  if (outcome === "Succeeded") assert.strictEqual(ends, 1, `${id} ${part.id}`)
                  else {assert.isTrue(
                      outcome === "Interrupted" && unknown.has(part.id),
                      `${id} ${part.id} is ${outcome}`
                    )}
                }
              }
            }
          }
        }).pipe(Effect.provide(client))
      }).pipe(Effect.scoped),
    120_000
  )
})
