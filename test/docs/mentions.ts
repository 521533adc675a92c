/** Reads the code in the sentences and tables of pages: what they mention of the code, outside of their programs. */
import { read } from "./tables.ts"

/** The lines of a Markdown file that aren't in a fenced block; those that are become empty. */
export const prose = (text: string): ReadonlyArray<string> => {
  let fence: string | undefined
  return text.split("\n").map((line) => {
    const ticks = /^\s*(`{3,})/.exec(line)?.[1]
    if (ticks === undefined) return fence === undefined ? line : ""
    if (fence === undefined) fence = ticks
    else if (ticks.length >= fence.length) fence = undefined
    return ""
  })
}

/** A piece of code in a sentence or in a cell, and where it stands: `docs/page.md:12`. */
export interface Mention {
  readonly code: string
  readonly page: string
  readonly where: string
}

/** What a page mentions. */
export const mentions = (page: string): ReadonlyArray<Mention> =>
  prose(read(page)).flatMap((line, i) =>
    Array.from(line.matchAll(/`([^`]+)`/g), ([, code]) => ({
      code: code!.replaceAll("\\|", "|"),
      page,
      where: `${page}:${i + 1}`
    }))
  )

/** The fenced blocks of a page. */
export const programs = (page: string): ReadonlyArray<string> => {
  const text = read(page)
  const without = prose(text)
  return text.split("\n").filter((line, i) => line !== "" && without[i] === "")
}
