/**
 * A call that ends its run: why, as plain data, so that a run that continues elsewhere ends by it too.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"

/**
 * Schema for why a call ends its run: its tool's own error, by its tag and its text, or a guardrail that didn't let this error pass.
 *
 * @category schemas
 * @since 0.1.0
 */
export const FatalReason = Schema.Union([
  Schema.Struct({ tag: Schema.NonEmptyString, message: Schema.String }),
  Schema.Struct({ guardrail: Schema.NonEmptyString, reason: Schema.String })
])

/** Why a call ends its run: its tool's own error, or a guardrail that didn't let this error pass. */
export type FatalReason = typeof FatalReason.Type

/**
 * Schema for the call that ends a run once the other calls of its turn are settled, and why.
 *
 * @category schemas
 * @since 0.1.0
 */
export const FatalCall = Schema.Struct({ callId: Schema.NonEmptyString, name: Schema.String, reason: FatalReason })

/** The call that ends a run once the other calls of its turn are settled, and why. */
export interface FatalCall extends Schema.Schema.Type<typeof FatalCall> {}
