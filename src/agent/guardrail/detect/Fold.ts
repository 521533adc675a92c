/**
 * Texts with what looks alike made the same, so that a detector sees through other scripts' digits, wide letters, long dashes,
 * invisible characters and, for words, through accents and letters of other alphabets.
 *
 * A folded text knows where each of its characters stood.
 *
 * @since 0.1.0
 */
import { pattern } from "../../../domain/Lazy.ts"

/** A folded text. */
export interface Folded {
  readonly text: string
  /** Gives something that was found, where it stands in the text as it was. */
  readonly locate: <A extends { readonly start: number; readonly end: number }>(found: A) => A
}

const isAscii = (text: string): boolean => !/[^\0-\x7f]/.test(text)

/** Characters that show nothing: format characters, variation selectors, and letters that are blank. */
const invisible = pattern("[\\p{Cf}\\p{Variation_Selector}\\u034f\\u115f\\u1160\\u3164\\uffa0]")

const dash = pattern("\\p{Pd}|\\u2212")
const digit = pattern("\\p{Nd}")

/** Digits stand in blocks of ten, which begin at a multiple of 16 or 6 after one; the mathematical ones are compatible. */
const digitOf = (character: string): string => {
  const code = character.codePointAt(0)!
  const low = code & 15
  return String(low - (digit().test(String.fromCodePoint(code - low)) ? 0 : 6))
}

const compatible = (character: string): string => {
  const { length } = character
  const normal = character.normalize("NFKC")
  return normal.length === 1 && isAscii(normal)
    ? normal
    : length === 1 && digit().test(character)
    ? digitOf(character)
    : dash().test(character)
    ? "-"
    : character
}

/** Characters that look like those of ASCII, each before its own: Cyrillic, Greek, Armenian, and Latin's own variants. */
const lookalikes =
  "аaвbеeнhіiїiјjкkмmоoрpсcтtуyхxѕsԁdԛqԝwһhɡgɩiαaβbεeηnιiκkνvοoρpτtυuχxγyωwϲcսuոnօoհhցgıiøołlđdʀrɴnʜhᴏoᴄcꜱsӏlʟl’'‘'"

const plainOf = (letter: string): string => {
  if (letter === "ß") return "ss"
  for (let at = 0; at < lookalikes.length; at += 2) if (lookalikes[at] === letter) return lookalikes[at + 1]!
  return letter
}

/** Accents, and the points of Hebrew and Arabic. Other scripts' marks are letters of theirs. */
const marks = pattern("(?!\\u3099|\\u309a)\\p{Script=Inherited}|[\\u0591-\\u05c7]", "gu")

const letters = (character: string): string =>
  Array.from(
    character.normalize("NFKD").replace(marks(), "").normalize("NFC").toLowerCase(),
    plainOf
  ).join("")

const identity: Folded["locate"] = (found) => found

const fold = (text: string, one: (character: string) => string): Folded => {
  const starts: Array<number> = []
  const ends: Array<number> = []
  const seen = new Map<string, string>()
  let folded = ""
  let at = 0
  for (const character of text) {
    let to = seen.get(character)
    if (to === undefined) seen.set(character, to = invisible().test(character) ? "" : one(character))
    for (let i = 0; i < to.length; i++) {
      starts.push(at)
      ends.push(at + character.length)
    }
    folded += to
    at += character.length
  }
  return {
    text: folded,
    locate: (found) => ({ ...found, start: starts[found.start]!, end: ends[found.end - 1]! })
  }
}

/** Folds digits, wide and mathematical characters, dashes and spaces to ASCII, and leaves out what can't be seen. */
export const foldCharacters = (text: string): Folded =>
  isAscii(text) ? { text, locate: identity } : fold(text, (one) => one < "\x80" ? one : compatible(one))

/** Folds letters as well: to lower case, without accents, and to the Latin letters that they look like. */
export const foldLetters = (text: string): Folded =>
  isAscii(text)
    ? { text: text.toLowerCase(), locate: identity }
    : fold(text, (one) => {
      const plain = one < "\x80" ? one : compatible(one)
      return plain < "\x80" ? plain.toLowerCase() : letters(plain)
    })
