/**
 * Limits that nothing could keep to.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"

/**
 * Error for a limit that can't be: it is neither a whole number from 1 on nor `Infinity`, which sets none.
 *
 * @category errors
 * @since 0.1.0
 */
export class InvalidLimit extends Schema.TaggedError<InvalidLimit>("troupe/handoff/InvalidLimit")("InvalidLimit", {
  option: Schema.Literals(["maxHandoffs", "maxTurns"]),
  limit: Schema.Number
}) {
  override get message(): string {
    return `"${this.option}" is ${this.limit}, not a whole number from 1 on or Infinity`
  }
}

/** Checks whether so many can be allowed. */
export const isLimit = (limit: number): boolean => limit >= 1 && (Number.isInteger(limit) || limit === Infinity)

/** Gives the limit that an option sets, or throws `InvalidLimit`. */
export const limitOf = (option: InvalidLimit["option"], limit: number): number => {
  if (!isLimit(limit)) throw new InvalidLimit({ option, limit })
  return limit
}
