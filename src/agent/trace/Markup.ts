/**
 * Markdown that shows content as text: none of it becomes markup.
 *
 * @since 0.1.0
 */
import * as Excerpt from "./Excerpt.ts"

const maxInline = 200

const longestTicks = (text: string): number =>
  (text.match(/`+/g) ?? []).reduce((longest, ticks) => Math.max(longest, ticks.length), 0)

/** A text as a code span, on one line even if it contains newlines. */
export const code = (text: string): string => {
  const line = Excerpt.ofText(text, maxInline, () => "…").replace(/\s+/g, " ")
  if (line === "" || line === " ") return "` `"
  const ticks = "`".repeat(longestTicks(line) + 1)
  const space = /^[ `]|[ `]$/.test(line) ? " " : ""
  return `${ticks}${space}${line}${space}${ticks}`
}

/** A paragraph of its own. */
export const paragraph = (line: string): string => `${line}\n\n`

/** A text in a fence that is longer than any fence in the text. */
export const fence = (language: string, content: string): string => {
  const ticks = "`".repeat(Math.max(3, longestTicks(content) + 1))
  return paragraph(`${ticks}${language}\n${content}\n${ticks}`)
}
