/**
 * Checksums that tell numbers of accounts from other numbers.
 *
 * @since 0.1.0
 */

/** Checks the last digit of a payment card's number, by the formula of Luhn (ISO/IEC 7812-1, annex B). */
export const isLuhn = (digits: string): boolean => {
  let sum = 0
  for (let i = 0; i < digits.length; i++) {
    const digit = digits.charCodeAt(digits.length - 1 - i) - 48
    sum += i % 2 === 0 ? digit : digit < 5 ? digit * 2 : digit * 2 - 9
  }
  return sum % 10 === 0
}

/** Checks the two digits behind the country of an account number in capitals (ISO 13616, ISO 7064 MOD 97-10). */
export const isMod97 = (iban: string): boolean => {
  let rest = 0
  for (const character of iban.slice(4) + iban.slice(0, 4)) {
    const value = Number.parseInt(character, 36)
    rest = (rest * (value < 10 ? 10 : 100) + value) % 97
  }
  return rest === 1
}
