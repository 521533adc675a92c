/** A table whose rows begin with code mirrors the code, so a test names it. */
import { assert, describe, it } from "@effect/vitest"
import { globSync } from "node:fs"
import { root } from "../../scripts/examples.ts"
import { prose } from "./mentions.ts"
import { read } from "./tables.ts"

const tests = globSync("test/{docs,telemetry,backend}/*.ts", { cwd: root }).map(read)

/** Tables that select from what there is. Only `mentions.test.ts` checks their names. */
const selections = [
  "docs/approvals.md how you approve",
  "docs/groups.md error",
  "docs/handoff-errors.md error",
  "docs/handoff-errors.md reason",
  "docs/provider-features.md field",
  "docs/session-stores.md store",
  "docs/sessions.md how",
  "docs/sessions.md how to make one"
]

const cellsOf = (line: string): ReadonlyArray<string> => line.slice(1, -1).split(/(?<!\\)\|/).map((cell) => cell.trim())

/** The first headers of a page's tables in which most rows begin with code, with their places. */
const mirroring = (page: string) => {
  const lines = prose(read(page))
  return lines.flatMap((line, i) => {
    if (!line.startsWith("|") || !lines[i + 1]?.startsWith("|-")) return []
    const end = lines.findIndex((other, at) => at > i && !other.startsWith("|"))
    const firsts = lines.slice(i + 2, end).map((row) => cellsOf(row)[0]!)
    return firsts.filter((first) => first.startsWith("`")).length * 2 > firsts.length
      ? [{ header: cellsOf(line)[0]!, where: `${page}:${i + 1}` }]
      : []
  })
}

describe("tables of code", () => {
  // Tables of these pages begin with the words of other libraries.
  const pages = globSync("docs/*.md", { cwd: root }).filter((page) => !page.startsWith("docs/coming-from")).sort()

  it.each(pages)("of %s are held to it by a test", (page) => {
    for (const { header, where } of mirroring(page)) {
      if (selections.includes(`${page} ${header}`)) continue
      const isHeld = tests.some((test) => test.includes(page) && test.includes(`"${header}"`))
      assert.isTrue(isHeld, `${where}: no test names the table "${header}"`)
    }
  })

  it("are found", () => {
    assert.isAbove(pages.flatMap(mirroring).length, 60)
    for (const selection of selections) {
      const [page, ...words] = selection.split(" ")
      assert.include(mirroring(page!).map(({ header }) => header), words.join(" "), page)
    }
  })
})
