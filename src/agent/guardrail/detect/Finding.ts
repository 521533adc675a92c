/**
 * What a detector finds in a text, and how it is masked.
 *
 * 1. Findings are in order and don't overlap; `start` and `end` are offsets in UTF-16 code units, and no finding begins or ends
 *    within a surrogate pair.
 * 2. Nothing is found in a masked text. Masking keeps everything outside of findings as it is, except in texts that are made to hide many
 *    findings in a chain (`mask`).
 *
 * @since 0.1.0
 */

import { isWork, piece as size, type Work } from "../../perform/guard/Work.ts"
import { type Find, isSpace, type Piece } from "./Boundary.ts"
import { foldCharacters } from "./Fold.ts"

/** A place in a text where something was found. */
export interface Finding<out Kind extends string = string> {
  readonly kind: Kind
  readonly start: number
  readonly end: number
}

/** Sorts findings, and drops those that begin within another one. Of two that begin at one place, the longer is kept. */
export const withoutOverlaps = <Kind extends string>(findings: Array<Finding<Kind>>): ReadonlyArray<Finding<Kind>> => {
  let last = 0
  return findings.sort((a, b) => a.start - b.start || b.end - a.end).filter(({ end, start }) => {
    if (start < last) return false
    last = end
    return true
  })
}

/** Searches a text for findings. */
export type Detector<Kind extends string = string> = (text: string) => Work<ReadonlyArray<Finding<Kind>>>

/** The mask of a kind of finding. No detector finds anything in it. */
const placeholder = ({ kind }: Finding): string => `[redacted ${kind}]`

/** Replaces each finding. */
const replaceFindings = <Kind extends string>(
  text: string,
  findings: ReadonlyArray<Finding<Kind>>,
  replacement: (finding: Finding<Kind>) => string
): string => {
  let replaced = ""
  let at = 0
  for (const finding of findings) {
    replaced += text.slice(at, finding.start) + replacement(finding)
    at = finding.end
  }
  return replaced + text.slice(at)
}

/** After so many rounds findings are extended by the text next to them. */
const exact = 4

/** Extends findings by so many characters to both sides, and then to the next white space, and joins those that touch. */
const grown = <Kind extends string>(
  text: string,
  findings: ReadonlyArray<Finding<Kind>>,
  by: number
): ReadonlyArray<Finding<Kind>> => {
  const all: Array<Finding<Kind>> = []
  let last = 0
  for (const { end, kind, start } of findings) {
    if (end <= last) continue
    let from = Math.max(last, start - by)
    let to = end + by
    while (from > last && !isSpace(text.charCodeAt(from - 1))) from--
    while (to < text.length && !isSpace(text.charCodeAt(to))) to++
    last = Math.min(text.length, to)
    all.push({ kind, start: from, end: last })
  }
  return all
}

/**
 * Masks findings until a detector finds nothing more: a finding may have hidden another one next to it, which the next round finds. Against
 * texts that are made to hide many in a chain, findings are extended by twice as much in each further round, so that there are few rounds.
 */
export function* mask<Kind extends string>(
  text: string,
  found: ReadonlyArray<Finding<Kind>>,
  detect: Detector<Kind>,
  replacement: (finding: Finding<Kind>) => string = placeholder
): Work<string> {
  let masked = text
  let findings = found
  for (let round = 1; findings.length > 0; round++) {
    if (round > exact) findings = grown(masked, findings, 2 ** (round - exact))
    masked = replaceFindings(masked, findings, replacement)
    yield
    findings = yield* detect(masked)
  }
  return masked
}

/** Describes findings: each kind once, with its number, and nothing of the text. */
export const describe = (findings: ReadonlyArray<Finding>): string => {
  const counts = new Map<string, number>()
  for (const { kind } of findings) counts.set(kind, (counts.get(kind) ?? 0) + 1)
  return [...counts].map(([kind, count]) => count === 1 ? kind : `${kind} (${count})`).join(", ")
}

/** A search for kinds of findings: their places, and the kind of each. */
export interface Sought<Kind extends string> {
  readonly find: Find
  /** Returns the kind of what was found at a place, or `undefined` if it isn't a finding after all. */
  readonly kindOf: (text: string, start: number) => Kind | undefined
}

const nothing: ReadonlyArray<never> = []

/** Runs a search, piece by piece. */
function* findAll<Kind extends string>(
  text: string,
  { find, kindOf }: Sought<Kind>
): Work<ReadonlyArray<Finding<Kind>>> {
  const piece: Piece = { from: 0, to: Math.min(text.length, size), last: 0, found: [] }
  find(text, piece)
  while (piece.to < text.length) {
    yield
    piece.from = piece.to
    piece.to = Math.min(text.length, piece.to + size)
    find(text, piece)
  }
  if (piece.found.length === 0) return nothing
  return piece.found.flatMap(([start, end]) => {
    const kind = kindOf(text, start)
    return kind === undefined ? [] : [{ kind, start, end }]
  })
}

/** Makes a detector that runs searches in order, each on the text without earlier findings. */
export const inOrder = <Kind extends string>(all: ReadonlyArray<Sought<Kind>>): Detector<Kind> =>
  function*(text) {
    let found: ReadonlyArray<Finding<Kind>> = nothing
    let left = text
    for (const sought of all) {
      const more = yield* findAll(left, sought)
      if (more.length === 0) continue
      left = replaceFindings(left, more, ({ end, start }) => "\n".repeat(end - start))
      found = found.length === 0 ? more : [...found, ...more]
    }
    return found.length < 2 ? found : found.toSorted((a, b) => a.start - b.start)
  }

/** Makes a detector that reads a text with folded characters. */
export const folding = <Kind extends string>(detect: Detector<Kind>): Detector<Kind> =>
  function*(text) {
    const folding = foldCharacters(text)
    const folded = isWork(folding) ? yield* folding : folding
    const found = yield* detect(folded.text)
    return found.map(folded.locate)
  }
