/** The tests that the page of the cluster's promises names are there, by that name. */
import { assert, describe, it } from "@effect/vitest"
import { RegExp as Pattern } from "effect"
import { globSync } from "node:fs"
import { parseSync, Visitor } from "oxc-parser"
import { root } from "../../scripts/examples.ts"
import { read, rows } from "./tables.ts"

/** The names of tests and of groups of tests: the first argument of what `describe` and `it` are called with, with anything in its blanks. */
const namesIn = (file: string): ReadonlyArray<RegExp> => {
  const names: Array<RegExp> = []
  const name = (...texts: ReadonlyArray<string>) => names.push(new RegExp(`^${texts.map(Pattern.escape).join(".+")}$`))
  new Visitor({
    CallExpression: ({ arguments: [first] }) => {
      if (first?.type === "Literal" && typeof first.value === "string") name(first.value)
      if (first?.type !== "TemplateLiteral") return
      const texts = first.quasis.map(({ value }) => value.cooked ?? "")
      // A template of blanks alone would be every name.
      if (/\w{3}/.test(texts.join(" "))) name(...texts)
    }
  }).visit(parseSync(file, read(file)).program)
  return names
}

const named = globSync("test/cluster/**/*.ts", { cwd: root }).flatMap(namesIn)

const promises = rows("docs/cluster-promises.md", "promise", "test")

describe("docs/cluster-promises.md", () => {
  it.each(promises.map((row) => [row[0]!, row] as const))("names a test of: %s", (_, { 1: tests, where }) => {
    const quoted = Array.from(tests!.matchAll(/"([^"]+)"/g), ([, name]) => name!)
    assert.isNotEmpty(quoted, where)
    for (const name of quoted) assert.isTrue(named.some((test) => test.test(name)), `${where}: no test is "${name}"`)
  })

  it("has promises", () => {
    assert.isAbove(promises.length, 15)
  })
})
