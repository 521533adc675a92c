/**
 * The stages that guardrails judge.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"

/**
 * Schema for the stage of a guardrail: a user's input, an answer, a call, its result, or a handoff.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Stage = Schema.Literals(["input", "output", "toolCall", "toolResult", "handoff"])

/**
 * The stage of a guardrail.
 *
 * @category models
 * @since 0.1.0
 */
export type Stage = typeof Stage.Type
