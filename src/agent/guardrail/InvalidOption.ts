/**
 * Options that make no guardrail.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"

/**
 * Error for a built-in guardrail that can't be as it was asked for: a threshold or a limit out of its range, or an empty list.
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

/** Gives a number that must be a whole one from `least` on, or throws `InvalidOption`. */
export const countOf = (guardrail: string, option: string, value: number, least: number): number => {
  if (Number.isInteger(value) && value >= least) return value
  throw new InvalidOption({ guardrail, option, value, expected: `a whole number from ${least} on` })
}

/** Gives the members of a list that must have some, or throws `InvalidOption`. */
export const membersOf = <A>(
  guardrail: string,
  option: string,
  values: Iterable<A>
): readonly [A, ...ReadonlyArray<A>] => {
  const [first, ...rest] = values
  if (first !== undefined) return [first, ...rest]
  throw new InvalidOption({ guardrail, option, value: "empty", expected: "a list that has something in it" })
}
