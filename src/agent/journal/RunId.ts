/**
 * Ids of runs.
 *
 * @since 0.1.0
 */
import type * as Random from "effect/Random"

const five = 36 ** 5

const digits = (number: number): string => number.toString(36).padStart(5, "0")

/** Ten digits, made in two halves: V8 writes a whole number below 2³¹ seven times as fast as a larger one. */
const part = (random: typeof Random.Random.Service): string => {
  const number = Math.floor(random.nextDoubleUnsafe() * five ** 2)
  return digits(Math.floor(number / five)) + digits(number % five)
}

/** Makes the id of a run: 20 random letters and digits, by the `Random` service. */
export const make = (random: typeof Random.Random.Service): string => part(random) + part(random)
