/**
 * Limits and amounts that options set, checked when they are set.
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import * as Formatter from "effect/Formatter"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { ErrorClass } from "./ErrorClass.ts"

const describe = (limit: unknown): string => typeof limit === "number" ? `${limit}` : Formatter.format(limit)

/**
 * Error for an invalid number or duration in an option, such as half a step. `expected` says what is valid.
 *
 * @category errors
 * @since 0.1.0
 */
export class InvalidLimit extends ErrorClass<InvalidLimit>("troupe/domain")("InvalidLimit", {
  option: Schema.String,
  // Untyped callers may set anything.
  limit: Schema.Unknown,
  expected: Schema.String
}, ({ expected, limit, option }) => `"${option}" is ${describe(limit)}, not ${expected}`) {}

/** Checks whether a number is a valid limit. */
export const isCount = (limit: number, least: number): boolean =>
  limit >= least && (Number.isInteger(limit) || limit === Infinity)

/** Returns the limit that an option sets. Throws `InvalidLimit` if it is neither a whole number of at least `least` nor `Infinity`. */
export const countOf = (option: string, limit: number, least: number): number => {
  if (isCount(limit, least)) return limit
  throw new InvalidLimit({ option, limit, expected: `a whole number from ${least} on or Infinity` })
}

/** Returns the amount that an option sets. Throws `InvalidLimit` if it is below 0 or not a number. */
export const amountOf = (option: string, limit: number): number => {
  if (typeof limit === "number" && limit >= 0) return limit
  throw new InvalidLimit({ option, limit, expected: "a number from 0 on" })
}

/** Returns the finite amount that an option sets. Throws `InvalidLimit` if it is below 0, infinite or not a number. */
export const finiteOf = (option: string, limit: number | undefined): number => {
  if (typeof limit === "number" && limit >= 0 && limit < Infinity) return limit
  throw new InvalidLimit({ option, limit, expected: "a finite number from 0 on" })
}

/** Returns the time that an option sets, in whole milliseconds. Throws `InvalidLimit` unless that is a safe integer. */
export const timeOf = (option: string, at: number): number => {
  const time = Math.floor(at)
  if (Number.isSafeInteger(time)) return time
  throw new InvalidLimit({ option, limit: at, expected: "a time in epoch milliseconds" })
}

/** Returns the duration that an option sets. Throws `InvalidLimit` if it is too short or invalid. */
export const durationOf = (
  option: string,
  given: Duration.Input,
  least: "above 0" | "from 0 on"
): Duration.Duration => {
  const isLong = least === "above 0"
    ? Duration.isPositive
    : (duration: Duration.Duration) => !Duration.isNegative(duration)
  const duration = Number.isNaN(given) ? Option.none() : Option.filter(Duration.fromInput(given), isLong)
  if (Option.isSome(duration)) return duration.value
  throw new InvalidLimit({ option, limit: given, expected: `a duration ${least}` })
}
