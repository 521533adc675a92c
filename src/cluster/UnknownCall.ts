/**
 * A call that was started and has no result.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"

/**
 * Schema for a call of which nobody knows whether it took effect.
 *
 * @category schemas
 * @since 0.1.0
 */
export const UnknownCall = Schema.Struct({
  callId: Schema.String,
  name: Schema.String,
  path: Schema.Array(Schema.String)
})

/** A call that was started and has no result, and the agents that lead to it. Nobody knows whether it took effect. */
export interface UnknownCall extends Schema.Schema.Type<typeof UnknownCall> {}
