/**
 * Limits and amounts that options set, checked when they are set.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { ErrorClass } from "./ErrorClass.ts"

/**
 * Error for an invalid limit, such as half a step.
 *
 * @category errors
 * @since 0.1.0
 */
export class InvalidLimit extends ErrorClass<InvalidLimit>("troupe/domain")("InvalidLimit", {
  option: Schema.String,
  limit: Schema.Number,
  expected: Schema.String
}, ({ expected, limit, option }) => `"${option}" is ${limit}, not ${expected}`) {}

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
  if (limit >= 0) return limit
  throw new InvalidLimit({ option, limit, expected: "a number from 0 on" })
}
