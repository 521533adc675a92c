/** What is done to runners and their Postgres while conversations go on. */
import { PgClient } from "@effect/sql-pg"
import { Deferred, Effect, Redacted, type Scope } from "effect"
import { SqlClient } from "effect/sql"
import type { Server } from "../../../scripts/postgres.ts"
import type { Known } from "./clients.ts"
import { type Runner } from "./runners.ts"

/** The runners of a cluster, the server under them, and what can be done with both. */
export interface Cluster {
  readonly server: Server
  readonly runners: Array<Runner>
  /** All runners that there were. */
  readonly all: Array<Runner>
  readonly expiration: number
  readonly problems: Array<string>
  readonly next: (below: number) => number
  /** Starts one more runner. */
  readonly add: Effect.Effect<void, never, Scope.Scope>
  /** Begins conversations that wait for an approval, and gives them. */
  readonly waiting: (count: number) => Effect.Effect<ReadonlyArray<Known>>
  /** Has conversations to their end. */
  readonly goOn: (conversations: ReadonlyArray<Known>) => Effect.Effect<void>
}

/** Says that what runs on some runners may be cut off, now and for some time to come. */
const harm = (runners: ReadonlyArray<Runner>, during = 0) => {
  for (const { harmed } of runners) harmed.push(Date.now() + during)
}

const pick = ({ next, runners }: Cluster): Runner => runners[next(runners.length)]!

const leave = (cluster: Cluster, runner: Runner) => {
  runner.isEnding = true
  cluster.runners.splice(cluster.runners.indexOf(runner), 1)
}

/** Tells a runner to stop, and waits until it has. */
const terminate = (cluster: Cluster, runner: Runner) =>
  Effect.gen(function*() {
    leave(cluster, runner)
    runner.signal("SIGTERM")
    const ended = yield* Effect.timeoutOption(Deferred.await(runner.ended), "40 seconds")
    if (ended._tag === "Some") return
    cluster.problems.push(`a runner that was told to stop hasn't after 40 s: ${runner.output.slice(-3).join("; ")}`)
    runner.signal("SIGKILL")
    harm([runner])
  })

const away = (cluster: Cluster, millis: number) =>
  Effect.gen(function*() {
    const { runners, server } = cluster
    harm(runners)
    yield* Effect.promise(() => server.crash())
    yield* Effect.sleep(millis)
    yield* Effect.promise(() => server.begin())
    harm(runners, cluster.expiration * 2)
  })

const disruptions = {
  /** Kills a runner. */
  kill: (cluster: Cluster) =>
    Effect.gen(function*() {
      const runner = pick(cluster)
      harm([runner])
      leave(cluster, runner)
      runner.signal("SIGKILL")
      yield* cluster.add
    }),
  /** Freezes a runner until its locks have expired, and lets it go on. */
  freeze: (cluster: Cluster) =>
    Effect.gen(function*() {
      const runner = pick(cluster)
      harm([runner])
      runner.signal("SIGSTOP")
      yield* Effect.sleep(cluster.expiration * 2 + 1000)
      runner.signal("SIGCONT")
      harm([runner], cluster.expiration * 2)
      yield* Effect.sleep(1000)
    }),
  /** Ends the session that holds a runner's locks. */
  locks: (cluster: Cluster) =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      harm(cluster.runners, cluster.expiration * 2)
      yield* sql`
        SELECT pg_terminate_backend(pid)
        FROM (SELECT pid FROM pg_locks WHERE locktype = 'advisory' GROUP BY pid ORDER BY random() LIMIT 1) AS locks`
    }).pipe(
      Effect.provide(PgClient.layer({ url: Redacted.make(cluster.server.url), maxConnections: 1 })),
      Effect.ignore
    ),
  /** Ends Postgres at once, and begins it again. */
  restart: (cluster: Cluster) => away(cluster, 0),
  /** Ends Postgres at once, and begins it again after 20 s. */
  away: (cluster: Cluster) => away(cluster, 20_000),
  /** Tells a runner to stop in mid-run. */
  term: (cluster: Cluster) =>
    Effect.gen(function*() {
      const runner = pick(cluster)
      yield* cluster.add
      yield* terminate(cluster, runner)
    }),
  /** Replaces each runner, one after the other, while approvals wait. */
  deploy: (cluster: Cluster) =>
    Effect.gen(function*() {
      const conversations = yield* cluster.waiting(5)
      for (const runner of cluster.runners.slice()) {
        yield* cluster.add
        if (!runner.isEnding) yield* terminate(cluster, runner)
      }
      yield* cluster.goOn(conversations)
    })
}

export type Kind = keyof typeof disruptions

/** How often each is done, of a hundred times. */
const shares: Readonly<Record<Kind, number>> = {
  kill: 62,
  term: 12,
  locks: 12,
  freeze: 6,
  restart: 4,
  deploy: 2,
  away: 2
}

const kinds = Object.keys(shares) as ReadonlyArray<Kind>

/** Gives the kinds that a list names, or all. */
export const kindsOf = (names: string | undefined): ReadonlyArray<Kind> => {
  const named = names?.split(",").map((name) => name.trim())
  const unknown = named?.find((name) => !(kinds as ReadonlyArray<string>).includes(name))
  if (unknown !== undefined) throw new Error(`There is no disruption "${unknown}": there are ${kinds.join(", ")}`)
  return named === undefined ? kinds : kinds.filter((kind) => named.includes(kind))
}

/** Chooses one of some kinds, the frequent ones more often. */
export const choose = (from: ReadonlyArray<Kind>, next: (below: number) => number): Kind => {
  let at = next(from.reduce((sum, kind) => sum + shares[kind], 0))
  return from.find((kind) => (at -= shares[kind]) < 0)!
}

/** Does it. */
export const apply = (kind: Kind, cluster: Cluster): Effect.Effect<void, never, Scope.Scope> =>
  disruptions[kind](cluster)
