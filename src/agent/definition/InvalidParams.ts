/**
 * The error for a tool whose parameters a model couldn't write.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"

/**
 * Error for an invalid definition: a parameter of a tool, a handoff's and the final answer's too, has no JSON, as instances of classes
 * and functions have none.
 *
 * @category errors
 * @since 0.1.0
 */
export class InvalidParams extends Schema.TaggedError<InvalidParams>("troupe/agent/Agent/InvalidParams")(
  "InvalidParams",
  { agent: Schema.String, tool: Schema.String, param: Schema.String }
) {
  override get message(): string {
    return `Tool "${this.tool}" of agent "${this.agent}" has a parameter that no model can write: \`${this.param}\` has no JSON. ` +
      "Take it from what the model can name, or annotate its schema with `toCodecJson`"
  }
}
