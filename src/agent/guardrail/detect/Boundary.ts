/**
 * Where something in a text begins and ends.
 *
 * @since 0.1.0
 */
import { piece } from "./Work.ts"

/** Places in a text, in order and apart; `undefined` between them is a pause. */
export type Ranges = Generator<readonly [start: number, end: number] | undefined, void>

/** Checks whether a code unit is a digit, and a Latin letter or one. */
export const isDigit = (code: number): boolean => code > 47 && code < 58
export const isAlphanumeric = (code: number): boolean =>
  isDigit(code) || (code > 96 && code < 123) || (code > 64 && code < 91)

/** Checks whether a code unit of a folded text is white space. */
export const isSpace = (code: number): boolean => code === 32 || (code > 8 && code < 14) || (code >> 1) === 0x1014

/**
 * Checks whether a range is no part of a longer word or number: no Latin letter or digit stands next to it, nor a joiner with a
 * digit behind it, as in `1.2.3.4.5`. Letters of other scripts may stand next to it: not all put spaces between words. What ends at
 * `last` was found itself, and is part of nothing else.
 */
export const isBounded = (text: string, start: number, end: number, last: number, joiners = "."): boolean =>
  !isAlphanumeric(text.charCodeAt(end)) && !(isDigit(text.charCodeAt(end + 1)) && joiners.includes(text[end]!)) &&
  (start === last || !isAlphanumeric(text.charCodeAt(start - 1))) &&
  (start - 1 <= last || !(isDigit(text.charCodeAt(start - 2)) && joiners.includes(text[start - 1]!)))

/** Gives where what a sticky pattern matches at an offset ends. */
export const endAt = (pattern: RegExp, text: string, at: number): number | undefined => {
  pattern.lastIndex = at
  return pattern.test(text) ? pattern.lastIndex : undefined
}

/** No pattern of a beginning looks further than this to either side. */
const reach = 64

/**
 * Asks at each place where something could begin for its end, also right behind what was found `last`, but not within that.
 *
 * `starts` is global and matches one code unit; what stands around it is looked at and not matched.
 */
export function* rangesFrom(
  text: string,
  starts: RegExp,
  endOf: (start: number, last: number) => number | undefined
): Ranges {
  let last = 0
  for (let from = 0; from < text.length; from += piece) {
    const to = Math.min(text.length, from + piece)
    const first = Math.max(0, from - reach)
    const seen = text.slice(first, to + reach)
    for (let at = from - first;;) {
      starts.lastIndex = Math.max(at, last - first)
      if (!starts.test(seen)) break
      at = starts.lastIndex
      let start = first + at - 1
      if (start >= to) break
      for (let end = endOf(start, last); end !== undefined; end = endOf(start, last)) {
        yield [start, end]
        start = last = end
      }
    }
    if (to < text.length) yield
  }
}
