import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Context, Duration, Effect, Layer, Metric, Option, Schema } from "effect"
import { Yaml } from "effect/encoding"
import { readFileSync } from "node:fs"
import * as Configuration from "../../examples/backend/config.ts"
import { isEnd, serve } from "./serving.ts"
import { postgres } from "./store/backings.ts"

const folder = "examples/backend/deploy"
const read = (name: string): string => readFileSync(`${folder}/${name}`, "utf8")

/** Reads a file of systemd: sections of keys, each with all its values. What isn't one of these lines fails. */
const parseUnit = (text: string): ReadonlyMap<string, ReadonlyMap<string, ReadonlyArray<string>>> => {
  const sections = new Map<string, Map<string, ReadonlyArray<string>>>()
  let section: Map<string, ReadonlyArray<string>> | undefined
  for (const line of text.split("\n")) {
    if (line.trim() === "" || line.startsWith("#")) continue
    const [, name] = /^\[([A-Z]\w+)\]$/.exec(line) ?? []
    if (name !== undefined) {
      section = new Map()
      sections.set(name, section)
      continue
    }
    const [, key, value] = /^([A-Z]\w+)=(\S.*)$/.exec(line) ?? []
    if (section === undefined || key === undefined || value === undefined) {
      throw new Error(`not a line of a unit: ${line}`)
    }
    section.set(key, [...section.get(key) ?? [], value])
  }
  return sections
}

const parseEnv = (text: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    text.trim().split("\n").map((line) => {
      const at = line.indexOf("=")
      return [line.slice(0, at), line.slice(at + 1)]
    })
  )

/** The settings that a service has of an environment. */
const settingsOf = (env: Readonly<Record<string, string>>) =>
  Effect.map(
    Layer.build(Layer.fresh(Configuration.layer)),
    Context.get(Configuration.Settings)
  ).pipe(Effect.scoped, Effect.provide(ConfigProvider.layer(ConfigProvider.fromEnv({ env }))))

/** Checks that instances with these environments are one service. */
const assertOneService = (environments: ReadonlyArray<Readonly<Record<string, string>>>, stopSeconds: number) =>
  Effect.gen(function*() {
    const instances = yield* Effect.forEach(environments, settingsOf)
    const runners = instances.map(({ runner }) => `${runner.host}:${runner.port}`)
    assert.strictEqual(new Set(runners).size, instances.length)
    for (const { database, grace, runner, tokens } of instances) {
      assert.isTrue(Option.isSome(database))
      assert.isDefined(runner.port)
      assert.isBelow(Duration.toSeconds(grace) + 1, stopSeconds)
      assert.deepStrictEqual(new Set(tokens.map(({ role }) => role)), new Set(["customer", "colleague"]))
    }
    for (const name of ["DATABASE_URL", "TOKENS", "COLLEAGUE_TOKENS"]) {
      assert.strictEqual(new Set(environments.map((env) => env[name])).size, 1)
    }
  })

/** What starts an instance: the script of `npm run backend`, without npm, which would come between it and the signals of who supervises it. */
const command = `node_modules/.bin/${JSON.parse(readFileSync("package.json", "utf8")).scripts.backend} --cluster`

describe("The unit files for three instances", () => {
  it.effect("start the service as one of a cluster, again when it ends, and give it time to stop", () =>
    Effect.gen(function*() {
      const unit = parseUnit(read("desk@.service"))
      assert.deepStrictEqual([...unit.keys()], ["Unit", "Service", "Install"])
      const service = unit.get("Service")!
      assert.deepStrictEqual(service.get("ExecStart"), [`/srv/desk/${command}`])
      assert.deepStrictEqual(service.get("Restart"), ["always"])
      assert.deepStrictEqual(service.get("EnvironmentFile"), ["/etc/desk/common.env", "/etc/desk/%i.env"])
      const target = parseUnit(read("desk.target")).get("Unit")!.get("Wants")![0]!.split(" ")
      assert.deepStrictEqual(target, ["desk@1.service", "desk@2.service", "desk@3.service"])
      const common = parseEnv(read("common.env"))
      const environments = target.map((name) => ({ ...common, ...parseEnv(read(`${/\d/.exec(name)![0]}.env`)) }))
      yield* assertOneService(environments, Number(service.get("TimeoutStopSec")![0]))
      assert.strictEqual(new Set(environments.map((env) => env["PORT"])).size, 3)
    }))
})

const Compose = Schema.Struct({
  services: Schema.Record(
    Schema.String,
    Schema.Struct({
      command: Schema.String,
      environment: Schema.Record(Schema.String, Schema.String),
      networks: Schema.Array(Schema.String),
      stop_grace_period: Schema.optionalKey(Schema.String),
      depends_on: Schema.optionalKey(Schema.Record(Schema.String, Schema.Struct({ condition: Schema.String })))
    })
  ),
  networks: Schema.Record(Schema.String, Schema.Unknown)
})

describe("The compose file for three instances and Postgres", () => {
  it.effect("has three instances of one service, which reach each other and the database by their names", () =>
    Effect.gen(function*() {
      const { networks, services } = Schema.decodeUnknownSync(Compose)(Yaml.parse(read("compose.yaml")))
      const instances = Object.entries(services).filter(([name]) => name.startsWith("desk-"))
      assert.lengthOf(instances, 3)
      const given = {
        POSTGRES_PASSWORD: "x",
        TOKENS: "shop=a-long-token-of-shop",
        COLLEAGUE_TOKENS: "shop=another-token-of-shop"
      }
      const fill = (text: string) => text.replace(/\$\{(\w+)[^}]*\}/g, (_, name: keyof typeof given) => given[name])
      const environments = instances.map(([, { environment }]) =>
        Object.fromEntries(Object.entries(environment).map(([name, value]) => [name, fill(value)]))
      )
      yield* assertOneService(environments, Number.parseInt(instances[0]![1].stop_grace_period!))
      for (const [name, { command: started, depends_on, environment, networks: own }] of instances) {
        assert.strictEqual(started, command)
        assert.match(environment["CLUSTER"]!, new RegExp(`^${name}:\\d+$`))
        const { hostname, pathname, username } = new URL(fill(environment["DATABASE_URL"]!))
        const server = services[hostname]!.environment
        assert.deepStrictEqual([username, pathname.slice(1)], [server["POSTGRES_USER"], server["POSTGRES_DB"]])
        assert.deepStrictEqual(Object.keys(depends_on!), [hostname])
        for (const network of own) assert.property(networks, network)
      }
    }))
})

const page = readFileSync("docs/backend-deployment.md", "utf8")

it.live("The metrics of a cluster on the page on deployment are there where a service runs", () =>
  Effect.gen(function*() {
    const serving = yield* serve()
    const { id } = yield* serving.begin()
    yield* serving.until(id, isEnd)
    const measured = (yield* Metric.snapshot).map(({ id }) => id)
    const named = new Set(page.match(/\beffect_cluster_\w+/g))
    assert.isAtLeast(named.size, 3)
    assert.includeMembers(measured, [...named])
  }))

postgres.describe("The queries of the page on deployment", () => {
  it.live("are those of the service's tables, and find a call that nobody knows the end of", () =>
    Effect.gen(function*() {
      const { open, sql } = yield* postgres.make
      const serving = yield* serve({ store: yield* open() })
      const { id } = yield* serving.begin("The floor lamp of order 1047 is cracked")
      yield* serving.until(id, isEnd)
      const [block] = page.match(/(?<=```sql\n)[\s\S]*?(?=```)/g)!
      const [unanswered, unknown] = block!.split(";").map((query) => query.trim()).filter((query) => query !== "")
      assert.lengthOf(yield* sql(unanswered!), 1)
      assert.deepStrictEqual(yield* sql(unknown!), [])
      yield* sql(
        `UPDATE troupe_conversation_log SET answer = replace(answer, '"unknown":[]', '"unknown":[{"callId":"one"}]')`
      )
      assert.deepStrictEqual((yield* sql(unknown!)).map((row) => row["id"]), [id])
    }))
})
