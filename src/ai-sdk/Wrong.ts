/**
 * Request settings and options with values that can't be used, as a program without types or a configuration may have them.
 *
 * @since 0.1.0
 */
import * as AiError from "effect/ai/AiError"
import * as Duration from "effect/Duration"
import { format } from "effect/Formatter"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"

/** What a value must be, in words, and the check of it. An error shows a value unless it may be a key. */
interface Kind {
  readonly must: string
  readonly isValid: (value: unknown) => boolean
  readonly isShown: boolean
}

const kind = (must: string, isValid: Kind["isValid"], isShown = true): Kind => ({ must, isValid, isShown })

const isDuration = (value: unknown): boolean =>
  !Number.isNaN(value) && Option.exists(Duration.fromInput(value as Duration.Input), (all) => !Duration.isNegative(all))

const isText = (value: unknown): boolean => typeof value === "string"

const isRecordOf = (isValid: Kind["isValid"]) => (value: unknown): boolean =>
  Predicate.isObject(value) && Object.values(value).every((each) => each === undefined || isValid(each))

export const duration = kind("must be a duration, such as \"2 minutes\"", isDuration)
export const number = kind("must be a finite number", Number.isFinite)
export const size = kind("must be a number of at least 0", (value) => typeof value === "number" && value >= 0)
export const callable = kind("must be a function", Predicate.isFunction)
const object = kind("must be an object", Predicate.isObject, false)
export const text = kind("must be a text", isText)
export const texts = kind("must be a list of texts", (value) => Array.isArray(value) && value.every(isText))
export const textsByName = kind("must be an object of texts", isRecordOf(isText), false)
export const objectsByName = kind("must be an object of objects", isRecordOf(Predicate.isObject), false)
export const patternsByName = kind(
  "must be an object of lists of regular expressions",
  isRecordOf((list) => Array.isArray(list) && list.every((each) => Predicate.hasProperty(each, Symbol.search))),
  false
)

/** The kinds of the fields of an object, by their names. */
export type Kinds<A> = { readonly [Name in keyof A]?: Kind }

const reasonOf = (parameter: string, { isShown, must }: Kind, value: unknown): AiError.InvalidRequestError =>
  new AiError.InvalidRequestError({
    parameter,
    constraint: must,
    ...(isShown ? { description: `It is ${format(value)}` } : undefined)
  })

/** Returns the reason for the first field of an object that isn't of its kind, or for a value that isn't an object. Missing values are fine. */
export const reasonIn = <A extends object>(
  name: string,
  value: A | undefined,
  kinds: Kinds<A>
): AiError.InvalidRequestError | undefined => {
  if (value === undefined) return undefined
  if (!Predicate.isObject(value)) return reasonOf(name, object, value)
  for (const field in kinds) {
    const expected = kinds[field]
    const given = value[field]
    if (expected === undefined || given === undefined || expected.isValid(given)) continue
    return reasonOf(name === "settings" ? field : `${name}.${field}`, expected, given)
  }
  return undefined
}
