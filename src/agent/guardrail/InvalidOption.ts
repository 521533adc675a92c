/**
 * Invalid options of built-in guardrails.
 *
 * @since 0.1.0
 */
import * as Formatter from "effect/Formatter"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import { listOf } from "../../domain/Described.ts"
import { ErrorClass } from "../../domain/ErrorClass.ts"

/**
 * Error for a guardrail that can't be as it was asked for: a number out of its range, an empty list, a word that it doesn't know.
 *
 * @category errors
 * @since 0.1.0
 */
export class InvalidOption extends ErrorClass<InvalidOption>("troupe/agent/Guardrail")("InvalidOption", {
  guardrail: Schema.String,
  option: Schema.String,
  expected: Schema.String,
  value: Schema.Unknown
}, ({ expected, guardrail, option, value }) => {
  const given = Array.isArray(value) && value.length === 0 ? "empty" : Formatter.format(value)
  return `"${option}" of the guardrail "${guardrail}" is ${given}, not ${expected}`
}) {}

/** Returns an option that is valid, or throws `InvalidOption`. */
export const optionOf = <A>(
  guardrail: string,
  option: string,
  value: A,
  isValid: (value: A) => boolean,
  expected: string
): A => {
  if (isValid(value)) return value
  throw new InvalidOption({ guardrail, option, value, expected })
}

/** Returns a number that must be a whole one from `least` on, or throws `InvalidOption`. */
export const countOf = (guardrail: string, option: string, value: number, least: number): number => {
  const isCount = (value: number): boolean => Number.isInteger(value) && value >= least
  return optionOf(guardrail, option, value, isCount, `a whole number from ${least} on`)
}

/** Returns a word that must be one of some, or throws `InvalidOption`. */
export const oneOf = <A extends string>(guardrail: string, option: string, value: A, words: ReadonlyArray<A>): A =>
  optionOf(guardrail, option, value, (value) => words.includes(value), `one of ${listOf(words)}`)

/** Returns the members of a list, or throws `InvalidOption`. A text isn't a list of its letters. */
export const listOption = <A>(guardrail: string, option: string, values: Iterable<A>): ReadonlyArray<A> =>
  Array.from(
    optionOf(guardrail, option, values, (value) => Predicate.isIterable(value) && !Predicate.isString(value), "a list")
  )

/** Returns the members of a list that must have some, or throws `InvalidOption`. */
export const membersOf = <A>(guardrail: string, option: string, values: Iterable<A>): ReadonlyArray<A> =>
  optionOf(
    guardrail,
    option,
    listOption(guardrail, option, values),
    ({ length }) => length > 0,
    "a list that has something in it"
  )

/** Returns words that must be some of those that are known, or throws `InvalidOption`. */
export const someOf = <A extends string>(
  guardrail: string,
  option: string,
  values: Iterable<A>,
  words: ReadonlyArray<A>
): ReadonlyArray<A> => membersOf(guardrail, option, values).map((value) => oneOf(guardrail, option, value, words))
