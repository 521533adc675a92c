/**
 * Invalid options of context windows.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"

/**
 * Error for an invalid option of a context window.
 *
 * @category errors
 * @since 0.1.0
 */
export class InvalidWindow extends Schema.TaggedError<InvalidWindow>("troupe/agent/ContextWindow/InvalidWindow")(
  "InvalidWindow",
  {
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
  }
) {
  override get message(): string {
    return `"${this.option}" of a context window ${this.issue}`
  }
}

/** Returns a limit, or throws `InvalidWindow` unless it is a whole number from `minimum` on. */
export const limitOf = (option: InvalidWindow["option"], value: number, minimum: 0 | 1): number => {
  if (value >= minimum && Number.isInteger(value)) return value
  throw new InvalidWindow({ option, issue: `is ${value}, not a whole number from ${minimum} on` })
}
