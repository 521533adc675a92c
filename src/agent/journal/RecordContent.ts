/**
 * Whether what was said is recorded in spans.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"

/**
 * Whether spans hold what was said: messages, parameters and results. They don't by default.
 *
 * @category references
 * @since 0.1.0
 */
export const RecordContent = Context.Reference<boolean>("troupe/agent/Telemetry/RecordContent", {
  defaultValue: () => false
})
