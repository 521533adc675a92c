/**
 * How deep JSON is that came from elsewhere.
 *
 * @since 0.1.0
 */
import type * as Schema from "effect/Schema"

/** How many arrays and objects may stand in each other. What goes down into JSON by recursion has a stack for more. */
export const deepest = 1000

/** Checks whether JSON is deeper than that. It looks level by level, for it can't rely on the stack. */
export const isTooDeep = (json: Schema.Json): boolean => {
  let level: ReadonlyArray<Schema.Json> = [json]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > deepest) return true
    level = level.flatMap((each) => typeof each === "object" && each !== null ? Object.values(each) : [])
  }
  return false
}
