/**
 * Checks what programs give and what their functions return. TypeScript does so too; if it was evaded, a defect names the function and what
 * it returned, most often a Promise, or an Effect that nobody ran.
 *
 * @since 0.1.0
 */
import * as Exit from "effect/Exit"
import * as Predicate from "effect/Predicate"
import { kindOf, oneOf, remediedKindOf } from "./Described.ts"

/** The defect of a function that returned the wrong kind of value: `by` names the function, and `what` the kind that it must return. */
export const mustReturn = (by: string, what: string, given: unknown): TypeError =>
  new TypeError(`${by} must return ${oneOf(what)}, not ${remediedKindOf(given)}`)

/** The defect of a program that gave the wrong kind of value: `what` names the value, and `wanted` says what it must be. */
export const mustBe = (what: string, given: unknown, wanted: string): TypeError =>
  new TypeError(`${what} must be ${wanted}; it is ${remediedKindOf(given)}`)

/**
 * Makes a check of what a function returned: it returns a value of that kind, and throws for any other. With `atOnce` the function can't return
 * an Effect.
 */
const wanted = (what: string, is: (given: unknown) => boolean, atOnce?: "atOnce") => <A>(by: string, given: A): A => {
  if (is(given)) return given
  throw atOnce === undefined
    ? mustReturn(by, what, given)
    : new TypeError(`${by} must return ${oneOf(what)} at once, not ${kindOf(given)}`)
}

/** Returns a value if it is a text, or throws. */
export const text = wanted("text", Predicate.isString)

/** Makes a check of what a program gave: it returns the value if it is of that kind, and throws for any other. `what` names the value. */
const wantedGiven =
  <A>(kind: string, is: (given: unknown) => given is A) => <B extends A>(what: string, given: B): B => {
    if (is(given)) return given
    throw new TypeError(`${what} must be ${oneOf(kind)}, not ${remediedKindOf(given)}`)
  }

/** Returns a text that a program gave, or throws. */
export const textGiven = wantedGiven("text", Predicate.isString)

const numberGiven = wantedGiven("number", Predicate.isNumber)

/** Returns the place of a turn that a program gave, counted from 0, or throws. */
export const placeGiven = (given: number): number => numberGiven("The place of a turn", given)

/** Returns a value if it is a boolean, or throws: as a condition a Promise would count as true, and `undefined` as false. */
export const boolean = wanted("boolean", Predicate.isBoolean)

/** Returns what a function without an Effect returned if it is a boolean, or throws. */
export const booleanAtOnce = wanted("boolean", Predicate.isBoolean, "atOnce")

/** Returns a value if it is a name, or throws. */
export const name = wanted("name", Predicate.isString)

const isConversation = (u: unknown): boolean => Predicate.hasProperty(u, "turns") && Array.isArray(u.turns)

/** Returns a value if it is a conversation, or throws. */
export const conversation = wanted("conversation", isConversation)

/** Returns a value if it is a list of parts, or throws. */
export const parts = wanted("list of parts", Array.isArray)

/** Returns parts that a program gave, or throws. */
export const partsGiven = wantedGiven(
  "list of parts",
  Array.isArray as (given: unknown) => given is ReadonlyArray<unknown>
)

/** Returns a value if it is a list of turns, or throws. */
export const turns = wanted("list of turns", Array.isArray, "atOnce")

const isTagged = (u: unknown): boolean => Predicate.hasProperty(u, "_tag")

const isTurn = (u: unknown): boolean =>
  isTagged(u) && (Predicate.hasProperty(u, "parts")
    ? Array.isArray(u.parts) && u.parts.every(isTagged)
    : Predicate.hasProperty(u, "text") && Predicate.isString(u.text))

/** Returns a value if it looks like a turn, or throws. */
export const turn = wanted("turn", isTurn)

/** Returns a value if it is a user's input, a text or parts, or throws. */
export const input = wanted(
  "text or list of parts",
  (given) => Predicate.isString(given) || Array.isArray(given),
  "atOnce"
)

/** Checks whether something is a Promise that nobody awaited, or an Effect that nobody ran. An `Exit` is both an Effect and its result. */
export const isUnrun = (u: unknown): boolean =>
  typeof u === "object" && u !== null &&
  (Predicate.isPromiseLike(u) || (Predicate.hasProperty(u, "~effect/Effect") && !Exit.isExit(u)))

/**
 * Makes a conversion by a program's schema one whose defects name the schema. A schema that needs time, or whose functions throw, can't be
 * used where the result is needed at once.
 */
export const atOnce = <A>(schema: string, convert: (u: unknown) => A) => (u: unknown): A => {
  try {
    return convert(u)
  } catch (cause) {
    throw new TypeError(`${schema} must convert values at once, and not throw`, {
      cause
    })
  }
}

/** Returns an Effect that a program gave to be run, or throws: most often for a Promise. `what` names it. */
export const effectGiven = wantedGiven(
  "Effect",
  (given): given is object => Predicate.hasProperty(given, "~effect/Effect")
)

const isRun = (given: unknown): given is unknown => !isUnrun(given)

/** Returns a value that a function returned, or throws if it is a Promise or an Effect. */
export const value = wanted("value", isRun)

/** Returns what a function without an Effect returned, or throws if it is a Promise or an Effect. */
export const valueAtOnce = wanted("value", isRun, "atOnce")

/** Returns a value that a program gave, or throws if it is a Promise or an Effect. `what` names the value. */
export const valueGiven = wantedGiven("value", isRun)

/**
 * Returns the members of an agent's option if each was made by the function `maker`, or throws. TypeScript finds wrong ones too, but names
 * only a property that they lack.
 */
export const members = <A>(
  agent: string,
  option: string,
  maker: string,
  is: (given: unknown) => boolean,
  given: ReadonlyArray<A> = []
): ReadonlyArray<A> => {
  const at = given.findIndex((each) => !is(each))
  if (at < 0) return given
  throw mustBe(`\`${option}[${at}]\` of agent "${agent}"`, given[at], `made by \`${maker}\``)
}
