/**
 * What is known of characters, worked out once for each.
 *
 * @since 0.1.0
 */
import { pattern } from "../../../domain/Lazy.ts"

/** Remembers what a function says of characters, by their code points. What is no code point is that of no text at all: 0. */
export const byCodePoint = <A>(of: (character: string) => A): (code: number) => A => {
  const pages: Array<Array<A> | undefined> = []
  return (code) => {
    const page = pages[code >> 8] ??= []
    const known = page[code & 255]
    return known === undefined ? page[code & 255] = of(String.fromCodePoint(code | 0)) : known
  }
}

/** What a character may be in a word: nothing, a letter, a digit or a mark, or a sign that stands for a letter or hides one. */
export const Class = {
  none: 0,
  letter: 1,
  digit: 2,
  /** A sign that may stand at the ends of a word, too. */
  sign: 4,
  /** A sign that may stand within a word alone. */
  innerSign: 8
} as const

const isLetter = pattern("\\p{L}")
const isDigit = pattern("[\\p{M}\\p{N}]")

/** Says what a character may be in a word, by its code point in a folded text. */
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
