/**
 * Whether the time for a long input grows with its length, and not with its square.
 */
import { assert } from "@effect/vitest"

const millis = (work: () => void): number => {
  const before = performance.now()
  work()
  return performance.now() - before
}

/** How many times a square makes the long input as slow as the short ones. */
const times = 16

/** How much longer the long input may take: much more than where it is read once, and much less than the square. */
const bound = 4

/** The square of a long input takes longer than this, in milliseconds. */
const enough = 1.5

/** How long it tries, in milliseconds, but five times at least. */
const patience = 10_000

/**
 * Fails if `work` takes much longer for one long input than for `times` short ones that are as much together. The best of many tries count, because what else the machine does makes a try longer, never shorter.
 */
export const assertLinear = <A>(
  of: (length: number) => A,
  short: number,
  work: (input: A) => void,
  message?: string
): void => {
  const inputs = Array.from({ length: times }, () => of(short))
  const long = of(short * times)
  const begun = performance.now()
  let [ofLong, ofShort] = [Infinity, Infinity]
  for (let tries = 0; tries < 5 || performance.now() - begun < patience; tries++) {
    ofLong = Math.min(ofLong, millis(() => work(long)))
    if (ofLong < enough) return
    ofShort = Math.min(ofShort, millis(() => inputs.forEach((input) => work(input))))
    if (ofLong < bound * ofShort) return
  }
  assert.fail(
    `${message ?? "a long input"} takes too long: ${ofLong} ms, and short ones that are as much together ${ofShort} ms`
  )
}
