/**
 * Where something in a text begins and ends.
 *
 * @since 0.1.0
 */

/** Checks whether a code unit is an ASCII digit. */
export const isDigit = (code: number): boolean => code > 47 && code < 58

/** Checks whether a code unit is an ASCII letter or digit. */
export const isAlphanumeric = (code: number): boolean =>
  isDigit(code) || (code > 96 && code < 123) || (code > 64 && code < 91)

/** Checks whether a code unit of a folded text is white space. */
export const isSpace = (code: number): boolean => code === 32 || (code > 8 && code < 14) || (code >> 1) === 0x1014

/**
 * Checks whether a range isn't part of a longer word or number: no Latin letter or digit is next to it, nor a joiner followed by a digit,
 * as in `1.2.3.4.5`. Letters of other scripts may be next to it, since some scripts have no spaces between words. A range that ends at
 * `last` was found itself, so it isn't part of another word.
 */
export const isBounded = (text: string, start: number, end: number, last: number, joiners = "."): boolean =>
  !isAlphanumeric(text.charCodeAt(end)) && !(isDigit(text.charCodeAt(end + 1)) && joiners.includes(text[end]!)) &&
  (start === last || !isAlphanumeric(text.charCodeAt(start - 1))) &&
  (start - 1 <= last || !(isDigit(text.charCodeAt(start - 2)) && joiners.includes(text[start - 1]!)))

/** Returns where the match of a pattern with the flag `y` at an offset ends. */
export const endAt = (pattern: RegExp, text: string, at: number): number | undefined => {
  pattern.lastIndex = at
  return pattern.test(text) ? pattern.lastIndex : undefined
}

/** A piece of a text that is searched without a pause, the findings in it, and the end of the `last` finding. */
export interface Piece {
  from: number
  to: number
  last: number
  readonly found: Array<readonly [start: number, end: number]>
}

/** Finds what begins in a piece of a text. The findings are in order and don't overlap. */
export type Find = (text: string, piece: Piece) => void

/** No pattern of a beginning reads further than this to either side. */
const reach = 64

/**
 * Searches each possible beginning for an end, also right after the `last` finding, but not within it.
 *
 * `starts` is global and matches one code unit, with lookarounds for its surroundings. A finding may begin later than that, as `beginOf`
 * says.
 */
export const finder = (
  starts: () => RegExp,
  endOf: (text: string, start: number, last: number) => number | undefined,
  beginOf: (text: string, start: number) => number = (_, start) => start
): Find =>
(text, piece) => {
  const pattern = starts()
  const first = Math.max(0, piece.from - reach)
  const seen = text.slice(first, piece.to + reach)
  for (let at = piece.from - first;;) {
    pattern.lastIndex = Math.max(at, piece.last - first)
    if (!pattern.test(seen)) return
    at = pattern.lastIndex
    let start = first + at - 1
    if (start >= piece.to) return
    for (let end = endOf(text, start, piece.last); end !== undefined; end = endOf(text, start, end)) {
      piece.found.push([beginOf(text, start), end])
      start = piece.last = end
    }
  }
}
