/**
 * How long a provider tells to wait, by the headers of its response.
 *
 * `retry-after` is a number of seconds or a date (RFC 9110, section 10.2.3); some providers give a fraction of a second too.
 * `retry-after-ms`, of some providers, is exact.
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import * as Headers from "effect/http/Headers"
import * as Result from "effect/Result"

const numberIn = (header: string): number | undefined =>
  /^\d+(\.\d+)?$/.test(header.trim()) ? Number(header) : undefined

/** Gives how long to wait, as far as that is said. `now` is the time in milliseconds, that a date is compared with. */
export const retryAfter = (
  { "retry-after": header = "", "retry-after-ms": exact = "" }: Readonly<Record<string, string>>,
  now: number
): Duration.Duration | undefined => {
  const millis = numberIn(exact)
  if (millis !== undefined) return Duration.millis(millis)
  const seconds = numberIn(header)
  if (seconds !== undefined) return Duration.seconds(seconds)
  return Result.getOrUndefined(
    Result.map(Headers.parseRetryAfter(header), (parsed) => Headers.retryAfterDelay(parsed, now))
  )
}
