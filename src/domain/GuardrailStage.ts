/**
 * Where guardrails stand.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"

/**
 * Schema for where a guardrail stands: on what a user says, on an answer, on a call and its result, on a handoff.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Stage = Schema.Literals(["input", "output", "toolCall", "toolResult", "handoff"])

/**
 * Where a guardrail stands.
 *
 * @category models
 * @since 0.1.0
 */
export type Stage = typeof Stage.Type
