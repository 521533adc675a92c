/**
 * The prose of a source: its comments, without the programs in them, and its messages, which are the texts with a space in them.
 */
import { parseSync, Visitor } from "oxc-parser"

/** A line of prose, or a sentence by its first line. */
export interface Piece {
  readonly line: number
  readonly text: string
}

const lineAt = (source: string, offset: number): number => source.slice(0, offset).split("\n").length

/** Returns a comment line by line, without the marks of comments, tags and examples. */
const linesOf = (comment: string, line: number): ReadonlyArray<Piece> => {
  let isCode = false
  return comment.split("\n").map((each, index) => {
    const text = each.replace(/^\s*\*+ ?/, "").trim()
    const isFence = text.startsWith("```")
    if (isFence) isCode = !isCode
    const isSaid = !isFence && !isCode && !/^(?:@|#__)/.test(text)
    return { line: line + index, text: isSaid ? text.replace(/`[^`]*`/g, "`") : "" }
  })
}

const comments = (file: string, source: string): ReadonlyArray<ReadonlyArray<Piece>> =>
  parseSync(file, source).comments.map(({ start, value }) => linesOf(value, lineAt(source, start)))

/** Folders whose texts others say: detectors search for what attackers write, and the mock provider repeats the messages of providers. */
const quoting = ["src/agent/guardrail/detect/", "src/testing/provider/"]

/** Returns the lines of each message. What a template fills in stands as code does in a page. */
const messages = (file: string, source: string): ReadonlyArray<ReadonlyArray<Piece>> => {
  if (quoting.some((folder) => file.startsWith(folder))) return []
  const found: Array<ReadonlyArray<Piece>> = []
  const add = (lines: ReadonlyArray<Piece>) => {
    // A word in quotes is a value, such as the name of an option.
    if (lines.some(({ text }) => text.includes(" "))) {
      found.push(lines.map(({ line, text }) => ({ line, text: text.replace(/"[\w-]+"/g, `"`) })))
    }
  }
  new Visitor({
    Literal: ({ start, value }) => {
      if (typeof value === "string") add(value.split("\n").map((text) => ({ line: lineAt(source, start), text })))
    },
    TemplateLiteral: ({ quasis }) => {
      const lines: Array<{ line: number; text: string }> = []
      for (const [i, { start, value }] of quasis.entries()) {
        for (const [j, text] of value.raw.split("\n").entries()) {
          const last = lines[lines.length - 1]
          if (i > 0 && j === 0 && last !== undefined) last.text += `\`${text}`
          else lines.push({ line: lineAt(source, start) + j, text })
        }
      }
      add(lines)
    }
  }).visit(parseSync(file, source).program)
  return found
}

/** Returns what a source says: the lines of each comment, and each message. */
export const texts = (file: string, source: string): ReadonlyArray<ReadonlyArray<Piece>> => [
  ...comments(file, source),
  ...messages(file, source)
]

/** Returns the sentences of lines, each with its first line. Rows of tables and headings aren't sentences. */
export const sentencesOf = (lines: ReadonlyArray<Piece>): ReadonlyArray<Piece> => {
  const found: Array<{ line: number; text: string }> = []
  let isOpen = false
  for (const { line, text } of lines) {
    if (text === "" || /^(?:\||#+ )/.test(text)) {
      isOpen = false
      continue
    }
    if (/^(?:-|\d+\.) /.test(text)) isOpen = false
    for (const part of text.split(/(?<=[.:!?]) (?=[A-Z`"*[])/)) {
      const last = found[found.length - 1]
      if (isOpen && last !== undefined) last.text += ` ${part}`
      else found.push({ line, text: part })
      isOpen = !/[.:!?]$/.test(part)
    }
  }
  return found
}

/** Returns the sentences of a source's comments. */
export const sentences = (file: string, source: string): ReadonlyArray<Piece> =>
  comments(file, source).flatMap(sentencesOf)
