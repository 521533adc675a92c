/**
 * Telephone numbers in a text.
 *
 * Linear: a number has a greatest length, and each place where one could begin is looked at once.
 *
 * @since 0.1.0
 */
import { endAt, finder, isBounded, isDigit } from "./Boundary.ts"

/** A way to write telephone numbers: a pattern of the longest one, how many digits it has, and what joins it to other numbers. */
interface Form {
  readonly pattern: RegExp
  readonly least: number
  readonly most: number
  readonly joiners: string
}

/** A number that is recognized by its groups alone has no other group next to it. */
const groups = " .-"

/** With a country's code: at most 15 digits (ITU-T E.164). */
const international: Form = { pattern: /\+[1-9](?:[ ./()-]{0,3}\d){7,14}/y, least: 8, most: 15, joiners: ".-" }

/** With the prefix of international calls, and in groups. */
const prefixed: Form = { pattern: /00[1-9]\d{0,2}(?:[ -]\d{2,8}){2,4}/y, least: 10, most: 17, joiners: groups }

/** As in North America: no area begins with 0 or 1. */
const american: Form = {
  pattern: /(?:1[ .-]?)?(?:\([2-9]\d\d\) ?|[2-9]\d\d(?: - |[ ./-]))\d{3}(?: - |[ .-])\d{4}/y,
  least: 10,
  most: 11,
  joiners: ".-"
}

/** With the prefix of national calls, in parentheses or before a slash too, and in groups. */
const national: Form = {
  pattern: /0[1-9]\d{0,4}( - |[ .-])\d{2,8}(?:\1\d{2,8}){0,3}/y,
  least: 9,
  most: 11,
  joiners: groups
}
const nationalArea: Form = {
  pattern: /(?:\(0 ?[1-9]\d{0,4}\)[ -]?|0[1-9]\d{1,4}(?: ?\/ ?| - ))\d{2,8}(?:[ -]\d{2,8}){0,4}/y,
  least: 9,
  most: 12,
  joiners: `${groups}/`
}

const starts = /[+(](?=\d)|(?<!\d)\d(?=\d{0,4}[ ./(-]|\(|00)/g

/** Returns the forms that begin with a character. */
const formsFrom = (text: string, start: number): ReadonlyArray<Form> => {
  switch (text[start]) {
    case "+":
      return [international]
    case "(":
      return text[start + 1] === "0" ? [nationalArea] : [american]
    case "0":
      return text[start + 1] === "0" ? [prefixed] : [national, nationalArea]
    default:
      return [american]
  }
}

/** Drops groups at the end until the number has so many digits and ends with a whole group. */
const endOf = (text: string, start: number, last: number, { joiners, least, most, pattern }: Form) => {
  let end = endAt(pattern, text, start)
  if (end === undefined) return undefined
  let digits = 0
  for (let at = start; at < end; at++) if (isDigit(text.charCodeAt(at))) digits++
  while (digits >= least) {
    if (digits <= most && isBounded(text, start, end, last, joiners)) return end
    for (; isDigit(text.charCodeAt(end - 1)); end--) digits--
    while (end > start && !isDigit(text.charCodeAt(end - 1))) end--
  }
  return undefined
}

/**
 * Finds telephone numbers: with `+` and a country's code, in the form of North America (three, three and four digits), or in
 * groups with the prefix 0 or 00 of other countries. Digits alone, without `+` or groups, aren't one.
 */
export const findPhones = finder(() => starts, (text, start, last) => {
  for (const form of formsFrom(text, start)) {
    const end = endOf(text, start, last, form)
    if (end !== undefined) return end
  }
  return undefined
})
