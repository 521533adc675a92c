/**
 * Ids of runs.
 *
 * @since 0.1.0
 */
import type * as Random from "effect/Random"

const part = (random: typeof Random.Random.Service): string =>
  Math.floor(random.nextDoubleUnsafe() * 36 ** 10).toString(36).padStart(10, "0")

/** Makes the id of a run: 20 random letters and digits, by the `Random` service. */
export const make = (random: typeof Random.Random.Service): string => part(random) + part(random)
