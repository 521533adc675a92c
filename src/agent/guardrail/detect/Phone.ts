/**
 * Telephone numbers in a text.
 *
 * Linear: a number has a greatest length, and each place where one could begin is looked at once.
 *
 * @since 0.1.0
 */
import { isBounded, matchAt, type Ranges, rangesFrom } from "./Boundary.ts"

/** With a country's code: at most 15 digits (ITU-T E.164). */
const international = /\+[1-9](?:[ ./()-]{0,2}\d){7,14}/y
/** With the prefix of international calls, and in groups. */
const prefixed = /00[1-9]\d{0,2}(?:[ -]\d{2,8}){2,4}/y
/** As in North America: no area begins with 0 or 1. */
const american = /(?:1[ .-]?)?(?:\([2-9]\d\d\) ?|[2-9]\d\d[ .-])\d{3}[ .-]\d{4}/y
/** With the prefix of national calls, and in groups: 9 to 11 digits. */
const national = /0[1-9]\d{0,4}([ -])\d{2,8}(?:\1\d{2,8}){0,3}/y

/** A number that only its groups tell stands beside no other group. */
const groups = " .-"

const digitsOf = (text: string): number => text.replace(/\D/g, "").length

/** Takes groups off the end until the number has so many digits and ends where its last group does. */
const shortened = (
  text: string,
  start: number,
  found: string | undefined,
  least: number,
  most: number,
  joiners = ".-"
): number | undefined => {
  for (let number = found; number !== undefined; number = /^(.*\d)\D+\d+$/.exec(number)?.[1]) {
    const digits = digitsOf(number)
    if (digits < least) return undefined
    if (digits <= most && isBounded(text, start, start + number.length, joiners)) return start + number.length
  }
  return undefined
}

/**
 * Finds telephone numbers: with `+` and a country's code, in the form of North America (three, three and four digits), or in
 * groups with the prefix 0 or 00 of other countries. Digits alone, without `+` or groups, aren't one.
 */
export const findPhones = (text: string): Ranges =>
  rangesFrom(text, /[+(]|(?<!\d)\d/g, (start) =>
    shortened(text, start, matchAt(international, text, start), 8, 15) ??
      shortened(text, start, matchAt(prefixed, text, start), 10, 17, groups) ??
      shortened(text, start, matchAt(american, text, start), 10, 11) ??
      shortened(text, start, matchAt(national, text, start), 9, 11, groups))
