/** A page's first program shows what comes out of it, before a reader has to scroll. */
import { assert, describe, it } from "@effect/vitest"
import { globSync } from "node:fs"
import { root } from "../../scripts/examples.ts"
import { read } from "./tables.ts"

/** How many lines a reader sees at first. */
const screen = 36

/** Pages whose first screen has no program, and what it has instead. It only shrinks. */
const without: Readonly<Record<string, string>> = {
  "docs/backend-deployment.md": "commands that start the service",
  "docs/backend-operations.md": "commands that start the service",
  "docs/backend-page.md": "commands that start the service",
  "docs/backend-service.md": "commands that start the service",
  "docs/cluster-operations.md": "a command that starts a cluster",
  "docs/concepts.md": "diagrams",
  "docs/ontology.md": "words",
  "docs/start.md": "the commands and the first file of a project"
}

/** A claim about what an expression is, not one that only says of which kind it is, as `Layer.isLayer(layer)` does. */
const isResult = (line: string): boolean =>
  /\/\/ (?:=>|Prints\b)/.test(line) && !/\b(?:Effect|Layer|Stream)\.is\w+\(.*\/\/ => true$/.test(line)

/** Says what is wrong with the first screen of a page, if anything is. */
const problemOf = (page: string, text: string): string | undefined => {
  const lines = text.split("\n")
  const first = lines.findIndex((line) => line.startsWith("```") || line.startsWith("|"))
  const program = lines.findIndex((line) => line.startsWith("```ts"))
  if (program === -1 || program >= screen) {
    return page in without ? undefined : `${page}:1 has no program in its first ${screen} lines`
  }
  if (page in without) return `${page}:${program + 1} is a program: take the page off the list`
  const end = lines.indexOf("```", program)
  const result = lines.findIndex((line, i) =>
    i > program && (i < end ? isResult(line) : i <= end + 3 && /^```(?:console|json|mermaid|text)$/.test(line))
  )
  if (result === -1) return `${page}:${program + 1} is a program without a result: // => value`
  // A program below a table or commands begins so late that its end may be on the second screen.
  return program === first && result >= screen
    ? `${page}:${result + 1} is the first result, after the first screen of ${screen} lines`
    : undefined
}

const pages: ReadonlyArray<string> = ["README.md", ...globSync("docs/*.md", { cwd: root }).sort()]

describe("the first screen", () => {
  it.each(pages)("of %s shows a program's result", (page) => {
    const problem = problemOf(page, read(page))
    assert.isUndefined(problem, problem)
  })

  it("may be without a program on ever fewer pages, which exist", () => {
    assert.includeMembers([...pages], Object.keys(without))
    assert.isAtMost(Object.keys(without).length, 8)
  })

  it("is found without a result", () => {
    const page = (lines: number, ...program: ReadonlyArray<string>) =>
      problemOf("docs/a.md", [...Array.from({ length: lines }, () => ""), "```ts", ...program, "```"].join("\n"))
    assert.isUndefined(page(2, "run(1) // => 2"))
    assert.isUndefined(page(2, "run(1)", "// Prints 2"))
    assert.isUndefined(page(2, "run(1)", "```", "", "It prints:", "```text", "2"))
    assert.strictEqual(page(2, "run(1)"), "docs/a.md:3 is a program without a result: // => value")
    assert.strictEqual(page(2, "Layer.isLayer(a) // => true"), page(2, "run(1)"))
    assert.strictEqual(
      page(35, "run(1) // => 2"),
      "docs/a.md:37 is the first result, after the first screen of 36 lines"
    )
    assert.strictEqual(page(36, "run(1) // => 2"), "docs/a.md:1 has no program in its first 36 lines")
  })
})
