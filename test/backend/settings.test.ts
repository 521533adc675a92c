/** What the service is told by its environment: what it is by default, what it takes, and what it refuses. */
import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Context, Duration, Effect, Layer, Option, Redacted } from "effect"
import * as Configuration from "../../examples/backend/config.ts"
import * as Observability from "../../examples/backend/observability.ts"
import { time } from "../../examples/desk/settings.ts"
import { codes, rows } from "../docs/tables.ts"
import { run } from "../examples/process.ts"

type Variables = Readonly<Record<string, string>>

const within = (variables: Variables) =>
  Effect.provideService(ConfigProvider.ConfigProvider, ConfigProvider.fromEnv({ env: variables }))

/** The settings of an environment. */
const read = (variables: Variables) =>
  Effect.scoped(Layer.build(Layer.fresh(Configuration.layer))).pipe(
    Effect.map((context) => Context.get(context, Configuration.Settings)),
    within(variables)
  )

const tokens = "shop=a-long-token-of-somebody"

/** Neither a number in decimal digits nor a time with its unit. */
const neither = [
  " ",
  "1e3",
  "0x10",
  " 5 ",
  "+5",
  "-1",
  "٣",
  "1_000",
  "1.5",
  "NaN",
  "Infinity",
  "true",
  "9".repeat(99)
]

const times = [
  "5",
  "5s",
  "5seconds",
  "-1 seconds",
  "+5 seconds",
  "1e3 seconds",
  "٣ seconds",
  "5 parsecs",
  "25 days",
  "soon"
]

const numbers: Readonly<Record<string, ReadonlyArray<string>>> = {
  PORT: ["65536"],
  LIMIT_BODY: ["0", "1023"],
  LIMIT_RATE: ["0"],
  LIMIT_RUNS: ["0"],
  LIMIT_STREAMS: ["0"]
}

describe("the settings of the service", () => {
  it.effect("are those of the documentation by default", () =>
    Effect.gen(function*() {
      const { arrival, data, database, grace, heartbeat, host, limits, patience, port } = yield* read({})
      const shown = (time: Duration.Duration) =>
        Duration.toMillis(time) < 1000 ? `${Duration.toMillis(time)} millis` : `${Duration.toSeconds(time)} seconds`
      const documented = new Map(
        rows("docs/backend-service.md", "variable", "by default").flatMap(({ 0: names, 1: values, where }) =>
          codes(names).map((name, at) => [name, { value: codes(values)[at], where }] as const)
        )
      )
      const defaults = {
        HOST: host,
        PORT: String(port),
        DATA: data,
        LIMIT_BODY: String(limits.bodySize),
        LIMIT_RATE: String(limits.rate),
        LIMIT_RUNS: String(limits.runs),
        LIMIT_STREAMS: String(limits.streams),
        LIMIT_WAITING: shown(limits.waiting),
        GRACE: shown(grace),
        ARRIVAL: shown(arrival),
        DATABASE_TIMEOUT_CONNECTION: shown(patience.connection),
        DATABASE_TIMEOUT_STATEMENT: shown(patience.statement),
        HEARTBEAT: shown(heartbeat)
      }
      for (const [name, value] of Object.entries(defaults)) {
        const found = documented.get(name)
        assert.strictEqual(found?.value, value, `${found?.where} ${name}`)
      }
      assert.isTrue(Option.isNone(database))
    }))

  it.effect("take numbers in digits, times with their unit, and the address of a Postgres", () =>
    Effect.gen(function*() {
      const settings = yield* read({
        PORT: "0",
        LIMIT_BODY: "1024",
        LIMIT_RATE: "100000000",
        GRACE: "0 millis",
        HEARTBEAT: "1.5 minutes",
        DATABASE_URL: "postgresql://ada:secret@localhost/desk"
      })
      assert.deepInclude(settings, { port: 0 })
      assert.deepInclude(settings.limits, { bodySize: 1024, rate: 100_000_000 })
      assert.isTrue(Duration.isZero(settings.grace))
      assert.strictEqual(Duration.toSeconds(settings.heartbeat), 90)
      assert.deepStrictEqual(
        Option.map(settings.database, Redacted.value),
        Option.some("postgresql://ada:secret@localhost/desk")
      )
    }))

  it.effect("are refused with what can stand there and an example, without what stood there", () =>
    Effect.gen(function*() {
      const cases = [
        ...Object.entries(numbers).map(([name, more]) => [name, [...neither, "5 seconds", ...more]] as const),
        ...[
          "LIMIT_WAITING",
          "GRACE",
          "ARRIVAL",
          "DATABASE_TIMEOUT_CONNECTION",
          "DATABASE_TIMEOUT_STATEMENT",
          "HEARTBEAT"
        ].map((name) => [name, [...neither, ...times]] as const),
        ...["ARRIVAL", "DATABASE_TIMEOUT_CONNECTION", "DATABASE_TIMEOUT_STATEMENT", "HEARTBEAT"].map((name) =>
          [name, ["0 millis", "9 millis"]] as const
        ),
        ["HOST", [" "]],
        ["DATA", [" "]],
        ["DATABASE_URL", [" ", "secret", "localhost:5432", "mysql://secret@localhost/desk", "secret://"]]
      ] as const
      for (const [name, values] of cases) {
        for (const value of values) {
          const error = yield* Effect.flip(read({ [name]: value }))
          assert.match(error.message, new RegExp(`^${name} needs .+, such as ${name}=\\S`), `${name}=${value}`)
          assert.notInclude(error.message, "secret")
          // An example is right.
          const [, example] = new RegExp(`such as ${name}="?(.*?)"?$`).exec(error.message) ?? []
          yield* read({ [name]: example! })
        }
      }
    }))

  it.effect("name tokens by an example, too", () =>
    Effect.gen(function*() {
      const cases: ReadonlyArray<readonly [Variables, string]> = [
        [{ TOKENS: " " }, "TOKENS=shop="],
        [{ TOKENS: "shop" }, "TOKENS=shop="],
        [{ TOKENS: "shop=short" }, "TOKENS=shop="],
        [{ TOKENS: `${tokens},${tokens}` }, "TOKENS=shop="],
        [{ COLLEAGUE_TOKENS: tokens }, "TOKENS=shop="],
        [{ HOST: "0.0.0.0" }, "TOKENS=shop="],
        [{ TOKENS: tokens, COLLEAGUE_TOKENS: "other=another-long-token" }, "COLLEAGUE_TOKENS=shop="]
      ]
      for (const [variables, example] of cases) {
        const { message } = yield* Effect.flip(read(variables))
        assert.include(message, `as in ${example}`)
        assert.notInclude(message, tokens)
        const [, given] = /TOKENS=(\S+)/.exec(message) ?? []
        yield* read({ TOKENS: given! })
      }
    }))

  it.effect("of a pace and of an exporter are refused likewise", () =>
    Effect.gen(function*() {
      for (const value of ["0", ...neither, ...times]) {
        const { message } = yield* Effect.flip(within({ PACE: value })(time("PACE", "20 millis")))
        assert.strictEqual(message, `PACE needs a time, of 24 days at most, such as PACE="20 millis"`)
      }
      assert.isTrue(Option.isSome(yield* within({ PACE: "0 millis" })(time("PACE", "20 millis"))))
      const { message } = yield* Effect.scoped(Layer.build(Layer.fresh(Observability.layer))).pipe(
        within({ OTEL_EXPORTER_OTLP_PROTOCOL: "grpc" }),
        Effect.flip
      )
      assert.include(message, "OTEL_EXPORTER_OTLP_PROTOCOL=http/json")
    }))

  it.live("that are refused end the process with one line", () =>
    Effect.gen(function*() {
      const cases = [
        [{ PACE: "0" }, `backend: PACE needs a time, of 24 days at most, such as PACE="20 millis"\n`],
        [{ PORT: "0x10" }, "backend: PORT needs a whole number from 0 to 65535, such as PORT=8080\n"]
      ] as const
      for (const [env, line] of cases) {
        const ended = yield* Effect.promise(() => run("examples/backend/main.ts", [], "", { PORT: "0", ...env }))
        assert.deepInclude(ended, { code: 1, stdout: "", stderr: line })
      }
    }), 30_000)
})
