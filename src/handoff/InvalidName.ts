/**
 * Names that nobody could use.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"

/**
 * Error for a name that can't be: an agent's that is empty, or one of a handoff's tool that providers refuse.
 *
 * @category errors
 * @since 0.1.0
 */
export class InvalidName extends Schema.TaggedError<InvalidName>("troupe/handoff/InvalidName")("InvalidName", {
  what: Schema.Literals(["agent", "tool"]),
  name: Schema.String
}) {
  override get message(): string {
    return this.what === "agent"
      ? "An agent's name can't be empty"
      : `A tool can't have the name "${this.name}": providers take 1 to 64 letters, digits, "_" and "-"`
  }
}
