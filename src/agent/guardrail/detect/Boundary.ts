/**
 * Where something in a text begins and ends.
 *
 * @since 0.1.0
 */

/** Places in a text, in order and apart. */
export type Ranges = Iterable<readonly [start: number, end: number]>

const alphanumeric = /[A-Za-z0-9]/
const digit = /\d/

/**
 * Checks whether a range is no part of a longer word or number: no Latin letter or digit stands next to it, nor a joiner with a
 * digit behind it, as in `1.2.3.4.5`. Letters of other scripts may stand next to it: not all put spaces between words.
 */
export const isBounded = (text: string, start: number, end: number, joiners = "."): boolean =>
  !alphanumeric.test(text.charAt(start - 1)) && !alphanumeric.test(text.charAt(end)) &&
  !(start > 1 && joiners.includes(text[start - 1]!) && digit.test(text[start - 2]!)) &&
  !(end + 1 < text.length && joiners.includes(text[end]!) && digit.test(text[end + 1]!))

/** Gives what a sticky pattern matches at an offset. */
export const matchAt = (pattern: RegExp, text: string, at: number): string | undefined => {
  pattern.lastIndex = at
  return pattern.exec(text)?.[0]
}

/** Asks at each place where something could begin for its end, but not within what was found. */
export function* rangesFrom(
  text: string,
  starts: RegExp,
  endOf: (start: number) => number | undefined
): Generator<readonly [start: number, end: number]> {
  let last = 0
  for (const { index } of text.matchAll(starts)) {
    const end = index < last ? undefined : endOf(index)
    if (end === undefined) continue
    yield [index, end]
    last = end
  }
}
