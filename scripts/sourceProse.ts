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

const messages = (file: string, source: string): ReadonlyArray<Piece> => {
  const found: Array<Piece> = []
  const add = (start: number, text: string) => {
    if (text.includes(" ")) found.push({ line: lineAt(source, start), text })
  }
  new Visitor({
    Literal: ({ start, value }) => {
      if (typeof value === "string") add(start, value)
    },
    TemplateElement: ({ start, value }) => add(start, value.raw)
  }).visit(parseSync(file, source).program)
  return found
}

/** Returns what a source says, with the line of each piece. */
export const pieces = (file: string, source: string): ReadonlyArray<Piece> => [
  ...comments(file, source).flat().filter(({ text }) => text !== ""),
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
