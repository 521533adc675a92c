/**
 * Words of a list in a text: whole words, in any case and script, also in disguise.
 *
 * @since 0.1.0
 */
import * as Predicate from "effect/Predicate"
import { lazy, pattern } from "../../../domain/Lazy.ts"
import { atOnce, isWork, piece, type Work } from "../../perform/guard/Work.ts"
import { isAlphanumeric, isSpace } from "./Boundary.ts"
import { Class, classOf } from "./CodePoint.ts"
import { type Detector, type Finding, withoutOverlaps } from "./Finding.ts"
import { foldLetters } from "./Fold.ts"
import { endOfSpaced, isSign, meaningsOf, Reader, withLetters, Words } from "./Reader.ts"
import * as Trie from "./Trie.ts"

/** Scripts that put no spaces between words. */
const unspaced = pattern(
  "[\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Thai}\\p{Script=Lao}\\p{Script=Khmer}]"
)

/** Expressions of words, with what may come between the words. */
const plain = pattern("^[\\p{L}\\p{M}\\p{N}]+(?:[\\s'_-]{1,3}[\\p{L}\\p{M}\\p{N}]+)*$")
const gaps = /[\s'_-]{1,3}/g
const gap = /[\s'_-]{1,3}/y

const space = 32

/** An entry that is found only as it is written, because of a sign in it or its script. */
interface Literal<Kind> {
  readonly kind: Kind
  /** Whether no letter may come before it, or after it. */
  readonly isBegin: boolean
  readonly isEnd: boolean
}

interface Lists<Kind> {
  /** Words, and expressions with spaces between their words. */
  readonly words: Trie.Trie<Kind>
  /** Beginnings of words, which match any word that begins so. */
  readonly beginnings: Array<Kind | undefined>
  readonly literals: Trie.Trie<Literal<Kind>>
  /** Single words, by each of their letters. */
  readonly byLetter: () => ReadonlyMap<string, ReadonlyArray<readonly [word: string, kind: Kind]>>
}

const lettersOf = <Kind>(words: ReadonlyMap<string, Kind>): ReadonlyMap<string, Array<readonly [string, Kind]>> => {
  const byLetter = new Map<string, Array<readonly [string, Kind]>>()
  for (const entry of words) {
    const [word] = entry
    for (let at = 0; at < word.length; at++) {
      const key = `${word.length} ${at} ${word[at]}`
      const same = byLetter.get(key)
      if (same === undefined) byLetter.set(key, [entry])
      else same.push(entry)
    }
  }
  return byLetter
}

/** Returns a listed word as it is searched for, and whether it may have any ending. */
const readListed = (listed: string): readonly [text: string, isBeginning: boolean] => {
  const folding = foldLetters(listed)
  const text = (isWork(folding) ? atOnce(folding) : folding).text.trim().replace(/\s+/g, " ")
  return text.length > 1 && text.endsWith("*") ? [text.slice(0, -1).trimEnd(), true] : [text, false]
}

/** Checks whether a listed word still has something that can be found. */
export const isFindable = (listed: string): boolean => Predicate.isString(listed) && /[^*]/.test(readListed(listed)[0])

const listsOf = <Kind extends string>(
  lists: ReadonlyArray<readonly [kind: Kind, words: Iterable<string>]>,
  isDisguised: boolean
): Lists<Kind> => {
  const words = Trie.make<Kind>()
  const literals = Trie.make<Literal<Kind>>()
  const beginnings: Array<Kind | undefined> = []
  const single = new Map<string, Kind>()
  const addWords = (text: string, kind: Kind, isBeginning: boolean): void => {
    const spaced = text.replace(gaps, " ")
    const node = Trie.add(words, spaced)
    if (isBeginning) beginnings[node] ??= kind
    else words.values[node] ??= kind
    const mayHide = !isBeginning && !spaced.includes(" ") && text.length <= longest
    if (mayHide && !single.has(text)) single.set(text, kind)
  }
  for (const [kind, listed] of lists) {
    for (const [text, isBeginning] of Array.from(listed, readListed)) {
      const isWithin = unspaced().test(text)
      if (!isWithin && plain().test(text)) {
        addWords(text, kind, isBeginning)
        continue
      }
      const node = Trie.add(literals, text)
      const isWord = (at: number): boolean => !isWithin && isInWord(text.codePointAt(at))
      literals.values[node] ??= { kind, isBegin: isWord(0), isEnd: !isBeginning && isWord(text.length - 1) }
      const meant = withLetters(text)
      if (isDisguised && /\p{L}/u.test(text) && plain().test(meant)) addWords(meant, kind, isBeginning)
    }
  }
  return { words, beginnings, literals, byLetter: lazy(() => lettersOf(single)) }
}

const isInWord = (code: number | undefined): boolean =>
  code !== undefined && (classOf(code) & (Class.letter | Class.digit)) !== 0

/** The maximum length of words with hidden letters. */
const longest = 32

const isHiding = (letter: string | undefined): boolean => letter === "*" || letter === "#"

/** Returns the kind of the listed word that equals a word, apart from letters that an asterisk or a hash hides. */
const hiddenIn = <Kind>({ byLetter }: Lists<Kind>, word: string): Kind | undefined => {
  if (!/[*#]/.test(word) || classOf(word.codePointAt(0)!) !== Class.letter) return undefined
  let fewest: ReadonlyArray<readonly [string, Kind]> | undefined
  for (let at = 0; at < word.length; at++) {
    if (classOf(word.charCodeAt(at)) !== Class.letter) continue
    const same = byLetter().get(`${word.length} ${at} ${word[at]}`)
    if (same === undefined) return undefined
    if (fewest === undefined || same.length < fewest.length) fewest = same
  }
  return fewest?.find(([listed]) =>
    Array.from(word).every((letter, at) =>
      isHiding(letter) || letter === listed[at] || meaningsOf(letter.charCodeAt(0)).includes(listed.charCodeAt(at))
    )
  )?.[1]
}

/** Searches a folded text for listed words. */
class Search<Kind extends string> {
  readonly #lists: Lists<Kind>
  readonly #isDisguised: boolean
  readonly #words: Words
  readonly #reader: Reader<Kind>
  readonly found: Array<Finding<Kind>> = []
  /** The end of the current word, and the last finding. */
  #end = 0
  #kind: Kind | undefined = undefined
  constructor(lists: Lists<Kind>, text: string, isDisguised: boolean) {
    this.#lists = lists
    this.#isDisguised = isDisguised
    this.#words = new Words(text, isDisguised)
    this.#reader = new Reader(lists.words, text, isDisguised, (node, isEnd) => this.#visit(node, isEnd))
  }
  /** Checks whether a finding ends at a node. If an expression continues in the next word, the longer expression is found. */
  #visit(node: number, isEnd: boolean): boolean {
    const { beginnings, words } = this.#lists
    if (isEnd && this.#readNext(node)) return true
    this.#kind = (isEnd ? words.values[node] : undefined) ?? beginnings[node]
    return this.#kind !== undefined
  }
  #readNext(node: number): boolean {
    const to = Trie.next(this.#lists.words, node, space)
    if (to === undefined) return false
    const { text } = this.#words
    gap.lastIndex = this.#end
    const start = gap.test(text) ? gap.lastIndex : -1
    if (start < 0 || !this.#words.find(start) || this.#words.start !== start) return false
    const [end, { isMeant }] = [this.#end, this.#reader]
    this.#end = this.#words.end
    this.#reader.isMeant = this.#words.isMeant
    if (this.#reader.read(to, start, this.#end)) return true
    this.#end = end
    this.#reader.isMeant = isMeant
    return false
  }
  /** Reads a word between two offsets, and adds a finding if it is listed. */
  #read(start: number, end: number, isMeant: boolean, isBare = false): boolean {
    this.#end = end
    this.#reader.isMeant = isMeant
    this.#reader.isBare = isBare
    if (!this.#reader.read(Trie.root, start, end)) return false
    this.found.push({ kind: this.#kind!, start, end: this.#end })
    return true
  }
  /** Reads the first word from an offset on. Returns where to continue, or `undefined` if no word is left. */
  next(from: number): number | undefined {
    if (!this.#words.find(from)) return undefined
    const { classes, end, isMeant, start } = this.#words
    if (this.#read(start, end, isMeant)) return this.#end
    if (!this.#isDisguised) return end
    if ((classes & (Class.sign | Class.innerSign)) !== 0) return this.#readSigned(start, end, isMeant, classes)
    return end - start === 1 && classes === Class.letter ? this.#readSpaced(start) ?? end : end
  }
  /** Reads a word with signs in it: without the signs at its ends, without any signs, with hidden letters, or each piece between signs. */
  #readSigned(start: number, end: number, isMeant: boolean, classes: number): number {
    const { text } = this.#words
    let [first, last] = [start, end]
    while (first < last && isSign(text.charCodeAt(first))) first++
    while (last > first && isSign(text.charCodeAt(last - 1))) last--
    if ((first > start || last < end) && this.#read(first, last, isMeant)) return this.#end
    if (isMeant && this.#read(first, last, isMeant, true)) return this.#end
    const mayHide = (classes & Class.innerSign) !== 0 && last - first <= longest
    const kind = mayHide ? hiddenIn(this.#lists, text.slice(first, last)) : undefined
    if (kind !== undefined) {
      this.found.push({ kind, start: first, end: last })
      return last
    }
    for (let at = first; at < last;) {
      const from = at
      while (at < last && !isSign(text.charCodeAt(at))) at++
      if (at - from < last - first && at > from && this.#read(from, at, isMeant)) at = this.#end
      while (at < last && isSign(text.charCodeAt(at))) at++
    }
    return Math.max(end, this.#end)
  }
  /** Reads spaced letters as one word. */
  #readSpaced(start: number): number | undefined {
    const { words } = this.#lists
    const end = endOfSpaced(this.#words.text, start)
    if (end === undefined) return undefined
    let node: number | undefined = Trie.root
    for (let at = start; node !== undefined && at < end; at += 2) {
      node = Trie.next(words, node, this.#words.text.charCodeAt(at))
    }
    const kind = node === undefined ? undefined : words.values[node]
    if (kind !== undefined) this.found.push({ kind, start, end })
    return end
  }
}

/** Finds the longest literal that begins at an offset. */
const literalAt = <Kind extends string>(
  { literals }: Lists<Kind>,
  text: string,
  start: number
): Finding<Kind> | undefined => {
  let found: Finding<Kind> | undefined
  let node: number | undefined = Trie.root
  for (let at = start; at < text.length;) {
    const code = text.charCodeAt(at++)
    node = Trie.next(literals, node, isSpace(code) ? space : code)
    if (node === undefined) break
    if (isSpace(code)) { while (isSpace(text.charCodeAt(at))) at++ }
    const literal = literals.values[node]
    const isFound = literal !== undefined && !(literal.isBegin && isInWord(text.codePointAt(start - 1))) &&
      !(literal.isEnd && isInWord(text.codePointAt(at)))
    if (isFound) found = { kind: literal.kind, start, end: at }
  }
  return found
}

function* findLiterals<Kind extends string>(lists: Lists<Kind>, text: string): Work<Array<Finding<Kind>>> {
  const found: Array<Finding<Kind>> = []
  for (let at = 0, pause = piece; at < text.length; at++) {
    if (at > pause) {
      pause += piece
      yield
    }
    const code = text.charCodeAt(at)
    if (isAlphanumeric(code) && isInWord(text.codePointAt(at - 1))) continue
    if (Trie.next(lists.literals, Trie.root, code) === undefined) continue
    const literal = literalAt(lists, text, at)
    if (literal === undefined) continue
    found.push(literal)
    at = literal.end - 1
  }
  return found
}

/**
 * Makes a detector of the words of lists.
 *
 * A listed expression of several words is found with spaces, hyphens or apostrophes between them. An expression with an asterisk at its end is
 * found at the beginning of words, and one with other signs as it is written. Case, accents and lookalike letters of other alphabets are
 * ignored. With `isDisguised`, it also ignores digits and signs that stand for letters or between them, letters that are repeated three
 * times or more, spaced letters, and letters that an asterisk or a hash hides.
 */
export const wordDetector = <Kind extends string>(
  listed: ReadonlyArray<readonly [kind: Kind, words: Iterable<string>]>,
  isDisguised = false
): Detector<Kind> => {
  const lists = listsOf(listed, isDisguised)
  return function*(text) {
    const folding = foldLetters(text)
    const folded = isWork(folding) ? yield* folding : folding
    const search = new Search(lists, folded.text, isDisguised)
    let pause = piece
    for (let at: number | undefined = 0; at !== undefined; at = search.next(at)) {
      if (at <= pause) continue
      pause = at + piece
      yield
    }
    const literals = lists.literals.values.length > 1 ? yield* findLiterals(lists, folded.text) : []
    const found = literals.length === 0 ? search.found : withoutOverlaps([...search.found, ...literals])
    return found.map(folded.locate)
  }
}

/** Checks whether a text has more than so many words. */
export const hasMoreWords = (text: string, most: number): boolean => {
  const words = new Words(text, false)
  let count = 0
  for (let at = 0; count <= most && words.find(at); at = words.end) count++
  return count > most
}
