/**
 * What errors are made of in words: names, and errors of others, whatever these are.
 *
 * @since 0.1.0
 */
import * as Formatter from "effect/Formatter"
import * as Predicate from "effect/Predicate"
import * as Result from "effect/Result"

/** Gives the tag of an error, where it has one. */
export const tagOf = (error: unknown): string | undefined =>
  Predicate.hasProperty(error, "_tag") && Predicate.isString(error._tag) && error._tag !== "" ? error._tag : undefined

/** Says what an error is: its message, or else its tag or its name, or else what it is made of. */
export const messageOf = (error: unknown): string => {
  if (Predicate.isString(error)) return error
  if (Predicate.hasProperty(error, "message") && Predicate.isString(error.message) && error.message !== "") {
    return error.message
  }
  // The fields of an error may hold anything, a request with its headers too.
  return tagOf(error) ?? (Predicate.isError(error) ? error.name : Formatter.format(error))
}

/** Lists names. */
export const listOf = (names: ReadonlyArray<string>): string =>
  names.length === 0 ? "none" : names.map((name) => `"${name}"`).join(", ")

/** Says what something is that should have been something else, and how to get at what is in it. */
export const kindOf = (u: unknown): string => {
  if (Predicate.isPromiseLike(u)) return "a Promise: `Effect.promise` or `Effect.tryPromise` makes an Effect of it"
  if (Result.isResult(u)) return "a Result: `Effect.fromResult` or `Result.getOrThrow` gives what is in it"
  if (Predicate.hasProperty(u, "~effect/Effect")) return "an Effect: `yield*` gives what it makes"
  if (u === undefined || u === null) return String(u)
  return Array.isArray(u) ? "an array" : `${/^[aeiou]/.test(typeof u) ? "an" : "a"} ${typeof u}`
}
