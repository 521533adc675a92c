/**
 * Whether spans and the log record what was said.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"

/**
 * Whether spans and Troupe's warnings in the log hold what was said: messages, instructions, tools, parameters, results, and the texts of
 * errors. They don't by default.
 *
 * @category references
 * @since 0.1.0
 */
export const RecordContent = Context.Reference<boolean>("troupe/agent/Telemetry/RecordContent", {
  defaultValue: () => false
})
