/**
 * What went wrong, as plain data, for events that may be stored and shown.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { messageOf, tagOf } from "../../domain/Described.ts"

/** Schema for what went wrong: the tag of the error, `Failure` if it has no tag, or `Defect`. */
export const Problem = Schema.Struct({ tag: Schema.NonEmptyString, message: Schema.String })

/** What went wrong, as plain data. */
export interface Problem extends Schema.Schema.Type<typeof Problem> {}

/** Describes a failure. */
export const fromFailure = (error: unknown): Problem => ({
  tag: tagOf(error) ?? "Failure",
  message: messageOf(error)
})

/** Describes a defect. */
export const fromDefect = (defect: unknown): Problem => ({ tag: "Defect", message: messageOf(defect) })
