/**
 * Instructions to a model in a text that should hold none.
 *
 * Linear: each word is looked up once, and advances each wording that it continues by one step.
 *
 * @since 0.1.0
 */
import { lazy } from "../../../domain/Lazy.ts"
import { atOnce, isWork, piece, type Work } from "../../perform/guard/Work.ts"
import { Class } from "./CodePoint.ts"
import { foldLetters } from "./Fold.ts"
import { forms, type InjectionCategory, severities, type Severity, unseen, wordings } from "./InjectionRules.ts"
import { endOfSpaced, isSign, Reader, Words } from "./Reader.ts"
import * as Trie from "./Trie.ts"

/** A step of a wording: how many other words may come before its own, and the finding, if it is the last step. */
interface Step {
  readonly gap: number
  readonly isFirst: boolean
  readonly found: readonly [InjectionCategory, Severity] | undefined
}

interface Vocabulary {
  readonly steps: ReadonlyArray<Step>
  /** Words, and at their nodes the steps that they match, the last step of a wording first. */
  readonly words: Trie.Trie<ReadonlyArray<number>>
  /** Beginnings of words, which match any word that begins so. */
  readonly beginnings: Array<ReadonlyArray<number> | undefined>
}

const folded = (text: string): string => {
  const folding = foldLetters(text)
  return (isWork(folding) ? atOnce(folding) : folding).text
}

const vocabulary = lazy((): Vocabulary => {
  const steps: Array<Step> = []
  const words = Trie.make<ReadonlyArray<number>>()
  const beginnings: Array<ReadonlyArray<number> | undefined> = []
  const learn = (wording: string, found: NonNullable<Step["found"]>): void => {
    const parts = wording.split(" ")
    for (let at = 0; at < parts.length; at += 2) {
      const step = steps.push({
        gap: at === 0 ? 0 : Number(parts[at - 1]),
        isFirst: at === 0,
        found: at === parts.length - 1 ? found : undefined
      }) - 1
      for (const word of folded(parts[at]!).split("/")) {
        const [at, text] = word.endsWith("*") ? [beginnings, word.slice(0, -1)] : [words.values, word]
        const node = Trie.add(words, text)
        at[node] = [step, ...at[node] ?? []]
      }
    }
  }
  for (const [category, severity, all] of wordings) for (const wording of all) learn(wording, [category, severity])
  return { steps, words, beginnings }
})

/** The findings: the highest severity of each category, as a place in `severities`. */
type Severities = Map<InjectionCategory, number>

const add = (found: Severities, category: InjectionCategory, severity: Severity): void => {
  found.set(category, Math.max(severities.indexOf(severity), found.get(category) ?? 0))
}

/** Follows the wordings through the words of a text. */
class Search {
  readonly #vocabulary: Vocabulary
  readonly #words: Words
  readonly #reader: Reader<ReadonlyArray<number>>
  readonly #found: Severities
  /** The number of the word that last matched each step of a wording, counted from 1. */
  readonly #reached: Int32Array
  #count = 0
  /** The steps that the current word matches. */
  readonly #steps: Array<number> = []
  constructor(vocabulary: Vocabulary, text: string, found: Severities) {
    this.#vocabulary = vocabulary
    this.#words = new Words(text, true)
    this.#found = found
    this.#reached = new Int32Array(vocabulary.steps.length)
    const { beginnings, words } = vocabulary
    this.#reader = new Reader(words, text, true, (node, isEnd) => {
      this.#add(beginnings[node])
      if (isEnd) this.#add(words.values[node])
      return false
    })
  }
  #add(steps: ReadonlyArray<number> | undefined): void {
    if (steps !== undefined) { for (const step of steps) this.#steps.push(step) }
  }
  /** Advances the wordings that the current word continues. */
  #take(): void {
    this.#count++
    if (this.#steps.length > 1) this.#steps.sort((a, b) => b - a)
    for (const step of this.#steps) {
      const { found, gap, isFirst } = this.#vocabulary.steps[step]!
      const before = isFirst ? this.#count : this.#reached[step - 1]!
      if (before === 0 || this.#count - before > gap + 1) continue
      this.#reached[step] = this.#count
      if (found !== undefined) add(this.#found, ...found)
    }
  }
  /** Reads a word. Returns whether it matches a step of a wording. */
  #read(start: number, end: number, isMeant: boolean, isBare = false): boolean {
    this.#steps.length = 0
    this.#reader.isMeant = isMeant
    this.#reader.isBare = isBare
    this.#reader.read(Trie.root, start, end)
    return this.#steps.length > 0
  }
  /** Reads the first word from an offset on. Returns where to continue, or `undefined` if no word is left. */
  next(from: number): number | undefined {
    if (!this.#words.find(from)) return undefined
    const { classes, end, isMeant, start, text } = this.#words
    const spaced = end - start === 1 && classes === Class.letter ? endOfSpaced(text, start) : undefined
    if (spaced !== undefined) {
      this.#readSpaced(start, spaced)
      this.#take()
      return spaced
    }
    const isSigned = (classes & (Class.sign | Class.innerSign)) !== 0
    if (this.#read(start, end, isMeant) || !isSigned || (isMeant && this.#read(start, end, isMeant, true))) {
      this.#take()
      return end
    }
    // Signs separate words unless they stand for letters.
    for (let at = start; at < end;) {
      while (at < end && isSign(text.charCodeAt(at))) at++
      const first = at
      while (at < end && !isSign(text.charCodeAt(at))) at++
      this.#read(first, at, isMeant)
      if (at > first) this.#take()
    }
    return end
  }
  /** Reads spaced letters as one word. */
  #readSpaced(start: number, end: number): void {
    const { beginnings, words } = this.#vocabulary
    this.#steps.length = 0
    let node: number | undefined = Trie.root
    for (let at = start; at < end; at += 2) {
      node = Trie.next(words, node, this.#words.text.charCodeAt(at))
      if (node === undefined) return
      this.#add(beginnings[node])
    }
    this.#add(words.values[node])
  }
}

/** No pattern of a form looks further than this to either side. */
const reach = 128

/** Checks whether a match of a pattern begins in a piece of a text. */
const occurs = (pattern: RegExp, text: string, from: number, to: number): boolean => {
  const first = Math.max(0, from - reach)
  const seen = text.slice(first, to + reach)
  pattern.lastIndex = from - first
  const at = pattern.test(seen) ? pattern.lastIndex : -1
  if (at < 0 || first + at <= to) return at >= 0
  pattern.lastIndex = from - first
  return first + pattern.exec(seen)!.index < to
}

/** Finds wordings of instructions to a model. Returns the highest severity of each category, as a place in `severities`. */
export function* findInjections(text: string): Work<ReadonlyMap<InjectionCategory, number>> {
  const folding = foldLetters(text)
  const folded = (isWork(folding) ? yield* folding : folding).text
  const found: Severities = new Map()
  const search = new Search(vocabulary(), folded, found)
  let pause = piece
  for (let at: number | undefined = 0; at !== undefined; at = search.next(at)) {
    if (at <= pause) continue
    pause = at + piece
    yield
  }
  for (let from = 0; from < Math.max(text.length, folded.length); from += piece) {
    if (from > 0) yield
    for (const [category, severity, pattern] of forms) {
      if (occurs(pattern, folded, from, from + piece)) add(found, category, severity)
    }
    for (const [severity, pattern] of unseen) {
      if (occurs(pattern, text, from, from + piece)) add(found, "hidden", severity)
    }
  }
  return found
}
