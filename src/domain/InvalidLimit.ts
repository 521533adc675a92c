/**
 * Numbers that nothing could keep to.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { ErrorClass } from "./ErrorClass.ts"

/**
 * Error for a limit that can't be, such as half a step.
 *
 * @category errors
 * @since 0.1.0
 */
export class InvalidLimit extends ErrorClass<InvalidLimit>("troupe/domain")("InvalidLimit", {
  option: Schema.String,
  limit: Schema.Number,
  expected: Schema.String
}, ({ expected, limit, option }) => `"${option}" is ${limit}, not ${expected}`) {}

/** Checks whether so many can be allowed. */
export const isCount = (limit: number, least: number): boolean =>
  limit >= least && (Number.isInteger(limit) || limit === Infinity)

/** Gives a limit that an option sets, or throws `InvalidLimit` where it is neither a whole number from `least` on nor `Infinity`. */
export const countOf = (option: string, limit: number, least: number): number => {
  if (isCount(limit, least)) return limit
  throw new InvalidLimit({ option, limit, expected: `a whole number from ${least} on or Infinity` })
}

/** Gives an amount that an option sets, or throws `InvalidLimit` where it is below 0 or no number. */
export const amountOf = (option: string, limit: number): number => {
  if (limit >= 0) return limit
  throw new InvalidLimit({ option, limit, expected: "a number from 0 on" })
}
