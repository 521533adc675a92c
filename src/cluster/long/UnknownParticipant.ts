/**
 * The name of a participant that a dialogue doesn't have.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { listOf } from "../../domain/Described.ts"
import { ErrorClass } from "../../domain/ErrorClass.ts"

/**
 * Error for a name that isn't a participant's, which `participant` of a dialogue's client throws.
 *
 * @category errors
 * @since 0.1.0
 */
export class UnknownParticipant extends ErrorClass<UnknownParticipant>("troupe/cluster")(
  "UnknownParticipant",
  {
    participant: Schema.String,
    available: Schema.Array(Schema.String)
  },
  ({ available, participant }) => `The dialogue has no participant "${participant}"; available: ${listOf(available)}`
) {}
