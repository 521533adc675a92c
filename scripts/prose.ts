/**
 * Finds what the documentation, and the comments and messages of `src`, mustn't say: words that `docs/ontology.md` bans, turns of phrase
 * that are read twice, tables whose columns have no names, and very long sentences.
 *
 * 1. Code doesn't count, neither blocks nor spans, and neither does the target of a link.
 * 2. `scripts/prose.json` allows what stands there already, by file and phrase. It only shrinks: who says something less often lowers its
 *    number by `node scripts/prose.ts shrink`.
 */
import { globSync, readFileSync, writeFileSync } from "node:fs"
import { join, resolve } from "node:path"

import * as SourceProse from "./sourceProse.ts"

const root = resolve(import.meta.dirname, "..")
const allowlist = join(root, "scripts/prose.json")

export interface Finding {
  readonly file: string
  readonly line: number
  readonly phrase: string
}

/** How often each file may still say each phrase. */
export type Allowed = Readonly<Record<string, Readonly<Record<string, number>>>>

/** Turns of phrase that aren't plain, by the name they have in a message. */
const phrases: ReadonlyArray<readonly [name: string, pattern: RegExp]> = [
  ["whoever", /\bwhoever\b/gi],
  ["what of it", /\bwhat of it\b/gi],
  ["what of a", /\bwhat of (?:an?|the)\b/gi],
  ["that is none", /\bthat is none\b/gi],
  ["gone on with", /\bgone on with\b/gi],
  ["dies of", /\bdies of\b/gi],
  ["can't be is thrown", /\bWhat can't be\b/g],
  ["somebody else's", /\bof somebody else\b/gi],
  ["Where for if", /(?:[.;:] |\| )Where (?!to\b)/g],
  ["told for emitted", /\b(?:is|are) told by\b/gi],
  // What stands in a place, as in "continues where it stopped", isn't seen.
  [
    "where for if",
    /\b(?:only|even|0|nothing|none|as) where\b|, where (?:an?|each|every|no|that|there|they|it has|one)\b|\bwhere (?:there (?:is|are|may)|no|none|that (?:can't|has|is|isn't)|one is|several)\b/g
  ],
  [
    "Gives for Returns",
    /(?:^|[.:;] )Gives (?:everything|how|what|who|the (?!final|guardrail))|, and gives (?:it,|them\b|the last)/g
  ],
  ["brings along", /\bbr(?:ing|ings|ought) along\b/gi],
  ["but for", /\bbut for (?:an?|its|that|the|those)\b/gi],
  ["that can't be", /\bthat can't be[,.;:)]/gi],
  ["is thrown for throws", /\b(?:is|are) thrown (?:as|if|where|by)\b/gi],
  ["hears of", /\b(?:hear|learn|tell)s? of\b/gi],
  ["namesake", /\bnamesakes?\b/gi],
  ["of them that", /\bof them that\b/gi]
]

/** The words of the third column of the ontology that stand for something else there, and aren't plain English besides. */
export const banned = (ontology: string): ReadonlyArray<string> => {
  const plain = new Set(
    (
      "action assistant block bot buffer cap chat client code complete config content context continue conversation " +
      "current debate decision dependency effect filter gateway history kind link log memory message messages outcome " +
      "path policy resolve restart retry round route scope session settings speaker stage step strategy task " +
      "thread trail variable"
    ).split(" ")
  )
  const words = ontology.split("\n").filter((line) => line.startsWith("| ") && !line.startsWith("| word |")).flatMap((
    line
  ) => (line.split("|")[3] ?? "").split(",").map((word) => word.trim()).filter((word) => word !== ""))
  return [...new Set(words)].filter((word) => !plain.has(word)).sort()
}

/** The lines of a page without code and the targets of links. */
const prose = (text: string): ReadonlyArray<string> => {
  let fence: string | undefined
  return text.split("\n").map((line) => {
    const ticks = /^\s*(`{3,})/.exec(line)?.[1]
    if (ticks === undefined) {
      return fence === undefined ? line.replace(/`[^`]*`/g, "`").replace(/\]\([^)]*\)/g, "]") : ""
    }
    if (fence === undefined) fence = ticks
    else if (ticks.length >= fence.length) fence = undefined
    return ""
  })
}

/**
 * A heading that nobody searches for: it asks a question, or a pronoun stands for its subject. In a table of contents it doesn't say what the
 * part is about.
 */
const riddle =
  /^#+ (?:(?:what|which|who|when|where|whether|why|how)\b|.*\b(?:it|this|those|each one|one that|of them)\b(?!:))/i

const isRule = (line: string | undefined): boolean =>
  line !== undefined && /^\|[\s:|-]+\|$/.test(line) && line.includes("-")

/** How many words a sentence may have. */
const longest = 45

/** Finds a column that has no name, in the line over the rule of a table. */
const nameless = (file: string, line: number, text: string, next: string | undefined): ReadonlyArray<Finding> =>
  text.startsWith("|") && isRule(next) && text.slice(1, -1).split("|").some((cell) => cell.trim() === "")
    ? [{ file, line, phrase: "column without a name" }]
    : []

const tooLong = (file: string, sentences: ReadonlyArray<SourceProse.Piece>): ReadonlyArray<Finding> =>
  sentences.filter(({ text }) => text.split(" ").length > longest).map(({ line }) => ({
    file,
    line,
    phrase: "long sentence"
  }))

/** Finds phrases and words in a line. */
const finder = (words: ReadonlyArray<string>) => {
  const patterns = [
    ...phrases,
    ...words.map((word) => [word, new RegExp(`(?<![\\w-])${word}s?(?![\\w-])`, "gi")] as const)
  ]
  return (file: string, line: number, text: string): ReadonlyArray<Finding> =>
    patterns.flatMap(([phrase, pattern]) => Array.from(text.matchAll(pattern), (): Finding => ({ file, line, phrase })))
}

/** What the comments and messages of a source say that they mustn't. */
export const lookAtSource = (file: string, source: string, words: ReadonlyArray<string>): ReadonlyArray<Finding> => {
  const find = finder(words)
  const pieces = SourceProse.pieces(file, source)
  return [
    ...pieces.flatMap((
      { line, text },
      i
    ) => [...find(file, line, text), ...nameless(file, line, text, pieces[i + 1]?.text)]),
    ...tooLong(file, SourceProse.sentences(file, source))
  ]
}

/** What a page says that it mustn't. */
export const look = (file: string, text: string, words: ReadonlyArray<string>): ReadonlyArray<Finding> => {
  const find = finder(words)
  const lines = prose(text)
  return lines.flatMap((line, i) => [
    ...find(file, i + 1, line),
    ...(riddle.test(line) ? [{ file, line: i + 1, phrase: "heading that is a riddle" }] : []),
    ...nameless(file, i + 1, line, lines[i + 1])
  ]).concat(tooLong(file, SourceProse.sentencesOf(lines.map((text, i) => ({ line: i + 1, text: text.trim() })))))
}

const count = (findings: ReadonlyArray<Finding>): Allowed => {
  const counts: Record<string, Record<string, number>> = {}
  for (const { file, phrase } of findings) {
    const of = counts[file] ??= {}
    of[phrase] = (of[phrase] ?? 0) + 1
  }
  return counts
}

/** Says what is more than is allowed, by line, and what is less. */
export const judge = (findings: ReadonlyArray<Finding>, allowed: Allowed): ReadonlyArray<string> => {
  const found = count(findings)
  const more = findings.filter(({ file, phrase }) => found[file]![phrase]! > (allowed[file]?.[phrase] ?? 0)).map(
    ({ file, line, phrase }) =>
      `${file}:${line} says "${phrase}", ${allowed[file]?.[phrase] ?? 0} of which are allowed there`
  )
  const less = Object.entries(allowed).flatMap(([file, phrases]) =>
    Object.entries(phrases).flatMap(([phrase, number]) => {
      const now = found[file]?.[phrase] ?? 0
      return now < number
        ? [`${file} says "${phrase}" ${now} times, and ${number} are allowed: node scripts/prose.ts shrink`]
        : []
    })
  )
  return [...more, ...less]
}

/** Lowers what is allowed to what is said, and never raises it. */
export const shrink = (findings: ReadonlyArray<Finding>, allowed: Allowed): Allowed => {
  const found = count(findings)
  return Object.fromEntries(
    Object.entries(allowed).map(([file, phrases]) =>
      [
        file,
        Object.fromEntries(
          Object.entries(phrases).map(([phrase, number]) =>
            [phrase, Math.min(number, found[file]?.[phrase] ?? 0)] as const
          )
            .filter(([, number]) => number > 0)
        )
      ] as const
    ).filter(([, phrases]) => Object.keys(phrases).length > 0)
  )
}

/** What the pages of the project say that they mustn't. */
export const findings = (): ReadonlyArray<Finding> => {
  const words = banned(readFileSync(join(root, "docs/ontology.md"), "utf8"))
  const read = (file: string): string => readFileSync(join(root, file), "utf8")
  const pages = [
    "README.md",
    "AGENTS.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    ...globSync("docs/*.md", { cwd: root }).sort()
  ]
  const sources = globSync("src/**/*.ts", { cwd: root }).sort()
  return [
    ...pages.filter((file) => file !== "docs/ontology.md").flatMap((file) =>
      // The pages that compare libraries have the words of the others.
      look(file, read(file), file.startsWith("docs/coming-from") ? [] : words)
    ),
    // The mock provider repeats the messages of providers.
    ...sources.filter((file) => !file.startsWith("src/testing/provider/")).flatMap((file) =>
      lookAtSource(file, read(file), words)
    )
  ]
}

if (import.meta.main) {
  const allowed: Allowed = JSON.parse(readFileSync(allowlist, "utf8"))
  if (process.argv[2] === "shrink") {
    writeFileSync(allowlist, `${JSON.stringify(shrink(findings(), allowed), null, 2)}\n`)
  } else {
    const problems = judge(findings(), allowed)
    for (const problem of problems) console.error(problem)
    console.log(problems.length === 0 ? "prose: ok" : `prose: ${problems.length} problems`)
    process.exitCode = problems.length === 0 ? 0 : 1
  }
}
