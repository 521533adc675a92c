/**
 * Facts of characters, computed once for each.
 *
 * @since 0.1.0
 */
import { pattern } from "../../../domain/Lazy.ts"

/** Caches the result of a function by code point. An invalid code point counts as that of an empty text: 0. */
export const byCodePoint = <A>(of: (character: string) => A): (code: number) => A => {
  const pages: Array<Array<A> | undefined> = []
  return (code) => {
    const page = pages[code >> 8] ??= []
    const known = page[code & 255]
    return known === undefined ? page[code & 255] = of(String.fromCodePoint(code | 0)) : known
  }
}

/** The class of a character in a word: none, a letter, a digit or a mark, or a sign that stands for a letter or hides one. */
export const Class = {
  none: 0,
  letter: 1,
  digit: 2,
  /** A sign that may also be at the ends of a word. */
  sign: 4,
  /** A sign that may only be inside a word. */
  innerSign: 8
} as const

const isLetter = pattern("\\p{L}")
const isDigit = pattern("[\\p{M}\\p{N}]")

/** Returns the class of a character, by its code point in a folded text. */
export const classOf = /* #__PURE__ */ byCodePoint((character): number =>
  isLetter().test(character)
    ? Class.letter
    : isDigit().test(character)
    ? Class.digit
    : "@$".includes(character)
    ? Class.sign
    : "!*#|+".includes(character)
    ? Class.innerSign
    : Class.none
)
