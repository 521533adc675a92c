/**
 * What the service is told by its environment.
 */
import { Config, Context, Duration, Effect, Layer, Option, Redacted, Schema } from "effect"
import { NetAddress } from "effect/net"
import type { Role } from "./api/Authentication.ts"

/** The environment says something that can't be. */
export class BadSetting extends Schema.TaggedError<BadSetting>()("BadSetting", {
  name: Schema.String,
  issue: Schema.String
}) {
  override get message(): string {
    return `${this.name} ${this.issue}`
  }
}

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
  /** Runs under way in this process. */
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
  /** How often conversations are looked for whose process died. */
  readonly recovery: Duration.Duration
  /** How often a silent stream says that it is still there. */
  readonly heartbeat: Duration.Duration
}>()("backend/Settings") {}

export type Values = Settings["Service"]

/** A whole number. */
const atLeast = (name: string, minimum: number, fallback: number) =>
  Config.schema(Schema.FiniteFromString.check(Schema.isInt(), Schema.isGreaterThanOrEqualTo(minimum)), name).pipe(
    Config.withDefault(fallback)
  )

const environment = Config.all({
  host: Config.NonEmptyString("HOST").pipe(Config.withDefault("127.0.0.1")),
  port: Config.schema(
    Schema.FiniteFromString.check(Schema.isInt(), Schema.isBetween({ minimum: 0, maximum: 65_535 })),
    "PORT"
  )
    .pipe(Config.withDefault(8080)),
  data: Config.NonEmptyString("DATA").pipe(Config.withDefault("data")),
  database: Config.option(Config.Redacted("DATABASE_URL")),
  tokens: Config.all({
    customer: Config.option(Config.Redacted("TOKENS")),
    colleague: Config.option(Config.Redacted("COLLEAGUE_TOKENS"))
  }),
  limits: Config.all({
    bodySize: atLeast("LIMIT_BODY", 1024, 64 * 1024),
    rate: atLeast("LIMIT_RATE", 1, 1200),
    runs: atLeast("LIMIT_RUNS", 1, 50),
    streams: atLeast("LIMIT_STREAMS", 1, 100),
    waiting: Config.Duration("LIMIT_WAITING").pipe(Config.withDefault(Duration.millis(100)))
  }),
  grace: Config.Duration("GRACE").pipe(Config.withDefault(Duration.millis(100))),
  arrival: Config.Duration("ARRIVAL").pipe(Config.withDefault(Duration.seconds(30))),
  recovery: Config.Duration("RECOVERY").pipe(Config.withDefault(Duration.seconds(3))),
  heartbeat: Config.Duration("HEARTBEAT").pipe(Config.withDefault(Duration.seconds(15)))
})

const minTokenLength = 16

/** The variables that hold the tokens of each role. */
const variables = { customer: "TOKENS", colleague: "COLLEAGUE_TOKENS" } as const

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
          new BadSetting({ name: variables[role], issue: `${issue} (entry ${index + 1})` })
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
    : Effect.fail(new BadSetting({ name: "TOKENS", issue: `is needed to listen on ${host}, which others can reach` }))

export const layer = Layer.effect(
  Settings,
  Effect.gen(function*() {
    const { tokens: { colleague, customer }, ...settings } = yield* environment
    if (Option.isNone(customer) && Option.isSome(colleague)) {
      return yield* new BadSetting({ name: "COLLEAGUE_TOKENS", issue: "needs TOKENS beside it" })
    }
    return {
      ...settings,
      tokens: Option.isSome(customer)
        ? yield* readTokens({
          customer: Redacted.value(customer.value),
          colleague: Option.getOrUndefined(Option.map(colleague, Redacted.value))
        })
        : yield* demo(settings.host)
    }
  })
)
