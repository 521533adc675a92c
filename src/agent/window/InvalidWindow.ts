/**
 * Invalid options of context windows.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { kindOf } from "../../domain/Described.ts"
import { ErrorClass } from "../../domain/ErrorClass.ts"

/**
 * Error for an invalid option of a context window.
 *
 * @category errors
 * @since 0.1.0
 */
export class InvalidWindow extends ErrorClass<InvalidWindow>("troupe/agent/ContextWindow")("InvalidWindow", {
  option: Schema.Literals([
    "costSensitivity",
    "count",
    "maxTokens",
    "maxTurns",
    "price",
    "reserve",
    "strategy",
    "target"
  ]),
  issue: Schema.String
}, ({ issue, option }) => `"${option}" of a context window ${issue}`) {}

/** Shows what should be a number. */
export const shown = (value: unknown): string => typeof value === "number" ? String(value) : kindOf(value)

/** Checks whether a number is a whole one from `minimum` on. */
export const isLimit = (value: number, minimum: 0 | 1): boolean => value >= minimum && Number.isInteger(value)

/** Returns a limit, or throws `InvalidWindow` unless it is a whole number from `minimum` on. */
export const limitOf = (option: InvalidWindow["option"], value: number, minimum: 0 | 1): number => {
  if (isLimit(value, minimum)) return value
  throw new InvalidWindow({ option, issue: `is ${shown(value)}, not a whole number from ${minimum} on` })
}
