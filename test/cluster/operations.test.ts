import { NodeCrypto } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { DateTime, Duration, Effect, Layer, Schema } from "effect"
import { Tool, Toolkit } from "effect/ai"
import { ShardingConfig, SingleRunner } from "effect/cluster"
import { Yaml } from "effect/encoding"
import { SqlClient } from "effect/sql"
import { readFileSync } from "node:fs"
import { Agent, Guardrail } from "troupe"
import { Conversation, ConversationStore } from "troupe/cluster"
import { MockModel, MockResponse } from "troupe/testing"
import { describePostgres } from "./backings.ts"
import { postgres, sqlite } from "./databases.ts"

const Text = Schema.Record(Schema.String, Schema.String)

const Service = Schema.Struct({
  image: Schema.String,
  restart: Schema.String,
  command: Schema.optionalKey(Schema.String),
  environment: Text,
  networks: Schema.Array(Schema.String),
  volumes: Schema.optionalKey(Schema.Array(Schema.String)),
  stop_grace_period: Schema.optionalKey(Schema.String),
  depends_on: Schema.optionalKey(
    Schema.Record(Schema.String, Schema.Struct({ condition: Schema.Literals(["service_healthy"]) }))
  ),
  healthcheck: Schema.optionalKey(Schema.Struct({
    test: Schema.String,
    interval: Schema.String,
    timeout: Schema.String,
    retries: Schema.Int
  }))
})

const Compose = Schema.Struct({
  "x-runner": Schema.Unknown,
  services: Schema.Record(Schema.String, Service),
  volumes: Schema.Record(Schema.String, Schema.Unknown),
  networks: Schema.Record(Schema.String, Schema.Unknown)
})

const read = () =>
  Schema.decodeUnknownSync(Compose)(Yaml.parse(readFileSync("examples/cluster/compose.yaml", "utf8")), {
    onExcessProperty: "error"
  })

describe("The compose file for three runners and Postgres", () => {
  it("names each runner's own address, one database, and networks and volumes that are there", () => {
    const { networks, services, volumes } = read()
    const runners = Object.entries(services).filter(([name]) => name.startsWith("runner-"))
    assert.lengthOf(runners, 3)
    for (const [name, { depends_on, environment }] of runners) {
      assert.strictEqual(environment["RUNNER_HOST"], name)
      assert.isAbove(Number(environment["RUNNER_PORT"]), 1024)
      const { hostname, pathname, username } = new URL(
        environment["DATABASE_URL"]!.replace("${POSTGRES_PASSWORD}", "x")
      )
      const { environment: server, healthcheck } = services[hostname]!
      assert.deepStrictEqual([username, pathname.slice(1)], [server["POSTGRES_USER"], server["POSTGRES_DB"]])
      assert.deepStrictEqual(Object.keys(depends_on!), [hostname])
      assert.isDefined(healthcheck)
    }
    for (const service of Object.values(services)) {
      assert.strictEqual(service.restart, "always")
      for (const name of service.networks) assert.property(networks, name)
      for (const mounted of service.volumes ?? []) assert.property(volumes, mounted.split(":")[0]!)
    }
  })

  it("gives a runner longer to stop than it waits for its handlers", () => {
    for (const [name, { stop_grace_period }] of Object.entries(read().services)) {
      if (!name.startsWith("runner-")) continue
      const grace = Duration.seconds(Number(/^(\d+)s$/.exec(stop_grace_period!)![1]))
      const termination = Duration.fromInputUnsafe(ShardingConfig.defaults.entityTerminationTimeout)
      assert.isTrue(Duration.isGreaterThan(grace, Duration.sum(termination, Duration.seconds(5))))
    }
  })

  it("lets Postgres take the connections of all runners", () => {
    const { services } = read()
    const most = Number(/max_connections=(\d+)/.exec(services["postgres"]!.command!)![1])
    assert.isAtLeast(most, 3 * 10 + 10)
  })
})

/** The queries of each block of the page. */
const queries = Array.from(
  readFileSync("docs/cluster-operations.md", "utf8").matchAll(/```sql\n([\s\S]*?)```/g),
  ([, block]) => block!.split(";").map((query) => query.trim()).filter((query) => query !== "")
)

describePostgres("The queries of the page on running a cluster", () => {
  it.live("are those of its tables", () => {
    const tables = Layer.merge(
      SingleRunner.layer().pipe(Layer.provide(NodeCrypto.layerDigest)),
      ConversationStore.layerSql()
    ).pipe(Layer.provideMerge(Layer.suspend(() => postgres(process.env["TEST_DATABASE_URL"]!))))
    return Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      assert.lengthOf(queries[0]!, 2)
      for (const query of queries[0]!) assert.isArray(yield* sql.unsafe(query))
    }).pipe(Effect.provide(tables))
  })
})

/** Checks that a cluster over a database still answers after the page's query has removed what messages said. */
const forgets = (database: Layer.Layer<SqlClient.SqlClient, unknown>) => {
  const secret = "swordfish"
  const Pay = Toolkit.make(
    Tool.make("pay", { parameters: Schema.Struct({ to: Schema.String }), success: Schema.String, needsApproval: true })
  )
  const mask = Guardrail.make("mask", (text) => Guardrail.replace(text.replaceAll(secret, "***"), "a word"))
  const Desk = Conversation.make(
    "Desk",
    Agent.make("clerk", { toolkit: Pay, guardrails: { input: [mask], toolCall: [mask] } })
  )
  const model = MockModel.queue(MockResponse.toolCall("pay", { to: "Ada" }, { id: "p" }), "Paid.", "Hello again.")
  const runner = SingleRunner.layer({ shardingConfig: Conversation.sharding() }).pipe(
    Layer.provide(NodeCrypto.layerDigest)
  )
  const cluster = Desk.layer.pipe(
    Layer.provide(Layer.merge(MockModel.layer(model), Pay.toLayer({ pay: ({ to }) => Effect.succeed(`paid ${to}`) }))),
    Layer.provideMerge(Layer.merge(runner, ConversationStore.layerSql())),
    Layer.provideMerge(database)
  )
  return Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const chat = (yield* Desk.client)("ada")
    const holds = Effect.map(
      Effect.all([
        sql`SELECT payload FROM cluster_messages`,
        sql`SELECT payload FROM cluster_replies`,
        sql`SELECT text, answer FROM troupe_conversation_log`
      ]),
      (rows) => JSON.stringify(rows).includes(secret)
    )
    const waiting = yield* chat.say(`Pay ${secret}`, { key: "1" })
    const paid = yield* chat.approve("p", { params: { to: secret } })
    const later = DateTime.makeUnsafe("2999-01-01T00:00:00Z")
    yield* chat.post("Remind me.", { key: "3", at: later })
    assert.isTrue(yield* holds)
    yield* sql.unsafe(queries[1]!.join(";"))
    assert.isFalse(yield* holds)
    assert.deepStrictEqual(yield* chat.say(`Pay ${secret}`, { key: "1" }), waiting)
    assert.deepStrictEqual(yield* chat.approve("p", { params: { to: secret } }), paid)
    assert.strictEqual((yield* chat.say("Hello", { key: "2" })).text, "Hello again.")
    const left = yield* sql<{ payload: string }>`SELECT payload FROM cluster_messages WHERE payload LIKE ${"%Remind%"}`
    assert.lengthOf(left, 1, "a message that isn't answered yet keeps its words")
  }).pipe(Effect.provide(cluster))
}

describe("The query that removes what messages said", () => {
  it.live("leaves keys and answers, in SQLite", () => forgets(sqlite))
})

describePostgres("The query that removes what messages said, in Postgres", () => {
  it.live("leaves keys and answers", () => forgets(Layer.suspend(() => postgres(process.env["TEST_DATABASE_URL"]!))))
})
