/**
 * How often tenants ask, counted in the database, so that it counts in all instances.
 *
 * A bucket is a row, which says when the bucket is full again. One statement fills it and takes from it: the row is locked for that statement
 * alone, and the clock is the database's, which all instances share. The service uses no other algorithm.
 */
import { Duration, Effect, Layer } from "effect"
import { RateLimiter } from "effect/persistence"
import { SqlClient } from "effect/sql"
import * as Migrations from "./Migrations.ts"

const unused = () => Effect.die(new Error("The service limits by buckets of tokens"))

/** How exact the clock is, in milliseconds: a sum of its times may be off by that. */
const tolerance = 0.01

const make = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const table = sql(Migrations.rates)
  const now = sql.onDialectOrElse({
    pg: () => sql.literal("(extract(epoch FROM clock_timestamp())::double precision * 1000)"),
    orElse: () => sql.literal("(unixepoch('subsec') * 1000.0)")
  })
  const greatest = sql.onDialectOrElse({ pg: () => sql.literal("GREATEST"), orElse: () => sql.literal("MAX") })
  const number = (value: number) => sql.literal(`${value.toFixed(9)}`)

  const tokenBucket: RateLimiter.RateLimiterStore["Service"]["tokenBucket"] = (
    { allowOverflow, key, limit, refillRate, tokens }
  ) => {
    const every = Duration.toMillis(refillRate)
    const cost = number(tokens * every)
    const whole = number(limit * every + tolerance)
    const asked = sql`${greatest}(${table}.full_at - (excluded.full_at - ${cost}), 0) + ${cost}`
    const next = sql`${greatest}(${table}.full_at, excluded.full_at - ${cost}) + ${cost}`
    const kept = allowOverflow ? next : sql`CASE WHEN ${asked} <= ${whole} THEN ${next} ELSE ${table}.full_at END`
    return sql<{ readonly asked: number }>`
      INSERT INTO ${table} (id, full_at, asked) VALUES (${key}, ${now} + ${cost}, ${cost})
      ON CONFLICT (id) DO UPDATE SET asked = ${asked}, full_at = ${kept}
      RETURNING asked`.pipe(
      Effect.map(([row]) => {
        const left = limit - (Number(row!.asked) - tolerance) / every
        return [Math.floor(left), (left - Math.floor(left)) * every] as const
      }),
      Effect.mapError((cause) =>
        new RateLimiter.RateLimiterError({
          reason: new RateLimiter.RateLimitStoreError({ message: "The rates can't be counted", cause })
        })
      )
    )
  }
  return RateLimiter.RateLimiterStore.of({
    tokenBucket,
    fixedWindow: unused,
    adaptiveConsume: unused,
    adaptiveFeedback: unused
  })
})

/** Counts in the database at hand. */
export const layer = Layer.effect(RateLimiter.RateLimiterStore, make)
