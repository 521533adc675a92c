/**
 * The support desk as a service: on one machine over a folder, or as one of any number of instances on one Postgres.
 *
 *     npm run backend
 *     DATABASE_URL=postgres://… npm run backend -- --cluster
 *
 * What it is told by its environment stands in docs/backend-service.md.
 */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Cause, Config, Duration, Effect, Exit, Layer, Option, Redacted } from "effect"
import { HttpServer, HttpServerError } from "effect/http"
import { NetAddress } from "effect/net"
import { Agent } from "troupe"
import { configured } from "../desk/model/configured.ts"
import { time } from "../desk/settings.ts"
import * as Configuration from "./config.ts"
import { measured } from "./metrics.ts"
import * as Observability from "./observability.ts"
import * as Place from "./place.ts"
import * as Server from "./server.ts"
import * as Agents from "./service/Agents.ts"
import { Around } from "./service/Runs.ts"

const { Settings } = Configuration

/** Where conversations are kept, as the log may say it. */
const storeName = ({ data, database }: Configuration.Values): string =>
  Option.match(database, {
    onNone: () => `the folder ${data}`,
    onSome: (url) => {
      const { host, pathname } = new URL(Redacted.value(url))
      return `Postgres at ${host}${pathname}`
    }
  })

/** How long a piece of text takes where somebody tries the service out: the desk's guardrails let all of it pass at once. */
const pace = Duration.millis(20)

/** What stands around runs: their metrics, and a pace at which text can be read where `PACE` or a trial wants one. */
const around = Layer.effect(
  Around,
  Effect.gen(function*() {
    const isTrial = (yield* Settings).tokens.some(({ isDemo }) => isDemo === true)
    const wanted = Option.getOrElse(yield* time("PACE", "20 millis"), () => isTrial ? pace : Duration.zero)
    if (Duration.isZero(wanted)) return measured
    const wait = Effect.sleep(wanted)
    return (self) => measured(Agent.observe(self, ({ _tag }) => _tag === "TextDelta" ? wait : Effect.void))
  })
)

/** How somebody of a role comes in, until the service stops. */
const comeIn = {
  customer: "Come in as a customer, who talks to the desk:",
  colleague: "Come in as a colleague, who approves or denies:"
} as const

const greet = (model: string) =>
  Effect.gen(function*() {
    const settings = yield* Settings
    const { address } = yield* HttpServer.HttpServer
    const url = NetAddress.formatUrlUnsafe(address)
    const lines = [
      `Listens on ${url}, with a page at / and the API described at /docs`,
      `Keeps conversations in ${storeName(settings)}`,
      model,
      ...settings.tokens.filter(({ isDemo }) => isDemo).map(({ role, token }) =>
        `${comeIn[role]} ${url}/#token=${Redacted.value(token)}`
      ),
      ...(settings.tokens.some(({ role }) => role === "colleague")
        ? []
        : ["Nobody can approve anything: COLLEAGUE_TOKENS has no token"])
    ]
    yield* Effect.sync(() => process.stdout.write(`${lines.join("\n")}\n`))
  })

const service = Layer.unwrap(
  Effect.map(
    configured,
    (model) =>
      Layer.effectDiscard(greet(Option.getOrElse(model.line, () => "The model is embedded."))).pipe(
        Layer.provide(Server.layer),
        Layer.provide(Agents.desk(model.layer)),
        Layer.provide(Place.layer),
        Layer.provide(around),
        Layer.provide(Configuration.layer),
        Layer.provide(Observability.layer)
      )
  )
)

/** What went wrong at the start, in a line for whoever started it. */
const explain = (cause: Cause.Cause<unknown>): string => {
  const error = Cause.squash(cause)
  if (error instanceof HttpServerError.ServeError && error.cause instanceof Error) {
    return `can't listen: ${error.cause.message} (HOST and PORT say where, as in HOST=127.0.0.1 PORT=8080)`
  }
  if (error instanceof Config.ConfigError) return error.cause.message.replaceAll(/\s*\n\s*/g, " ")
  return error instanceof Error ? error.message : String(error)
}

const main = Layer.launch(service).pipe(
  Effect.tapCause((cause) =>
    Cause.hasInterruptsOnly(cause)
      ? Effect.void
      : Effect.sync(() => void process.stderr.write(`backend: ${explain(cause)}\n`))
  )
)

// The first signal ends the service in order. Who can't wait for that sends a second one: what runs stays in flight.
let signals = 0
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.on(signal, () => {
    if (++signals > 1) process.exit(1)
  })
}

NodeRuntime.runMain(main, {
  disableErrorReporting: true,
  teardown: (exit, onExit) => onExit(Exit.isSuccess(exit) || Cause.hasInterruptsOnly(exit.cause) ? 0 : 1)
})
