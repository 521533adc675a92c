/**
 * Words of a folded text, read letter by letter, also in disguise.
 *
 * Linear: a word is read only as long as a listed word begins like it.
 *
 * @since 0.1.0
 */
import { Class, classOf } from "./CodePoint.ts"
import { next, root, type Trie } from "./Trie.ts"

/** The letters that digits and signs stand for. */
const meanings: Readonly<Record<string, string>> = {
  0: "o",
  1: "il",
  3: "e",
  4: "a",
  5: "s",
  7: "t",
  8: "b",
  9: "g",
  "@": "a",
  $: "s",
  "!": "i",
  "|": "il",
  "+": "t"
}

const nothing: ReadonlyArray<number> = []

/** The letters that ASCII characters stand for. */
const lettersFor: ReadonlyArray<ReadonlyArray<number>> = Array.from({ length: 128 }, (_, code) => {
  const letters = meanings[String.fromCharCode(code)]
  return letters === undefined ? nothing : Array.from(letters, (letter) => letter.charCodeAt(0))
})

/** The readings of ASCII characters: themselves, or the letters that they stand for. */
const readings = lettersFor.map((letters, code) => [code, ...letters])

/** Returns the letters that a digit or a sign stands for. */
export const meaningsOf = (code: number): ReadonlyArray<number> => lettersFor[code] ?? nothing

/** Replaces each digit and sign of a text by the first letter that it stands for. */
export const withLetters = (text: string): string => text.replace(/[0-9@$!|+]/g, (sign) => meanings[sign]?.[0] ?? sign)

const signs = Class.sign | Class.innerSign

/** Checks whether a code unit is a sign that may be part of a word. */
export const isSign = (code: number): boolean => (classOf(code) & signs) !== 0

/** Finds the words of a folded text in order: letters and digits in a row, and, if words may be disguised, signs between them. */
export class Words {
  readonly text: string
  readonly #isDisguised: boolean
  /** The place of the last word, and the classes of its characters. */
  start = 0
  end = 0
  classes = 0
  constructor(text: string, isDisguised: boolean) {
    this.text = text
    this.#isDisguised = isDisguised
  }
  /** Finds the first word from an offset on. Returns whether there is one. */
  find(from: number): boolean {
    const { text } = this
    let at = from
    let start = -1
    let classes = 0
    while (at < text.length) {
      const code = text.codePointAt(at)!
      const one = classOf(code)
      const isIn = (one & signs) === 0 ? one !== 0 : this.#isDisguised && (start >= 0 || one === Class.sign)
      if (!isIn && start >= 0) break
      if (isIn) {
        if (start < 0) start = at
        classes |= one
      }
      at += code > 0xffff ? 2 : 1
    }
    if (start < 0) return false
    while (classOf(text.charCodeAt(at - 1)) === Class.innerSign) at--
    this.start = start
    this.end = at
    this.classes = classes
    return true
  }
  /** Checks whether digits and signs of the word may stand for letters: it must have real letters too. */
  get isMeant(): boolean {
    return this.#isDisguised && this.classes > Class.letter && (this.classes & Class.letter) !== 0
  }
}

/** Called at a node. Returns whether that is what is searched for. */
type Visit = (node: number, isEnd: boolean) => boolean

/**
 * Reads words along a trie: as they are, and, if they may be disguised, with letters for digits and signs, and with letters that are
 * repeated three times or more as one or two.
 */
export class Reader<A> {
  readonly #trie: Trie<A>
  readonly #text: string
  readonly #isDisguised: boolean
  readonly #visit: Visit
  /** Whether digits and signs may stand for letters. */
  isMeant = false
  /** Whether signs are skipped. */
  isBare = false
  constructor(trie: Trie<A>, text: string, isDisguised: boolean, visit: Visit) {
    this.#trie = trie
    this.#text = text
    this.#isDisguised = isDisguised
    this.#visit = visit
  }
  /** Reads on from a node. Returns whether a visited node was what is searched for. */
  read(from: number, at: number, end: number): boolean {
    let node = from
    for (let place = at; place < end; place++) {
      if (node !== root && this.#visit(node, false)) return true
      const code = this.#text.charCodeAt(place)
      if (this.isBare && isSign(code)) continue
      if (this.#isDisguised && this.#mayBeOther(code, place, end)) return this.#branch(node, place, end, code)
      const to = next(this.#trie, node, code)
      if (to === undefined) return false
      node = to
    }
    return this.#visit(node, true)
  }
  #mayBeOther(code: number, at: number, end: number): boolean {
    return (this.isMeant && meaningsOf(code) !== nothing) ||
      (at + 2 < end && this.#text.charCodeAt(at + 1) === code && this.#text.charCodeAt(at + 2) === code)
  }
  #branch(node: number, at: number, end: number, code: number): boolean {
    let run = 1
    while (at + run < end && this.#text.charCodeAt(at + run) === code) run++
    const letters = this.isMeant ? readings[code] : undefined
    for (const letter of letters ?? [code]) {
      let to: number | undefined = node
      for (let count = 1; count <= run; count++) {
        to = next(this.#trie, to, letter)
        if (to === undefined) break
        if ((count === run || (run > 2 && count < 3)) && this.read(to, at + run, end)) return true
      }
    }
    return false
  }
}

/**
 * Returns where spaced letters end: at least three single letters with the same character between each two, as in `w o r d` or `w.o.r.d`.
 */
export const endOfSpaced = (text: string, start: number): number | undefined => {
  const isNext = (at: number): boolean =>
    classOf(text.charCodeAt(at + 1)) === Class.none && classOf(text.charCodeAt(at + 2)) === Class.letter &&
    classOf(text.charCodeAt(at + 3)) === Class.none
  let last = start
  while (text[last + 1] === text[start + 1] && isNext(last)) last += 2
  // The last letter may be the first of the next spaced letters with another character between them: `a b c d.a.r.n`.
  if (last > start && isNext(last) && text[last + 1] === text[last + 3]) last -= 2
  return last - start < 4 ? undefined : last + 1
}
