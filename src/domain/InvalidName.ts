/**
 * Names that aren't valid.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { ErrorClass } from "./ErrorClass.ts"
import * as Wanted from "./Wanted.ts"

/**
 * Error for an invalid name: an empty name of an agent, a mode or a guardrail, an id of a stored session that is empty or has half of a
 * surrogate pair, or a name of a tool that providers refuse.
 *
 * @category errors
 * @since 0.1.0
 */
export class InvalidName extends ErrorClass<InvalidName>("troupe/domain")("InvalidName", {
  what: Schema.Literals(["agent", "mode", "guardrail", "tool", "session"]),
  name: Schema.String
}, ({ name, what }) => {
  if (what === "tool") {
    return `A tool can't have the name "${name}": providers accept 1 to 64 letters, digits, "_" and "-"`
  }
  if (name !== "") return `The id of a session can't have half of a surrogate pair: ${JSON.stringify(name)}`
  return `The ${what === "session" ? "id" : "name"} of ${what === "agent" ? "an" : "a"} ${what} can't be empty`
}) {}

/** Returns the name of an agent. Throws `InvalidName` if it is empty. */
export const agentNamed = (name: string): string => {
  if (Wanted.textGiven("The name of an agent", name) !== "") return name
  throw new InvalidName({ what: "agent", name })
}
