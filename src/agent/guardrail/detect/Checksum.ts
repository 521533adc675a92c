/**
 * Checksums that distinguish account numbers from other numbers. Signs between digits are ignored.
 *
 * @since 0.1.0
 */
import { isAlphanumeric, isDigit } from "./Boundary.ts"

/** Checks the last digit of a payment card's number in a text, by the formula of Luhn (ISO/IEC 7812-1, annex B). */
export const isLuhn = (text: string, start: number, end: number): boolean => {
  let sum = 0
  let isDoubled = false
  for (let at = end - 1; at >= start; at--) {
    const code = text.charCodeAt(at)
    if (!isDigit(code)) continue
    const digit = code - 48
    sum += !isDoubled ? digit : digit < 5 ? digit * 2 : digit * 2 - 9
    isDoubled = !isDoubled
  }
  return sum % 10 === 0
}

/** Checks the two digits behind the country of an account number in a text (ISO 13616, ISO 7064 MOD 97-10). */
export const isMod97 = (text: string, start: number, end: number): boolean => {
  let rest = 0
  const take = (from: number, to: number): void => {
    for (let at = from; at < to; at++) {
      const code = text.charCodeAt(at)
      if (isDigit(code)) rest = (rest * 10 + code - 48) % 97
      else if (isAlphanumeric(code)) rest = (rest * 100 + (code | 32) - 87) % 97
    }
  }
  take(start + 4, end)
  take(start, start + 4)
  return rest === 1
}
