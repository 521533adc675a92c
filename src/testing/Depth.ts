/**
 * How deeply JSON from outside is nested.
 *
 * @since 0.1.0
 */
import type * as Schema from "effect/Schema"

/** How deeply arrays and objects may be nested. Functions that recurse into JSON have enough stack for more than that. */
export const deepest = 1000

/** Checks whether JSON is nested more deeply than `deepest`. It goes level by level, because recursion could overflow the stack. */
export const isTooDeep = (json: Schema.Json): boolean => {
  let level: ReadonlyArray<Schema.Json> = [json]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > deepest) return true
    level = level.flatMap((each) => typeof each === "object" && each !== null ? Object.values(each) : [])
  }
  return false
}
