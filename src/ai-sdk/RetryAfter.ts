/**
 * How long a provider tells to wait, by the headers of its response.
 *
 * `retry-after` is a number of seconds or a date (RFC 9110, section 10.2.3); `retry-after-ms`, of some providers, is exact.
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"

const decimal = /^\d+(\.\d+)?$/

const numberIn = (header: string | undefined): number | undefined =>
  header !== undefined && decimal.test(header.trim()) ? Number(header) : undefined

/** Gives how long to wait, as far as that is said. `now` is the time in milliseconds, that a date is compared with. */
export const retryAfter = (
  headers: Readonly<Record<string, string>>,
  now: number
): Duration.Duration | undefined => {
  const millis = numberIn(headers["retry-after-ms"])
  if (millis !== undefined) return Duration.millis(millis)
  const header = headers["retry-after"]
  const seconds = numberIn(header)
  if (seconds !== undefined) return Duration.seconds(seconds)
  const at = header === undefined ? Number.NaN : Date.parse(header)
  return Number.isNaN(at) ? undefined : Duration.millis(Math.max(0, at - now))
}
