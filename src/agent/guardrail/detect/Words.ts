/**
 * Words of a list in a text: whole words, in any case and script, also where they are disguised.
 *
 * Linear: each word of the text is looked up, in as many spellings as it has at most, and never compared with the whole list.
 *
 * @since 0.1.0
 */
import * as Predicate from "effect/Predicate"
import { pattern } from "../../../domain/Lazy.ts"
import type { Detector, Finding } from "./Finding.ts"
import { foldLetters } from "./Fold.ts"

/** A word where it stands. */
export interface Word {
  readonly text: string
  readonly start: number
  readonly end: number
}

const letter = pattern("[\\p{L}\\p{M}\\p{N}]")
const letterFirst = pattern("^\\p{L}")
const alone = pattern("^\\p{L}$")

/** Signs within words where those may be disguised. */
const disguises = "@$!*#|+"

const isInWord = (character: string, isDisguised: boolean): boolean =>
  (character >= "a" && character <= "z") || (character >= "0" && character <= "9") ||
  (character < "\x80" ? isDisguised && disguises.includes(character) : letter().test(character))

const isEdge = (character: string): boolean => "!*#|+".includes(character)

/**
 * Gives the words of a folded text: letters and digits in a row, and where they may be disguised, signs between them, and `@` and
 * `$` also at their ends.
 */
export const wordsOf = (text: string, isDisguised = false): ReadonlyArray<Word> => {
  const words: Array<Word> = []
  let start = -1
  let at = 0
  const close = () => {
    if (start < 0) return
    let end = at
    while (isEdge(text[end - 1]!)) end--
    words.push({ text: text.slice(start, end), start, end })
    start = -1
  }
  for (const character of text) {
    if (!isInWord(character, isDisguised)) close()
    else if (start < 0 && !isEdge(character)) start = at
    at += character.length
  }
  close()
  return words
}

/** Scripts that put no spaces between words. */
const unspaced = pattern(
  "[\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Thai}\\p{Script=Lao}\\p{Script=Khmer}]"
)

/** What may stand between the words of one expression. */
const gap = /^[\s'_-]{1,3}$/

interface Entry<Kind> {
  readonly kind: Kind
  readonly words: ReadonlyArray<string>
}

interface Lists<Kind> {
  /** Expressions by their first word, the longest first. */
  readonly entries: ReadonlyMap<string, ReadonlyArray<Entry<Kind>>>
  /** Beginnings of words by their length. */
  readonly beginnings: ReadonlyMap<number, ReadonlyMap<string, Kind>>
  /** What is found within words, as its script puts no spaces between them. */
  readonly within: ReadonlyMap<string, Kind>
  /** Single words by their length and first letter. */
  readonly shapes: ReadonlyMap<string, ReadonlyArray<Entry<Kind>>>
}

const push = <K, A>(map: Map<K, Array<A>>, key: K, value: A): void => {
  const values = map.get(key)
  if (values === undefined) map.set(key, [value])
  else values.push(value)
}

const shapeOf = (word: string): string => `${word.length}${word[0]}`

const listsOf = <Kind extends string>(
  lists: ReadonlyArray<readonly [kind: Kind, words: Iterable<string>]>
): Lists<Kind> => {
  const entries = new Map<string, Array<Entry<Kind>>>()
  const beginnings = new Map<number, Map<string, Kind>>()
  const within = new Map<string, Kind>()
  const shapes = new Map<string, Array<Entry<Kind>>>()
  for (const [kind, words] of lists) {
    for (const listed of words) {
      const { text } = foldLetters(listed)
      const parts = wordsOf(text).map((word) => word.text)
      const [first] = parts
      if (first === undefined) continue
      if (unspaced().test(text)) within.set(text.trim(), kind)
      else if (parts.length === 1 && text.endsWith("*")) {
        const sameLength = beginnings.get(first.length) ?? new Map<string, Kind>()
        beginnings.set(first.length, sameLength.set(first, kind))
      } else {
        push(entries, first, { kind, words: parts })
        if (parts.length === 1) push(shapes, shapeOf(first), { kind, words: parts })
      }
    }
  }
  for (const same of entries.values()) same.sort((a, b) => b.words.length - a.words.length)
  return { entries, beginnings, within, shapes }
}

const signs: Readonly<Record<string, string>> = {
  0: "o",
  1: "i",
  3: "e",
  4: "a",
  5: "s",
  7: "t",
  8: "b",
  9: "g",
  "@": "a",
  $: "s",
  "!": "i",
  "|": "i",
  "+": "t"
}

const sign = /[0-9@$!|+]/
const hasLetter = pattern("\\p{L}")
const tripled = /(.)\1\1/u

/** Gives a word with letters for the digits and signs that stand for them, if it has letters. */
export const withLetters = (word: string): string =>
  sign.test(word) && hasLetter().test(word) ? word.replace(/[0-9@$!|+]/g, (sign) => signs[sign] ?? sign) : word

/** Spellings of a word: with letters for the digits and signs that stand for them, and without letters said over and over. */
const spellings = (word: string): Iterable<string> => {
  const hasSigns = sign.test(word)
  if (!hasSigns && !tripled.test(word)) return [word]
  const found = new Set([word])
  if (hasSigns && hasLetter().test(word)) {
    found.add(withLetters(word))
    found.add(withLetters(word.replace(/[1|]/g, "l")))
  }
  for (const spelling of Array.from(found)) {
    found.add(spelling.replace(/(.)\1{2,}/gu, "$1$1"))
    found.add(spelling.replace(/(.)\1{2,}/gu, "$1"))
  }
  return found
}

/** Gives a word without the signs at its ends that may stand for letters, if that is another. */
const bareOf = ({ start, text }: Word): ReadonlyArray<Word> => {
  const bare = /^[@$]|[@$]$/.test(text) ? /[^@$](?:.*[^@$])?/u.exec(text) : null
  if (bare === null) return []
  const from = start + bare.index
  return [{ text: bare[0], start: from, end: from + bare[0].length }]
}

/**
 * Joins letters that stand alone, at least three with the same character between each two: `w o r d`, `w.o.r.d`. Gives their word,
 * and how many they are.
 */
export const joined = (
  text: string,
  words: ReadonlyArray<Word>,
  at: number
): { readonly text: string; readonly count: number } | undefined => {
  const isAlone = (index: number): boolean => {
    const word = words[index]
    return word !== undefined && word.end - word.start < 3 && alone().test(word.text)
  }
  if (!isAlone(at)) return undefined
  const between = text[words[at]!.end]
  const isNext = (index: number): boolean =>
    isAlone(index) && words[index]!.start === words[index - 1]!.end + 1 && text[words[index - 1]!.end] === between
  let end = at + 1
  while (isNext(end)) end++
  return end - at < 3 ? undefined : { text: words.slice(at, end).map((word) => word.text).join(""), count: end - at }
}

/** The first of the entries whose further words stand behind a word. */
const entryAt = <Kind>(
  lists: Lists<Kind>,
  text: string,
  words: ReadonlyArray<Word>,
  at: number,
  first: string
): Entry<Kind> | undefined =>
  lists.entries.get(first)?.find((entry) =>
    entry.words.every((word, index) =>
      index === 0 ||
      words[at + index]?.text === word && gap.test(text.slice(words[at + index - 1]!.end, words[at + index]!.start))
    )
  )

const beginningOf = <Kind>({ beginnings }: Lists<Kind>, word: string): Kind | undefined => {
  for (const [length, kinds] of beginnings) {
    const kind = word.length < length ? undefined : kinds.get(word.slice(0, length))
    if (kind !== undefined) return kind
  }
  return undefined
}

/** A word of the list that has the same letters but for those that a star or a hash hides. */
const hiddenIn = <Kind>({ shapes }: Lists<Kind>, spelling: string): Kind | undefined =>
  /[*#]/.test(spelling) && letterFirst().test(spelling)
    ? shapes.get(shapeOf(spelling))?.find(({ words: [word = ""] }) =>
      Array.from(spelling).every((letter, index) => letter === "*" || letter === "#" || letter === word[index])
    )?.kind
    : undefined

const findWithin = <Kind extends string>({ within }: Lists<Kind>, text: string): ReadonlyArray<Finding<Kind>> =>
  [...within].flatMap(([word, kind]) => {
    const found: Array<Finding<Kind>> = []
    for (let start = text.indexOf(word); start >= 0; start = text.indexOf(word, start + word.length)) {
      found.push({ kind, start, end: start + word.length })
    }
    return found
  })

/** Checks whether something is left of a listed word that could be found. */
export const isFindable = (listed: string): boolean =>
  Predicate.isString(listed) && /[^\s*]/.test(foldLetters(listed).text)

const withoutOverlaps = <Kind extends string>(findings: Array<Finding<Kind>>): ReadonlyArray<Finding<Kind>> => {
  let last = 0
  return findings.sort((a, b) => a.start - b.start || b.end - a.end).filter(({ end, start }) => {
    if (start < last) return false
    last = end
    return true
  })
}

/**
 * Makes a detector of the words of lists.
 *
 * A listed expression of several words is found with spaces, hyphens or apostrophes between them. One with a star at its end is
 * found at the beginning of words. Case, accents and letters of other alphabets that look the same make no difference. With
 * `isDisguised`, so do digits and signs that stand for letters, letters said three times or more, letters with one character
 * between each two, and letters that a star hides.
 */
export const wordDetector = <Kind extends string>(
  listed: ReadonlyArray<readonly [kind: Kind, words: Iterable<string>]>,
  isDisguised = false
): Detector<Kind> => {
  const lists = listsOf(listed)
  return (text) => {
    const folded = foldLetters(text)
    const words = wordsOf(folded.text, isDisguised)
    const findings: Array<Finding<Kind>> = []
    const add = (kind: Kind, { start }: Word, { end }: Word): void => {
      findings.push({ kind, start, end })
    }
    /** Gives how many words were looked at. */
    const findAt = (at: number): number => {
      const word = words[at]!
      for (const read of isDisguised ? [word, ...bareOf(word)] : [word]) {
        for (const spelling of isDisguised ? spellings(read.text) : [read.text]) {
          const entry = entryAt(lists, folded.text, words, at, spelling)
          const count = entry?.words.length ?? 1
          const kind = entry?.kind ?? beginningOf(lists, spelling) ??
            (isDisguised ? hiddenIn(lists, spelling) : undefined)
          if (kind === undefined) continue
          add(kind, read, count === 1 ? read : words[at + count - 1]!)
          return count
        }
      }
      const letters = isDisguised ? joined(folded.text, words, at) : undefined
      if (letters === undefined) return 1
      const spelt = entryAt(lists, folded.text, [], 0, letters.text)
      if (spelt !== undefined) add(spelt.kind, word, words[at + letters.count - 1]!)
      return letters.count
    }
    for (let at = 0; at < words.length;) at += findAt(at)
    return withoutOverlaps([...findings, ...findWithin(lists, folded.text)]).map(folded.locate)
  }
}
