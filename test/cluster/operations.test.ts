import { NodeCrypto } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Layer, Schema } from "effect"
import { ShardingConfig, SingleRunner } from "effect/cluster"
import { Yaml } from "effect/encoding"
import { SqlClient } from "effect/sql"
import { readFileSync } from "node:fs"
import { ConversationStore } from "troupe/cluster"
import { describePostgres } from "./backings.ts"
import { postgres } from "./databases.ts"

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
    assert.isAtLeast(most, 3 * 11 + 10)
  })
})

describePostgres("The queries of the page on running a cluster", () => {
  it.live("are those of its tables", () => {
    const tables = Layer.merge(
      SingleRunner.layer().pipe(Layer.provide(NodeCrypto.layerDigest)),
      ConversationStore.layerSql()
    ).pipe(Layer.provideMerge(Layer.suspend(() => postgres(process.env["TEST_DATABASE_URL"]!))))
    return Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const block = /```sql\n([\s\S]*?)```/.exec(readFileSync("docs/cluster-operations.md", "utf8"))![1]!
      const queries = block.split(";").map((query) => query.trim()).filter((query) => query !== "")
      assert.lengthOf(queries, 2)
      for (const query of queries) assert.isArray(yield* sql.unsafe(query))
    }).pipe(Effect.provide(tables))
  })
})
