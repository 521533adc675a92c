/**
 * What a user says.
 *
 * @since 0.1.0
 */
import type { UserPart } from "../../domain/Part.ts"
import { fromInput } from "../../domain/PartCopy.ts"
import type { User } from "../../domain/StateSchema.ts"

/**
 * What a user says: a text, or parts that may be files.
 *
 * @category models
 * @since 0.1.0
 */
export type Input = string | ReadonlyArray<UserPart>

/** Turns an input into parts, each copied: the caller may change its own later. */
export const partsOf: (input: Input) => User["parts"] = fromInput
