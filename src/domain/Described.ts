/**
 * Words for error messages: names, values, and errors of any kind.
 *
 * @since 0.1.0
 */
import * as Formatter from "effect/Formatter"
import * as Predicate from "effect/Predicate"
import * as Result from "effect/Result"

/** Returns the tag of an error, if it has one. */
export const tagOf = (error: unknown): string | undefined =>
  Predicate.hasProperty(error, "_tag") && Predicate.isString(error._tag) && error._tag !== "" ? error._tag : undefined

/** Describes an error: by its message, or else its tag, or else its name, or else its contents. */
export const messageOf = (error: unknown): string => {
  if (Predicate.isString(error)) return error
  if (Predicate.hasProperty(error, "message") && Predicate.isString(error.message) && error.message !== "") {
    return error.message
  }
  // The fields of an error may hold anything, even a request with its headers, so they aren't shown.
  return tagOf(error) ?? (Predicate.isError(error) ? error.name : Formatter.format(error))
}

/** Counts things: "1 turn", "2 turns". */
export const counted = (count: number, thing: string): string => `${count} ${thing}${count === 1 ? "" : "s"}`

/** Lists names. */
export const listOf = (names: ReadonlyArray<string>): string =>
  names.length === 0 ? "none" : names.map((name) => `"${name}"`).join(", ")

/** Puts the article before a noun: "an agent", "a tool". */
export const oneOf = (noun: string): string => `${/^[aeiou]/i.test(noun) ? "an" : "a"} ${noun}`

/** Names the kind of a value that has the wrong type. */
export const kindOf = (u: unknown): string => {
  if (Predicate.isPromiseLike(u)) return "a Promise"
  if (Result.isResult(u)) return "a Result"
  if (Predicate.hasProperty(u, "~effect/Effect")) return "an Effect"
  if (u === undefined || u === null) return String(u)
  return oneOf(Array.isArray(u) ? "array" : typeof u)
}

const remedies: Readonly<Record<string, string>> = {
  "a Promise": "`Effect.promise` or `Effect.tryPromise` makes an Effect of it",
  "a Result": "get its value with `Effect.fromResult` or `Result.getOrThrow`",
  "an Effect": "get its value with `yield*`"
}

/**
 * Names the kind of a value that has the wrong type, and says what can be made of a Promise, a Result or an Effect. It ends a sentence. Take
 * `kindOf` if a function must return its value at once.
 */
export const remediedKindOf = (u: unknown): string => {
  const kind = kindOf(u)
  const remedy = remedies[kind]
  return remedy === undefined ? kind : `${kind}: ${remedy}`
}
