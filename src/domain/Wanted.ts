/**
 * What functions of programs must give. TypeScript sees to it; where it didn't, a defect names the function and what it gave, most often
 * a Promise, or an Effect that nobody ran.
 *
 * @since 0.1.0
 */
import * as Exit from "effect/Exit"
import * as Predicate from "effect/Predicate"
import { kindOf } from "./Described.ts"
import type { Conversation } from "./StateSchema.ts"

/** The defect of something that gave what it mustn't: `by` says what it is, `what` what it must give, in words. */
export const gaveNo = (by: string, what: string, given: unknown): TypeError =>
  new TypeError(`${by} gave no ${what} but ${kindOf(given)}`)

/** Gives what something gave, or throws. */
const wanted = (what: string, is: (given: unknown) => boolean) => <A>(by: string, given: A): A => {
  if (is(given)) return given
  throw gaveNo(by, what, given)
}

/** Gives a text that something gave, or throws. */
export const text = wanted("text", Predicate.isString)

/** Gives a boolean that something gave, or throws: a Promise would hold, and nothing at all would not. */
export const boolean = wanted("boolean", Predicate.isBoolean)

/** Gives a name that something gave, or throws. */
export const name = wanted("name", Predicate.isString)

const isConversation = (u: unknown): u is Conversation => Predicate.hasProperty(u, "turns") && Array.isArray(u.turns)

/** Gives a conversation that something gave, or throws. */
export const conversation = wanted("conversation", isConversation)

/** Gives turns that something gave, or throws. */
export const turns = wanted("list of turns", Array.isArray)

/** Gives texts and files that something gave, or throws. */
export const input = wanted("text or parts", (given) => Predicate.isString(given) || Array.isArray(given))

/** Checks whether something is a Promise that nobody awaited, or an Effect that nobody ran. An `Exit` is both an Effect and its result. */
export const isUnrun = (u: unknown): boolean =>
  typeof u === "object" && u !== null &&
  (Predicate.isPromiseLike(u) || (Predicate.hasProperty(u, "~effect/Effect") && !Exit.isExit(u)))

/** Gives what something gave if that is a value, or throws. */
export const value = wanted("value", (given) => !isUnrun(given))
