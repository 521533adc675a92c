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
 * Error for an invalid option of a guardrail: a number out of its range, an empty list, an unknown word.
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

/** Returns an option if it is valid. Throws `InvalidOption` if not. */
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

/** Returns a whole number of at least `least`. Throws `InvalidOption` for any other value. */
export const countOf = (guardrail: string, option: string, value: number, least: number): number => {
  const isCount = (value: number): boolean => Number.isInteger(value) && value >= least
  return optionOf(guardrail, option, value, isCount, `a whole number from ${least} on`)
}

/** Returns a word that is one of some. Throws `InvalidOption` for any other value. */
export const oneOf = <A extends string>(guardrail: string, option: string, value: A, words: ReadonlyArray<A>): A =>
  optionOf(guardrail, option, value, (value) => words.includes(value), `one of ${listOf(words)}`)

/** Returns the name of a tool. Throws `InvalidOption` if it is empty: no call has that name. */
export const nameOption = (guardrail: string, option: string, name: string): string =>
  optionOf(guardrail, option, name, (name) => name !== "", "the name of a tool")

/** Returns the members of a list. Throws `InvalidOption` for anything else; a text doesn't count as a list of letters. */
export const listOption = <A>(guardrail: string, option: string, values: Iterable<A>): ReadonlyArray<A> =>
  Array.from(
    optionOf(guardrail, option, values, (value) => Predicate.isIterable(value) && !Predicate.isString(value), "a list")
  )

/** Returns the members of a list. Throws `InvalidOption` if the list is empty. */
export const membersOf = <A>(guardrail: string, option: string, values: Iterable<A>): ReadonlyArray<A> =>
  optionOf(
    guardrail,
    option,
    listOption(guardrail, option, values),
    ({ length }) => length > 0,
    "a list with at least one member"
  )

/** Returns a list of known words. Throws `InvalidOption` if one is unknown, or if there are none. */
export const someOf = <A extends string>(
  guardrail: string,
  option: string,
  values: Iterable<A>,
  words: ReadonlyArray<A>
): ReadonlyArray<A> => membersOf(guardrail, option, values).map((value) => oneOf(guardrail, option, value, words))
