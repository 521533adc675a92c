/**
 * Summaries without words.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { ErrorClass } from "../../../domain/ErrorClass.ts"

/**
 * Error for a summary without words, which would delete the turns that it stands for. `turns` is their number.
 *
 * @category errors
 * @since 0.1.0
 */
export class EmptySummary extends ErrorClass<EmptySummary>("troupe/agent/ContextWindow")("EmptySummary", {
  agent: Schema.String,
  turns: Schema.Int
}, ({ agent, turns }) => `The summary of ${turns} turns for agent "${agent}" is empty`) {}
