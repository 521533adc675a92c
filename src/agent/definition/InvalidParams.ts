/**
 * The error for a tool whose parameters a model couldn't write.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { ErrorClass } from "../../domain/ErrorClass.ts"

/**
 * Error for an invalid definition: a parameter of a tool, of a handoff or of the final answer can't be written as JSON, such as a
 * function or a `Schema.instanceOf`.
 *
 * @category errors
 * @since 0.1.0
 */
export class InvalidParams extends ErrorClass<InvalidParams>("troupe/agent/Agent")(
  "InvalidParams",
  { agent: Schema.String, tool: Schema.String, param: Schema.String },
  ({ agent, param, tool }) =>
    `Tool "${tool}" of agent "${agent}" has a parameter that no model can write: \`${param}\` can't be written as JSON. ` +
    "Let the model write an id or a name instead, and find the value by it, or annotate the schema with `toCodecJson`"
) {}
