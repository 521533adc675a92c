/**
 * How long a provider says to wait, in the headers or the body of its response.
 *
 * `retry-after` is a number of seconds or a date (RFC 9110, section 10.2.3); some providers give a fraction of a second too.
 * `retry-after-ms`, which some providers send, is exact. Google's providers send a `google.rpc.RetryInfo` among the details of an error.
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import * as Headers from "effect/http/Headers"
import * as Result from "effect/Result"
import { textIn, type Thrown } from "./Thrown.ts"

/** Reads seconds or milliseconds. Ignores a number that is too large to be counted exactly. */
const numberIn = (header: string): number | undefined => {
  const number = /^\d+(\.\d+)?$/.test(header.trim()) ? Number(header) : Infinity
  return number <= Number.MAX_SAFE_INTEGER / 1000 ? number : undefined
}

const inHeaders = (
  { "retry-after": header = "", "retry-after-ms": exact = "" }: Readonly<Record<string, string>>,
  now: number
): Duration.Duration | undefined => {
  const millis = numberIn(exact)
  if (millis !== undefined) return Duration.millis(millis)
  const seconds = numberIn(header)
  if (seconds !== undefined) return Duration.seconds(seconds)
  const parsed = Result.getOrUndefined(Headers.parseRetryAfter(header))
  return parsed?._tag === "DateTime" ? Headers.retryAfterDelay(parsed, now) : undefined
}

/** Reads a `RetryInfo`, whose delay is a text such as `"36.5s"`. */
const inDetail = (detail: unknown): Duration.Duration | undefined => {
  if (!/\bRetryInfo$/.test(textIn(detail, "@type") ?? "")) return undefined
  const seconds = numberIn((textIn(detail, "retryDelay") ?? "").replace(/s$/, ""))
  return seconds === undefined ? undefined : Duration.millis(Math.ceil(seconds * 1000))
}

/** Returns how long to wait, if the provider says it. A date is compared with `now`, in epoch milliseconds. */
export const retryAfter = (
  { details, headers }: Pick<Thrown, "details" | "headers">,
  now: number
): Duration.Duration | undefined =>
  inHeaders(headers, now) ?? details.map(inDetail).find((delay) => delay !== undefined)
