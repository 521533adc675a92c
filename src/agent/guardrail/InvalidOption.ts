/**
 * Invalid options of built-in guardrails.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"

/**
 * Error for an invalid option of a built-in guardrail: a threshold or a limit out of its range, or an empty list.
 *
 * @category errors
 * @since 0.1.0
 */
export class InvalidOption extends Schema.TaggedError<InvalidOption>("troupe/agent/Guardrail/InvalidOption")(
  "InvalidOption",
  { guardrail: Schema.String, option: Schema.String, expected: Schema.String, value: Schema.Unknown }
) {
  override get message(): string {
    return `"${this.option}" of the guardrail "${this.guardrail}" is ${String(this.value)}, not ${this.expected}`
  }
}

/** Returns a number, or throws `InvalidOption` unless it is a whole one from `least` on. */
export const countOf = (guardrail: string, option: string, value: number, least: number): number => {
  if (Number.isInteger(value) && value >= least) return value
  throw new InvalidOption({ guardrail, option, value, expected: `a whole number from ${least} on` })
}

/** Returns the members of a list, or throws `InvalidOption` if it has none. */
export const membersOf = <A>(
  guardrail: string,
  option: string,
  values: Iterable<A>
): readonly [A, ...ReadonlyArray<A>] => {
  const [first, ...rest] = values
  if (first !== undefined) return [first, ...rest]
  throw new InvalidOption({ guardrail, option, value: "empty", expected: "a list that has something in it" })
}
