/**
 * The tags that mark a chain in a text. They nest, as brackets do.
 *
 * @since 0.1.0
 */

/** Opens what is marked. */
export const start = "<|instruction_start|>"

/** Closes what is marked. */
export const end = "<|instruction_end|>"

/** What tags mark in a text: a `content`, or none if a tag was opened and never closed. */
export interface Marked {
  readonly at: number
  readonly content: string | undefined
}

const tags = /<\|instruction_(?:start|end)\|>/g

/**
 * Finds what is marked last in a text, from the outermost tag on.
 *
 * An end without a start is text. So is a start that is never closed, if something is marked behind it.
 */
export const last = (text: string): Marked | undefined => {
  const opened: Array<number> = []
  let marked: Marked | undefined
  for (const match of text.matchAll(tags)) {
    if (match[0] === start) {
      opened.push(match.index)
    } else {
      const at = opened.pop()
      if (at !== undefined) marked = { at, content: text.slice(at + start.length, match.index) }
    }
  }
  const unclosed = opened.at(-1)
  return unclosed !== undefined && (marked === undefined || unclosed > marked.at)
    ? { at: unclosed, content: undefined }
    : marked
}

/** Returns a text without its tags and what they mark. A start that is never closed marks the rest of the text. */
export const unmarked = (text: string): string => {
  let [kept, depth, from] = ["", 0, 0]
  for (const match of text.matchAll(tags)) {
    if (match[0] === start) {
      if (depth++ === 0) kept += text.slice(from, match.index)
    } else if (depth > 0 && --depth === 0) from = match.index + end.length
  }
  if (from === 0 && depth === 0) return text
  return (depth === 0 ? kept + text.slice(from) : kept).trim()
}

const isBalanced = (text: string): boolean => {
  let depth = 0
  for (const [tag] of text.matchAll(tags)) {
    depth += tag === start ? 1 : -1
    if (depth < 0) return false
  }
  return depth === 0
}

const strings = /"(?:[^"\\]|\\.)*"/g

const escaped = (tag: string): string => `\\u003c${tag.slice(1)}`

/** Marks JSON text. Its strings may hold tags: those that would close it early are escaped, as JSON allows. */
export const mark = (json: string): string => {
  const safe = json.replace(strings, (text) => isBalanced(text) ? text : text.replace(tags, escaped))
  return `${start}\n${safe}\n${end}`
}
