/**
 * Whom a request comes from, and how many requests the customers of a tenant may send, and its colleagues.
 */
import { Duration, Effect, Layer, Option, Predicate, Redacted } from "effect"
import { HttpEffect, HttpServerResponse } from "effect/http"
import { RateLimiter } from "effect/persistence"
import { createHash, timingSafeEqual } from "node:crypto"
import { Authentication, Caller } from "../api/Authentication.ts"
import { TooManyRequests, Unauthorized } from "../api/Problems.ts"
import { Settings } from "../config.ts"
import * as Rates from "../store/Rates.ts"

/** Digests have one length, so that comparing them takes one time, and nothing is told of a token by how long it took. */
const digest = (token: Redacted.Redacted): Buffer => createHash("sha256").update(Redacted.value(token)).digest()

/** Says in a header what a problem says of when to come again, or how. */
export const withHeaders = <A, E, R>(self: Effect.Effect<A, E, R>) =>
  Effect.tapError(self, (error: unknown) => {
    const header: readonly [string, string] | undefined = error instanceof Unauthorized
      ? ["www-authenticate", `Bearer realm="backend"`]
      : Predicate.hasProperty(error, "retryAfter")
      ? ["retry-after", String(error.retryAfter)]
      : undefined
    return header === undefined ?
      Effect.void :
      HttpEffect.appendPreResponseHandler((_, response) =>
        Effect.succeed(HttpServerResponse.setHeader(response, ...header))
      )
  })

const make = Effect.gen(function*() {
  const { limits, tokens } = yield* Settings
  const limiter = yield* RateLimiter.RateLimiter
  const known = tokens.map(({ role, tenant, token }) => ({ caller: { tenant, role }, digest: digest(token) }))

  const callerOf = (token: Redacted.Redacted): Caller["Service"] | undefined => {
    const given = digest(token)
    let found: Caller["Service"] | undefined
    for (const { caller, digest } of known) if (timingSafeEqual(digest, given)) found = caller
    return found
  }

  // Customers who ask too often don't keep a colleague from deciding.
  const count = ({ role, tenant }: Caller["Service"]) =>
    limiter.consume({ algorithm: "token-bucket", key: `${role} ${tenant}`, limit: limits.rate, window: "1 minute" })
      .pipe(
        Effect.catch(({ reason }) =>
          reason._tag === "RateLimitExceeded"
            ? new TooManyRequests({
              detail: `${limits.rate} requests a minute are the limit`,
              retryAfter: Math.max(1, Math.ceil(Duration.toSeconds(reason.retryAfter))),
              limit: "rate"
            })
            // Who can't be counted is let through: what is asked for says itself whether the store is away.
            : Effect.void
        )
      )

  return Authentication.of({
    bearer: (request, { credential }) =>
      withHeaders(Effect.gen(function*() {
        const caller = callerOf(credential)
        if (caller === undefined) return yield* new Unauthorized({})
        yield* count(caller)
        return yield* Effect.provideService(request, Caller, caller)
      }))
  })
})

/** Requests are counted in the database where other instances share it, and in memory where none does. */
const counts = Layer.unwrap(
  Effect.map(Settings, ({ database }) => Option.isSome(database) ? Rates.layer : RateLimiter.layerStoreMemory)
)

export const layer = Layer.effect(Authentication, make).pipe(
  Layer.provide(RateLimiter.layer),
  Layer.provide(counts)
)
