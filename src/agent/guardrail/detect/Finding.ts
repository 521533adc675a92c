/**
 * What a detector finds in a text, and how it is masked.
 *
 * 1. Findings are in order and don't overlap; `start` and `end` are offsets in UTF-16 code units, and no finding begins or ends
 *    within a surrogate pair.
 * 2. Masking keeps everything outside of findings as it is, and nothing is found in a masked text.
 *
 * @since 0.1.0
 */

import type { Ranges } from "./Boundary.ts"
import { foldCharacters } from "./Fold.ts"

/** A place in a text where something was found. */
export interface Finding<out Kind extends string = string> {
  readonly kind: Kind
  readonly start: number
  readonly end: number
}

/** Finds things in a text. */
export type Detector<Kind extends string = string> = (text: string) => ReadonlyArray<Finding<Kind>>

/** What stands in a masked text where something was found. No detector finds anything in it. */
const placeholder = ({ kind }: Finding): string => `[redacted ${kind}]`

/** Puts something in the place of each finding. */
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

/**
 * Masks what a detector finds until it finds nothing more: what a finding hid by standing next to it is found in the next round.
 */
export const mask = <Kind extends string>(
  text: string,
  detect: Detector<Kind>,
  replacement: (finding: Finding<Kind>) => string = placeholder
): string => {
  let masked = text
  let findings = detect(masked)
  while (findings.length > 0) {
    masked = replaceFindings(masked, findings, replacement)
    findings = detect(masked)
  }
  return masked
}

/** Says what was found: each kind once, with how often, and nothing of the text. */
export const describe = (findings: ReadonlyArray<Finding>): string => {
  const counts = new Map<string, number>()
  for (const { kind } of findings) counts.set(kind, (counts.get(kind) ?? 0) + 1)
  return [...counts].map(([kind, count]) => count === 1 ? kind : `${kind} (${count})`).join(", ")
}

/** Makes a detector of what finds places of one kind. */
export const ofKind = <Kind extends string>(kind: Kind, find: (text: string) => Ranges): Detector<Kind> => (text) =>
  Array.from(find(text), ([start, end]) => ({ kind, start, end }))

/** Makes a detector of several, each of which is shown the text without what those before it found. */
export const inOrder = <Kind extends string>(detectors: ReadonlyArray<Detector<Kind>>): Detector<Kind> => (text) => {
  const all: Array<ReadonlyArray<Finding<Kind>>> = []
  let left = text
  for (const detect of detectors) {
    const found = detect(left)
    if (found.length === 0) continue
    left = replaceFindings(left, found, ({ end, start }) => "\n".repeat(end - start))
    all.push(found)
  }
  return all.flat().sort((a, b) => a.start - b.start)
}

/** Makes a detector that sees a text with its characters folded. */
export const folding = <Kind extends string>(detect: Detector<Kind>): Detector<Kind> => (text) => {
  const folded = foldCharacters(text)
  return detect(folded.text).map(folded.locate)
}
