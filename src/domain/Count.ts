/**
 * A number of things.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"

/** A number of things: a whole number from 0 on. */
export const Count = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))
