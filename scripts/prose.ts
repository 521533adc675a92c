/**
 * Finds what the documentation, and the comments and messages of `src` and `bin`, mustn't say: words that `docs/ontology.md` bans, turns of phrase
 * that are read twice, headings that are riddles, tables whose columns have no names, and very long sentences.
 *
 * 1. Code doesn't count, neither blocks nor spans, and neither does the target of a link.
 * 2. `scripts/prose.json` allows what stands there already, by file and phrase. It only shrinks: who says something less often lowers its
 *    number by `node scripts/prose.ts shrink`.
 */
import { globSync, readFileSync, writeFileSync } from "node:fs"
import { join, resolve } from "node:path"

import { banned, bans, named, type Phrase, phrases } from "./prosePhrases.ts"
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
 * A heading that nobody searches for: it asks a question, a pronoun stands for its subject, or it is about a "thing". In a table of contents it
 * doesn't say what the part is about. The title of a decision begins with a number.
 */
const riddle =
  /^#+ (?:\d+\. )?(?:(?:what|which|who|when|where|whether|why|how)\b|.*\b(?:it|this|those|each one|one that|of them|things?)\b(?!:))/i

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

/** Finds turns of phrase and banned words in lines, also over their ends. */
const finder = (words: ReadonlyArray<Phrase>) => {
  const patterns = [...phrases, ...words]
  return (file: string, lines: ReadonlyArray<SourceProse.Piece>): ReadonlyArray<Finding> => {
    const text = lines.map(({ text }) => text.trim()).join("\n")
    const lineAt = (offset: number): number => lines[text.slice(0, offset).split("\n").length - 1]!.line
    return patterns.flatMap(([phrase, pattern]) =>
      Array.from(text.matchAll(pattern), ({ index }): Finding => ({ file, line: lineAt(index), phrase }))
    )
  }
}

const byLine = (findings: ReadonlyArray<Finding>): ReadonlyArray<Finding> =>
  findings.toSorted((a, b) => a.line - b.line)

/** What the comments and messages of a source say that they mustn't. */
export const lookAtSource = (file: string, source: string, words: ReadonlyArray<Phrase>): ReadonlyArray<Finding> => {
  const find = finder(words)
  const texts = SourceProse.texts(file, source)
  return byLine([
    ...texts.flatMap((lines) => find(file, lines)),
    ...texts.flatMap((lines) => lines.flatMap(({ line, text }, i) => nameless(file, line, text, lines[i + 1]?.text))),
    ...tooLong(file, SourceProse.sentences(file, source))
  ])
}

/** What a page says that it mustn't. */
export const look = (file: string, text: string, words: ReadonlyArray<Phrase>): ReadonlyArray<Finding> => {
  const lines = prose(text).map((text, i) => ({ line: i + 1, text }))
  return byLine([
    ...finder(words)(file, lines),
    ...lines.filter(({ text }) => riddle.test(text)).map(({ line }) => ({
      file,
      line,
      phrase: "heading that is a riddle"
    })),
    ...lines.flatMap(({ line, text }, i) => nameless(file, line, text, lines[i + 1]?.text)),
    ...tooLong(file, SourceProse.sentencesOf(lines.map(({ line, text }) => ({ line, text: text.trim() }))))
  ])
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

/** Words of other libraries, on the page that compares Troupe with them. */
const theirs = { "docs/coming-from.md": ["hook", "swarm", "thread", "workflow"] } as Readonly<
  Record<string, ReadonlyArray<string>>
>

/** The ontology names the words that it bans. */
const mayHave = (file: string, word: string): boolean =>
  file === "docs/ontology.md" || theirs[file]?.includes(word) === true

/** The pages that are read, decisions included. */
export const pages = (): ReadonlyArray<string> => [
  "README.md",
  "AGENTS.md",
  "CHANGELOG.md",
  "CONTRIBUTING.md",
  ...globSync("docs/**/*.md", { cwd: root }).sort()
]

/** The sources whose comments and messages are read. */
export const sources = (): ReadonlyArray<string> => globSync("{src,bin}/**/*.ts", { cwd: root }).sort()

/** What the pages and the sources of the project say that they mustn't. */
export const findings = (): ReadonlyArray<Finding> => {
  const read = (file: string): string => readFileSync(join(root, file), "utf8")
  const ontology = read("docs/ontology.md")
  const words = bans(banned(ontology), named(ontology))
  return [
    ...pages().flatMap((file) => look(file, read(file), words.filter(([word]) => !mayHave(file, word)))),
    ...sources().flatMap((file) => lookAtSource(file, read(file), words))
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
