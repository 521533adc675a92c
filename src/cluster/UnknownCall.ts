/**
 * A call that was started and has no result.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"

/**
 * Schema for a started call without a result, whose effect is unknown.
 *
 * @category schemas
 * @since 0.1.0
 */
export const UnknownCall = Schema.Struct({
  callId: Schema.String,
  name: Schema.String,
  path: Schema.Array(Schema.String)
})

/** A call that was started and has no result, and the path of agents to it. Its effect is unknown. */
export interface UnknownCall extends Schema.Schema.Type<typeof UnknownCall> {}
