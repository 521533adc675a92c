/**
 * Numbers of cards, bank accounts and social security in a text.
 *
 * Linear: a number has a greatest length, and each place where one could begin is looked at once.
 *
 * @since 0.1.0
 */
import { endAt, finder, isAlphanumeric, isBounded, isDigit, isSpace } from "./Boundary.ts"
import { isLuhn, isMod97 } from "./Checksum.ts"

/** Returns a number that encodes how many digits each group has, in order. */
const shapeOf = (sizes: ReadonlyArray<number>): number => sizes.reduce((shape, size) => shape * 32 + size, 0)

/** The groups in which cards show their numbers: without gaps, in fours, and as on American Express and Diners Club. */
const shapes: ReadonlySet<number> = new Set(
  [
    [14],
    [15],
    [16],
    [17],
    [18],
    [19],
    [4, 4, 4, 4],
    [4, 4, 4, 3],
    [4, 4, 4, 2],
    [4, 4, 4, 4, 1],
    [4, 4, 4, 4, 2],
    [4, 4, 4, 4, 3],
    [4, 6, 5],
    [4, 6, 4]
  ].map(shapeOf)
)

/** Ranges of issuers, with the lengths of their numbers. */
const issuers: ReadonlyArray<readonly [prefix: RegExp, ...lengths: ReadonlyArray<number>]> = [
  [/^4/, 16, 19],
  [/^(?:5[1-5]|2(?:22[1-9]|2[3-9]|[3-6]|7[01]|720))/, 16],
  [/^3[47]/, 15],
  [/^3(?:0[0-5]|09|[689])/, 14, 15, 16, 17, 18, 19],
  [/^(?:35(?:2[89]|[3-8])|6[0-57]|8[12]|50|5[678]|220[0-4])/, 16, 17, 18, 19]
]

const isCard = (text: string, start: number, end: number, digits: number): boolean =>
  isLuhn(text, start, end) &&
  issuers.some(([prefix, ...lengths]) => lengths.includes(digits) && prefix.test(text.slice(start, start + 4)))

/** Returns where the gap between two groups ends: a few signs or spaces, or the end of a line. */
const endOfGap = (text: string, start: number, isGap: (code: number) => boolean, isNext: (code: number) => boolean) => {
  let at = start
  while (at - start < 4 && isGap(text.charCodeAt(at))) at++
  return at > start && isNext(text.charCodeAt(at)) ? at : undefined
}

/** Spaces, and `-./`. */
const isCardGap = (code: number): boolean => isSpace(code) || (code > 44 && code < 48)

const group = /\d{4}(?!\d)/y

/** Checks whether other groups follow or precede with the same kind of gap, as in columns of numbers. */
const isAmongOthers = (text: string, start: number, end: number, gaps: ReadonlyArray<string>): boolean =>
  gaps.some((gap) =>
    (text.startsWith(gap, start - gap.length) && isDigit(text.charCodeAt(start - gap.length - 1))) ||
    (text.startsWith(gap, end) && endAt(group, text, end + gap.length) !== undefined)
  )

const cardStarts = /(?<!\d)\d(?=\d{3})/g

/** Returns where the longest card number that begins at a place ends. */
const endOfCard = (text: string, start: number, last: number): number | undefined => {
  let found: number | undefined
  let [at, digits, shape, isWide] = [start, 0, 0, false]
  const gaps: Array<string> = []
  while (true) {
    const from = at
    while (at - from < 20 && isDigit(text.charCodeAt(at))) at++
    const size = at - from
    digits += size
    shape = shape * 32 + size
    if (digits > 19) return found
    const isFound = shapes.has(shape) && isBounded(text, start, at, last, ".-") && isCard(text, start, at, digits) &&
      !(isWide && isAmongOthers(text, start, at, gaps))
    if (isFound) found = at
    const next = size === 4 || size === 6 ? endOfGap(text, at, isCardGap, isDigit) : undefined
    if (next === undefined) return found
    const between = text.slice(at, next)
    gaps.push(between)
    isWide ||= between.length > 1 || !" .-".includes(between)
    at = next
  }
}

/**
 * Finds numbers of payment cards: 14 to 19 digits in the range of an issuer, with a correct check digit. They are written together or in
 * the groups that cards show, separated by a sign, spaces or the end of a line.
 */
export const findCards = finder(() => cardStarts, endOfCard)

const ssnStarts = /(?<!\d)\d(?=\d\d[ -])/g

/** Numbers that are never assigned: an area of 000, 666 or from 900 on, a group of 00, a serial number of 0000. */
const ssn = /(?!000|666|9)\d{3}( - |[ -])(?!00)\d\d\1(?!0000)\d{4}(?!-[A-Za-z])/y

/**
 * Finds US social security numbers in their groups of three, two and four. Nine digits without gaps aren't one: too many other
 * numbers have nine.
 */
export const findSsns = finder(() => ssnStarts, (text, start, last) => {
  const end = endAt(ssn, text, start)
  return end !== undefined && isBounded(text, start, end, last, ".-") ? end : undefined
})

/** Countries with their lengths, from the IBAN registry. */
const registry =
  "AD24AE23AL28AT20AZ28BA20BE16BG22BH22BI27BR29BY28CH21CR22CY28CZ24DE22DJ27DK18DO28EE20EG29ES24FI18FK18FO18FR27GB22GE22" +
  "GI23GL18GR27GT28HN28HR21HU28IE22IL23IQ23IS26IT27JO30KW30KZ20LB28LC32LI21LT20LU20LV21LY25MC27MD24ME22MK19MN20MR27MT31" +
  "MU30NI28NL18NO15OM23PK24PL28PS29PT25QA29RO24RS22RU33SA24SC31SD18SE24SI19SK24SM27SO23ST25SV28TL23TN24TR26UA29VA22VG24" +
  "XK20YE30"

/** Returns a number for the two letters of a country, in either case. */
const countryOf = (text: string, at: number): number =>
  (text.charCodeAt(at) | 32) * 256 + (text.charCodeAt(at + 1) | 32)

const lengths: ReadonlyMap<number, number> = new Map(
  Array.from(registry.matchAll(/[A-Z]{2}(\d\d)/g), ([entry, length]) => [countryOf(entry, 0), Number(length)])
)

const isIbanGap = (code: number): boolean => isSpace(code) || code === 45

const ibanStarts = /(?<![A-Za-z\d])[A-Za-z](?=[A-Za-z]\d\d)/g

/** Returns where so many letters and digits end, written together or with a gap after each four. */
const endOfFours = (text: string, start: number, length: number): number | undefined => {
  let at = start
  for (let read = 0; read < length; read++) {
    if (!isAlphanumeric(text.charCodeAt(at))) {
      const next = read > 0 && read % 4 === 0 ? endOfGap(text, at, isIbanGap, isAlphanumeric) : undefined
      if (next === undefined) return undefined
      at = next
    }
    at++
  }
  return at
}

/** Finds numbers of bank accounts (IBAN, ISO 13616) with the length of their country and correct check digits. */
export const findIbans = finder(() => ibanStarts, (text, start, last) => {
  const length = lengths.get(countryOf(text, start))
  const end = length === undefined ? undefined : endOfFours(text, start, length)
  return end !== undefined && isBounded(text, start, end, last) && isMod97(text, start, end) ? end : undefined
})
