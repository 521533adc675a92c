/**
 * How much of the long matrices is played: `npm run test:long` plays them whole, `npm test` a part of each, so that it stays short.
 */
const isWhole = process.env["MODE"] === "long"

/** Gives all, or each `nth` of them from `from` on. */
export const some = <A>(all: Iterable<A>, nth: number, from = 0): ReadonlyArray<A> =>
  isWhole ? [...all] : [...all].filter((_, at) => at >= from && (at - from) % nth === 0)

/** How often a property is tried, or how many things there are: the second number by `npm test`. */
export const times = (whole: number, part: number): number => isWhole ? whole : part
