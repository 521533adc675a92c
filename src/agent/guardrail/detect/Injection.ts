/**
 * Instructions to a model in a text that should hold none.
 *
 * Linear: a wording begins at a word and spans a bounded number of them, and each word is looked up.
 *
 * @since 0.1.0
 */
import type { Finding } from "./Finding.ts"
import { foldLetters } from "./Fold.ts"
import { forms, type InjectionCategory, type Severity, unseen, wordings } from "./InjectionRules.ts"
import { joined, withLetters, type Word, wordsOf } from "./Words.ts"

/** An injection, and how sure that is. */
export interface Injection extends Finding<InjectionCategory> {
  readonly severity: Severity
}

/** The next words of a wording, and how many others may stand before them. */
interface Step {
  readonly gap: number
  readonly words: ReadonlySet<string>
  readonly beginnings: ReadonlyArray<string>
}

interface Wording {
  readonly category: InjectionCategory
  readonly severity: Severity
  readonly steps: ReadonlyArray<Step>
}

const stepOf = (alternatives: string, gap: number): Step => {
  const words = foldLetters(alternatives).text.split("/")
  return {
    gap,
    words: new Set(words.filter((word) => !word.endsWith("*"))),
    beginnings: words.filter((word) => word.endsWith("*")).map((word) => word.slice(0, -1))
  }
}

/** Wordings by their first words. */
const index = (): ReadonlyMap<string, ReadonlyArray<Wording>> => {
  const byFirst = new Map<string, Array<Wording>>()
  for (const [category, severity, pattern] of wordings) {
    const [first = "", ...rest] = pattern.split(" ")
    const steps: Array<Step> = []
    for (let i = 0; i < rest.length; i += 2) steps.push(stepOf(rest[i + 1]!, Number(rest[i])))
    for (const word of stepOf(first, 0).words) {
      const same = byFirst.get(word) ?? []
      same.push({ category, severity, steps })
      byFirst.set(word, same)
    }
  }
  return byFirst
}

let indexed: ReadonlyMap<string, ReadonlyArray<Wording>> | undefined

/** The words of a folded text as they are meant: without disguise. */
const meant = (text: string): ReadonlyArray<Word> => {
  const words = wordsOf(text, true)
  const found: Array<Word> = []
  for (let at = 0; at < words.length;) {
    const spelt = joined(text, words, at)
    const count = spelt?.count ?? 1
    const { end } = words[at + count - 1]!
    const { start, text: word } = words[at]!
    found.push({ text: spelt?.text ?? withLetters(word), start, end })
    at += count
  }
  return found
}

const fits = ({ beginnings, words }: Step, word: string): boolean =>
  words.has(word) || beginnings.some((beginning) => word.startsWith(beginning))

/** Where the rest of a wording ends that goes on behind a word. */
const endOf = (words: ReadonlyArray<Word>, at: number, steps: ReadonlyArray<Step>): number | undefined => {
  const [step, ...rest] = steps
  if (step === undefined) return words[at]!.end
  for (let next = at + 1; next <= at + 1 + step.gap && next < words.length; next++) {
    if (!fits(step, words[next]!.text)) continue
    const end = endOf(words, next, rest)
    if (end !== undefined) return end
  }
  return undefined
}

/** Finds what is worded like an instruction to a model. Findings may overlap. */
export const findInjections = (text: string): ReadonlyArray<Injection> => {
  const folded = foldLetters(text)
  const found: Array<Injection> = []
  const words = meant(folded.text)
  indexed ??= index()
  for (const [at, { start, text: word }] of words.entries()) {
    for (const { category, severity, steps } of indexed.get(word) ?? []) {
      const end = endOf(words, at, steps)
      if (end !== undefined) found.push(folded.locate({ kind: category, severity, start, end }))
    }
  }
  for (const [kind, severity, pattern] of forms) {
    for (const { 0: form, index: start } of folded.text.matchAll(pattern)) {
      found.push(folded.locate({ kind, severity, start, end: start + form.length }))
    }
  }
  for (const [severity, pattern] of unseen) {
    for (const { 0: run, index: start } of text.matchAll(pattern)) {
      found.push({ kind: "hidden", severity, start, end: start + run.length })
    }
  }
  return found
}
