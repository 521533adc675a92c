/**
 * What the service is told by its environment.
 */
import { Config, Context, type Duration, Effect, Layer, Option, Redacted } from "effect"
import { NetAddress } from "effect/net"
import { BadSetting, setting, text, timeOr, wholeNumber } from "../desk/settings.ts"
import type { Role } from "./api/Authentication.ts"
import type { Patience } from "./store/Databases.ts"

/** A bearer token, and for whom it stands. A tenant may have several of a role, so that one can be replaced. */
export interface Token {
  readonly tenant: string
  readonly role: Role
  readonly token: Redacted.Redacted
  /** Whether it was made for this run of the service, and has to be told. */
  readonly isDemo?: boolean
}

/** How much of the service may be used: by a tenant, where nothing else is said. */
export interface Limits {
  /** Bytes of a request's body. */
  readonly bodySize: number
  /** Requests in a minute, evened out; so many may come at once. */
  readonly rate: number
  /** Runs of a tenant under way, counted over all instances. */
  readonly runs: number
  /** Streams of events that are open in this process. */
  readonly streams: number
  /** How long a request may have to wait until it is taken in. */
  readonly waiting: Duration.Duration
}

export class Settings extends Context.Service<Settings, {
  readonly host: string
  readonly port: number
  /** The folder of the embedded store. */
  readonly data: string
  /** Where Postgres is, if conversations are kept there. */
  readonly database: Option.Option<Redacted.Redacted>
  readonly tokens: ReadonlyArray<Token>
  readonly limits: Limits
  /** How long runs may take to end at a shutdown. */
  readonly grace: Duration.Duration
  /** How long a request may take to arrive, its body included. */
  readonly arrival: Duration.Duration
  /** Where the other instances on the same Postgres reach this one; a port that is free where none is given. */
  readonly runner: { readonly host: string; readonly port: number | undefined }
  /** How long Postgres may take. */
  readonly patience: Patience
  /** How many events of a conversation are kept at least: the newest ones. */
  readonly keepEvents: number
  /** How often a silent stream says that it is still there. */
  readonly heartbeat: Duration.Duration
}>()("backend/Settings") {}

export type Values = Settings["Service"]

/** The greatest number that a limit can be. */
const unlimited = Number.MAX_SAFE_INTEGER

/** The shortest time that a setting accepts if a time of 0 makes no sense for it. */
const often = "10 millis"

/** Reads the address of a Postgres. */
const toDatabase = (text: string): Redacted.Redacted | undefined =>
  URL.canParse(text) && /^postgres(?:ql)?:$/.test(new URL(text).protocol) ? Redacted.make(text) : undefined

const environment = Effect.all({
  host: text("HOST", "the name or the address of this machine", "127.0.0.1"),
  port: wholeNumber("PORT", { minimum: 0, maximum: 65_535, fallback: 8080 }),
  data: text("DATA", "the name of a folder", "data"),
  database: setting(
    "DATABASE_URL",
    "the address of a Postgres",
    "postgres://user:password@localhost:5432/desk",
    toDatabase
  ),
  limits: Effect.all({
    bodySize: wholeNumber("LIMIT_BODY", { minimum: 1024, maximum: 2 ** 30, fallback: 64 * 1024 }),
    rate: wholeNumber("LIMIT_RATE", { minimum: 1, maximum: unlimited, fallback: 1200 }),
    runs: wholeNumber("LIMIT_RUNS", { minimum: 1, maximum: unlimited, fallback: 50 }),
    streams: wholeNumber("LIMIT_STREAMS", { minimum: 1, maximum: unlimited, fallback: 100 }),
    waiting: timeOr("LIMIT_WAITING", "100 millis")
  }),
  grace: timeOr("GRACE", "10 seconds"),
  arrival: timeOr("ARRIVAL", "30 seconds", often),
  patience: Effect.all({
    connection: timeOr("DATABASE_TIMEOUT_CONNECTION", "5 seconds", often),
    statement: timeOr("DATABASE_TIMEOUT_STATEMENT", "5 seconds", often)
  }),
  heartbeat: timeOr("HEARTBEAT", "15 seconds", often)
})

/** How many events of a conversation are kept at least. */
const keepEvents = 5000

/** Reads where the others reach this one: a name or an address, and a port. */
const toRunner = (text: string): { readonly host: string; readonly port: number } | undefined => {
  const [, host, port] = /^([\w.-]+|\[[\da-fA-F:]+\]):(\d{1,5})$/.exec(text) ?? []
  const number = Number(port)
  return host === undefined || number < 1 || number > 65_535
    ? undefined
    : { host: host.replaceAll(/[[\]]/g, ""), port: number }
}

const cluster = setting("CLUSTER", "where the other instances reach this one", "10.0.0.1:34431", toRunner)

const minTokenLength = 16

/** The variables that hold the tokens of each role. */
const variables = { customer: "TOKENS", colleague: "COLLEAGUE_TOKENS" } as const

/** What the tokens of a role look like. */
const exampleOf = (role: Role): string => `${variables[role]}=shop=a-long-token-of-a-${role}`

/** Texts of tokens. */
const tokenTexts = Config.all({
  customer: Config.option(Config.Redacted(variables.customer)),
  colleague: Config.option(Config.Redacted(variables.colleague))
})

/**
 * Reads `tenant=token,…` of customers, and of colleagues if there are any. What is wrong is said without the token.
 *
 * No token is of two roles, and no colleague is of a tenant without customers.
 */
export const readTokens = (
  texts: { readonly customer: string; readonly colleague?: string | undefined }
): Effect.Effect<ReadonlyArray<Token>, BadSetting> =>
  Effect.gen(function*() {
    const tokens: Array<Token> = []
    const seen = new Set<string>()
    for (const role of ["customer", "colleague"] as const) {
      for (const [index, entry] of (texts[role]?.split(",") ?? []).map((entry) => entry.trim()).entries()) {
        const fail = (issue: string) =>
          new BadSetting({ name: variables[role], issue: `${issue}, as in ${exampleOf(role)} (entry ${index + 1})` })
        const at = entry.indexOf("=")
        const [tenant, token] = [entry.slice(0, Math.max(at, 0)), entry.slice(at + 1)]
        if (!/^[\w.-]{1,64}$/.test(tenant)) return yield* fail("needs the name of a tenant before each \"=\"")
        if (!/^[\w.~+/=-]+$/.test(token)) return yield* fail("needs tokens of letters, digits and -._~+/=")
        if (token.length < minTokenLength) return yield* fail(`needs tokens of ${minTokenLength} characters or more`)
        if (seen.has(token)) return yield* fail("has a token that is given twice")
        if (role === "colleague" && !tokens.some((other) => other.tenant === tenant)) {
          return yield* fail(`names a tenant that ${variables.customer} doesn't`)
        }
        seen.add(token)
        tokens.push({ tenant, role, token: Redacted.make(token) })
      }
    }
    return tokens
  })

const isLoopback = (host: string): boolean =>
  host === "localhost" ||
  Option.match(Option.getSuccess(NetAddress.ipFromString(host)), { onNone: () => false, onSome: NetAddress.isLoopback })

/** Without tokens the tenant `demo` has one of each role, for this run alone, and nobody from elsewhere can use them. */
const demo = (host: string): Effect.Effect<ReadonlyArray<Token>, BadSetting> =>
  isLoopback(host)
    ? Effect.sync(() =>
      (["customer", "colleague"] as const).map((role) => ({
        tenant: "demo",
        role,
        token: Redacted.make(crypto.randomUUID()),
        isDemo: true
      }))
    )
    : Effect.fail(
      new BadSetting({
        name: "TOKENS",
        issue: `is needed to listen on ${host}, which others can reach, as in ${exampleOf("customer")}`
      })
    )

/** Whether it was started as one of several, which need a Postgres. */
const isMember = (args: ReadonlyArray<string>): boolean => args.includes("--cluster")

export const layer = Layer.effect(
  Settings,
  Effect.gen(function*() {
    const settings = yield* environment
    const runner = yield* cluster
    const args = yield* Effect.sync(() => process.argv.slice(2))
    if (Option.isNone(settings.database) && (Option.isSome(runner) || isMember(args))) {
      return yield* new BadSetting({
        name: "DATABASE_URL",
        issue: "is needed for a cluster: its instances share one Postgres"
      })
    }
    const { colleague, customer } = yield* tokenTexts
    if (Option.isNone(customer) && Option.isSome(colleague)) {
      return yield* new BadSetting({
        name: "COLLEAGUE_TOKENS",
        issue: `needs TOKENS beside it, as in ${exampleOf("customer")}`
      })
    }
    return {
      ...settings,
      keepEvents,
      runner: Option.getOrElse(runner, () => ({ host: "127.0.0.1", port: undefined })),
      tokens: Option.isSome(customer)
        ? yield* readTokens({
          customer: Redacted.value(customer.value),
          colleague: Option.getOrUndefined(Option.map(colleague, Redacted.value))
        })
        : yield* demo(settings.host)
    }
  })
)
