/**
 * Names that aren't valid.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { oneOf } from "./Described.ts"
import { ErrorClass } from "./ErrorClass.ts"
import * as ToolName from "./ToolName.ts"
import * as Wanted from "./Wanted.ts"

const What = Schema.Literals(["agent", "mode", "guardrail", "tool", "session", "entity"])
type What = typeof What.Type

/** Checks whether a text has half of a surrogate pair: databases and files can't keep it. */
export const hasHalfPair = (text: string): boolean => /\p{Surrogate}/u.test(text)

/** Says what kind of name is meant. */
const nameOf = (what: What): string => `The ${what === "session" ? "id" : "name"} of ${oneOf(what)}`

/**
 * Error for an invalid name: an empty name of an agent, a mode or a guardrail, a name of a tool that providers refuse, or a name of an entity
 * on a cluster that is empty or has a `/`. An id of a stored session is invalid if it is empty or has half of a surrogate pair.
 *
 * @category errors
 * @since 0.1.0
 */
export class InvalidName extends ErrorClass<InvalidName>("troupe/domain")("InvalidName", {
  what: What,
  name: Schema.String
}, ({ name, what }) => {
  if (what === "tool") {
    return `A tool can't have the name "${name}": providers accept 1 to 64 letters, digits, "_" and "-"`
  }
  if (name === "") return `${nameOf(what)} can't be empty`
  return `${nameOf(what)} can't have ${what === "entity" ? "a \"/\"" : "half of a surrogate pair"}: ${
    JSON.stringify(name)
  }`
}) {}

/** Returns a name, empty or not. Throws a `TypeError` if it isn't a text. */
export const textNamed = (what: What, name: string): string =>
  // Each new state checks its agent's name, so the error's text is built only if the check fails.
  typeof name === "string" ? name : Wanted.textGiven(nameOf(what), name)

/** Returns the name of something. Throws `InvalidName` if it is empty, and a `TypeError` if it isn't a text. */
export const named = (what: What, name: string): string => {
  if (textNamed(what, name) !== "") return name
  throw new InvalidName({ what, name })
}

/** Returns the name of a tool. Throws `InvalidName` if providers refuse it, and a `TypeError` if it isn't a text. */
export const toolNamed = (name: string): string => {
  if (ToolName.isValid(textNamed("tool", name))) return name
  throw new InvalidName({ what: "tool", name })
}

/**
 * Returns the name of an entity on a cluster. Throws `InvalidName` if it is empty or has a slash: the name stands before ids, with a slash
 * between them.
 */
export const entityNamed = <Name extends string>(name: Name): Name => {
  if (named("entity", name).includes("/")) throw new InvalidName({ what: "entity", name })
  return name
}

/** Returns the name of an agent. Throws `InvalidName` if it is empty. */
export const agentNamed = (name: string): string => named("agent", name)
