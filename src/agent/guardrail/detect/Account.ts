/**
 * Numbers of cards, bank accounts and social security in a text.
 *
 * Linear: a number has a greatest length, and each place where one could begin is looked at once.
 *
 * @since 0.1.0
 */
import { isBounded, matchAt, type Ranges, rangesFrom } from "./Boundary.ts"
import { isLuhn, isMod97 } from "./Checksum.ts"

const digitStarts = /(?<!\d)\d/g

/** How numbers of cards are written: in fours, as American Express and Diners Club do, and without gaps. */
const cardForms = [
  /(?:\d{4}[ .-]){4}\d{3}/y,
  /(?:\d{4}[ .-]){3}\d{4}/y,
  /\d{4}[ .-]\d{6}[ .-]\d{4,5}/y,
  /\d{14,19}/y
]

/** Ranges of issuers, with the lengths of their numbers. */
const issuers: ReadonlyArray<readonly [prefix: RegExp, ...lengths: ReadonlyArray<number>]> = [
  [/^4/, 16, 19],
  [/^(?:5[1-5]|2(?:22[1-9]|2[3-9]|[3-6]|7[01]|720))/, 16],
  [/^3[47]/, 15],
  [/^3(?:0[0-5]|09|[689])/, 14, 15, 16, 17, 18, 19],
  [/^(?:35(?:2[89]|[3-8])|6[0-57]|8[12]|50|5[678]|220[0-4])/, 16, 17, 18, 19]
]

const isCard = (digits: string): boolean =>
  issuers.some(([prefix, ...lengths]) => lengths.includes(digits.length) && prefix.test(digits)) && isLuhn(digits)

/**
 * Finds numbers of payment cards: 14 to 19 digits in the range of an issuer, whose last one is right. They stand together or in
 * the groups that cards show.
 */
export const findCards = (text: string): Ranges =>
  rangesFrom(text, digitStarts, (start) => {
    for (const form of cardForms) {
      const number = matchAt(form, text, start)
      if (number === undefined) continue
      const end = start + number.length
      if (isBounded(text, start, end, ".-") && isCard(number.replace(/\D/g, ""))) return end
    }
    return undefined
  })

/** Not given out: an area of 000, 666 or from 900 on, a group of 00, a serial number of 0000. */
const ssn = /(?!000|666|9)\d{3}([ -])(?!00)\d\d\1(?!0000)\d{4}/y

/**
 * Finds US social security numbers in their groups of three, two and four. Nine digits without gaps aren't one: too many other
 * numbers have nine.
 */
export const findSsns = (text: string): Ranges =>
  rangesFrom(text, digitStarts, (start) => {
    const number = matchAt(ssn, text, start)
    return number !== undefined && isBounded(text, start, start + number.length, ".-")
      ? start + number.length
      : undefined
  })

/** Countries with their lengths, from the IBAN registry. */
const lengths =
  "AD24AE23AL28AT20AZ28BA20BE16BG22BH22BI27BR29BY28CH21CR22CY28CZ24DE22DJ27DK18DO28EE20EG29ES24FI18FK18FO18FR27GB22GE22" +
  "GI23GL18GR27GT28HN28HR21HU28IE22IL23IQ23IS26IT27JO30KW30KZ20LB28LC32LI21LT20LU20LV21LY25MC27MD24ME22MK19MN20MR27MT31" +
  "MU30NI28NL18NO15OM23PK24PL28PS29PT25QA29RO24RS22RU33SA24SC31SD18SE24SI19SK24SM27SO23ST25SV28TL23TN24TR26UA29VA22VG24" +
  "XK20YE30"

/** How long an account number of a country is. No country's code and length stand across two entries: one is letters, one digits. */
const lengthOf = (country: string): number | undefined => {
  const at = lengths.indexOf(country)
  return at < 0 ? undefined : Number(lengths.slice(at + 2, at + 4))
}

/** Where so many letters and digits end, together or with a gap after each four. */
const endOfFours = (text: string, start: number, length: number): number | undefined => {
  let at = start
  for (let read = 0; read < length; at++) {
    if (/[A-Z\d]/i.test(text.charAt(at))) read++
    else if (read % 4 !== 0 || !/[A-Z\d][ -][A-Z\d]/i.test(text.slice(at - 1, at + 2))) return undefined
  }
  return at
}

/** Finds numbers of bank accounts (IBAN, ISO 13616) of the length of their country, whose check digits are right. */
export const findIbans = (text: string): Ranges =>
  rangesFrom(text, /(?<![A-Z\d])[A-Z]{2}\d\d/gi, (start) => {
    const length = lengthOf(text.slice(start, start + 2).toUpperCase())
    const end = length === undefined ? undefined : endOfFours(text, start, length)
    return end !== undefined && isBounded(text, start, end) &&
        isMod97(text.slice(start, end).replace(/[ -]/g, "").toUpperCase())
      ? end
      : undefined
  })
