/**
 * Texts in which lookalike characters are replaced by one of them, so that a detector isn't deceived by other scripts' digits, wide
 * letters, long dashes, invisible characters and, for words, accents and letters of other alphabets.
 *
 * A folded text knows the original place of each character, and is at most three times as long as the text.
 *
 * @since 0.1.0
 */
import { lazy, pattern } from "../../../domain/Lazy.ts"
import { piece, type Work } from "../../perform/guard/Work.ts"
import { byCodePoint } from "./CodePoint.ts"

/** A folded text. */
export interface Folded {
  readonly text: string
  /** Returns a finding with its place in the original text. */
  readonly locate: <A extends { readonly start: number; readonly end: number }>(found: A) => A
}

const isAscii = (text: string): boolean => !/[^\0-\x7f]/.test(text)

/** Invisible characters: format characters, those that choose a variation, and blank letters. */
const invisible = pattern("[\\p{Cf}\\p{Variation_Selector}\\u034f\\u115f\\u1160\\u3164\\uffa0]")

const dash = pattern("\\p{Pd}|\\u2212")
const digit = pattern("\\p{Nd}")

/**
 * Unicode has digits in blocks of ten, which begin at a multiple of 16, or 6 after one. Mathematical digits are handled by compatibility
 * forms.
 */
const digitOf = (character: string): string => {
  const code = character.codePointAt(0)!
  const low = code & 15
  return String(low - (digit().test(String.fromCodePoint(code - low)) ? 0 : 6))
}

const compatible = (character: string): string => {
  const normal = character.normalize("NFKC")
  return normal.length === 1 && isAscii(normal)
    ? normal
    : digit().test(character)
    ? digitOf(character)
    : dash().test(character)
    ? "-"
    : character
}

/** Pairs of a character and the ASCII character that it looks like: Cyrillic, Greek, Armenian, and variants of Latin. */
const lookalikes =
  "аaвbеeнhіiїiјjкkмmоoрpсcтtуyхxѕsԁdԛqԝwһhɡgɩiαaβbεeηnιiκkνvοoρpτtυuχxγyωwϲcսuոnօoհhցgıiøołlđdʀrɴnʜhᴏoᴄcꜱsӏlʟl’'‘'"

const plain = lazy(() => {
  const plain = new Map([["ß", "ss"]])
  for (let at = 0; at < lookalikes.length; at += 2) plain.set(lookalikes[at]!, lookalikes[at + 1]!)
  return plain
})

const plainOf = (letter: string): string => plain().get(letter) ?? letter

/** Accents, and the points of Hebrew and Arabic. In other scripts marks are like letters. */
const marks = pattern("(?!\\u3099|\\u309a)\\p{Script=Inherited}|[\\u0591-\\u05c7]", "gu")

/** Signs in the compatibility form of a single character, such as a letter in parentheses. */
const beside = pattern("[^\\p{L}\\p{M}\\p{N}]", "gu")

/** A character whose form has more letters than these stays as it is, so that no text grows by much. */
const most = 3

const letters = (character: string): string => {
  const folded = Array.from(
    character.normalize("NFKD").replace(marks(), "").normalize("NFC").toLowerCase(),
    plainOf
  ).join("")
  if (folded.length < 2) return folded
  const alone = folded.replace(beside(), "")
  return alone === "" || alone.length > most ? character : alone
}

/** What a character is folded to: a code unit, or a text. */
type To = number | string

const folder = (one: (character: string) => string): (code: number) => To => {
  const known = byCodePoint((character): To => {
    const to = invisible().test(character) ? "" : one(character)
    return to.length === 1 ? to.charCodeAt(0) : to
  })
  // Ideographs, syllables of Hangul and characters of higher planes are folded to themselves, without a table, because there are many.
  return (code) =>
    (code >= 0x3400 && code < 0xa000) || (code >= 0xac00 && code < 0xd7a4)
      ? code
      : (code >= 0x30000 && code < 0xe0000) || code >= 0xe1000
      ? String.fromCodePoint(code)
      : known(code)
}

const toCharacter = /* #__PURE__ */ folder(compatible)

const toLetters = /* #__PURE__ */ folder((character) => {
  const plain = compatible(character)
  return plain < "\x80" ? plain.toLowerCase() : letters(plain)
})

const identity: Folded["locate"] = (found) => found

const sizeOf = (code: number): number => code > 0xffff ? 2 : 1

/** Returns the original place of each code unit of a folded text. */
const startsOf = (text: string, length: number, to: (code: number) => To): Int32Array => {
  const starts = new Int32Array(length)
  let count = 0
  for (let at = 0; at < text.length;) {
    const code = text.codePointAt(at)!
    const unit = code < 0x80 ? code : to(code)
    const units = typeof unit === "number" ? 1 : unit.length
    for (let i = 0; i < units; i++) starts[count++] = at
    at += sizeOf(code)
  }
  return starts
}

const locator = (text: string, length: number, to: (code: number) => To): Folded["locate"] => {
  const starts = lazy(() => startsOf(text, length, to))
  return (found) => {
    const last = starts()[found.end - 1]!
    return { ...found, start: starts()[found.start]!, end: last + sizeOf(text.codePointAt(last)!) }
  }
}

function* fold(text: string, to: (code: number) => To): Work<Folded> {
  const units = new Uint16Array(most * Math.min(piece + 1, text.length))
  let folded = ""
  for (let at = 0; at < text.length;) {
    const end = Math.min(at + piece, text.length)
    let count = 0
    while (at < end) {
      const code = text.codePointAt(at)!
      at += sizeOf(code)
      const unit = to(code)
      if (typeof unit === "number") units[count++] = unit
      else for (let i = 0; i < unit.length; i++) units[count++] = unit.charCodeAt(i)
    }
    for (let from = 0; from < count; from += 8192) {
      folded += Reflect.apply(String.fromCharCode, undefined, units.subarray(from, Math.min(count, from + 8192)))
    }
    if (at < text.length) yield
  }
  return { text: folded, locate: locator(text, folded.length, to) }
}

const characterOf = (code: number): To => code < 0x80 ? code : toCharacter(code)
const letterOf = (code: number): To => code > 64 && code < 91 ? code + 32 : code < 0x80 ? code : toLetters(code)

/** Folds digits, wide and mathematical characters, dashes and spaces to ASCII, and leaves out invisible characters. */
export const foldCharacters = (text: string): Folded | Work<Folded> =>
  isAscii(text) ? { text, locate: identity } : fold(text, characterOf)

/** Folds letters too: to lower case, without accents, and to the Latin letters that they look like. */
export const foldLetters = (text: string): Folded | Work<Folded> =>
  isAscii(text) ? { text: text.toLowerCase(), locate: identity } : fold(text, letterOf)
