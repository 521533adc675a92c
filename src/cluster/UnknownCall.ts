/**
 * A call that was started and has no result.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"

/**
 * Schema for a call that was started and has no result: whether it took effect is unknown.
 *
 * @category schemas
 * @since 0.1.0
 */
export const UnknownCall = Schema.Struct({
  callId: Schema.String,
  name: Schema.String,
  path: Schema.Array(Schema.String)
})

/**
 * A call, or an effect of a plan, that was started and has no result: whether it took effect is unknown. `path` are the agents from the one
 * in control to the one whose call it is. In a plan or a dialogue the node or the participant comes before them.
 */
export interface UnknownCall extends Schema.Schema.Type<typeof UnknownCall> {}
