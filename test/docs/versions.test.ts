/** Versions that pages name are those of `package.json`, of what it depends on, and of what `.ci/run` tries. */
import { assert, describe, it } from "@effect/vitest"
import { globSync } from "node:fs"
import { root } from "../../scripts/examples.ts"
import { codes, read, rows } from "./tables.ts"

interface Package {
  readonly version: string
  readonly engines: { readonly node: string }
  readonly devDependencies: Readonly<Record<string, string>>
  readonly peerDependencies: Readonly<Record<string, string>>
}

const packageOf = (folder: string): Package => JSON.parse(read(`${folder}package.json`))

const own = packageOf("")

/** Which package asks for the Node that a page asks for. */
const asking: Readonly<Record<string, string>> = {
  "README.md": "",
  "CONTRIBUTING.md": "",
  "docs/start.md": "node_modules/@effect/platform-node/",
  "docs/providers.md": "node_modules/@ai-sdk/openai/"
}

/** What a pattern captures in the pages, each with its place. */
const said = (pattern: RegExp, pages: ReadonlyArray<string>) =>
  pages.flatMap((page) =>
    read(page).split("\n").flatMap((line, i) =>
      Array.from(line.matchAll(pattern), ([, text]) => ({ page, text: text!, where: `${page}:${i + 1}` }))
    )
  )

const pages = ["README.md", "CONTRIBUTING.md", "AGENTS.md", ...globSync("docs/*.md", { cwd: root }).sort()]

/** A version as pages write it: `22.19.0` is 22.19. */
const short = (range: string): string => /[\d.]+\d/.exec(range)![0].replace(/(\.0)+$/, "")

describe("versions", () => {
  it("of Node are those that packages ask for", () => {
    // SQLite came to Node itself in 22.16.
    const found = said(/\bNode ([\d.]*\d) or later/g, pages).filter(({ page }) => page !== "docs/session-stores.md")
    assert.isAtLeast(found.length, 5)
    for (const { page, text, where } of found) {
      assert.property(asking, page, where)
      assert.strictEqual(text, short(packageOf(asking[page]!).engines.node), where)
    }
  })

  it("of Node in the README are those that the packed package is tried on", () => {
    const tried = /^const majors = \[(.*)\]$/m.exec(read("scripts/package.ts"))![1]!.split(", ")
    assert.include(read(".ci/run"), "npm run check:package")
    const [found] = said(/Troupe runs on Node ([\d, ]+ and \d+)\./g, ["README.md"])
    const { text, where } = found!
    assert.deepStrictEqual(text.split(/, | and /), tried, where)
    assert.strictEqual(tried[0], short(own.engines.node), where)
  })

  it("of Effect are those that Troupe works with", () => {
    const found = said(/Effect ([\d.]*\d) or later/g, pages)
    assert.isNotEmpty(found)
    for (const { text, where } of found) assert.strictEqual(text, short(own.peerDependencies["effect"]!), where)
  })

  it("of the AI SDK on the page for its users are the installed ones", () => {
    const row = rows("docs/coming-from.md", "library", "versions").find(([library]) => library === "AI SDK")!
    assert.strictEqual(row[1], `\`ai\` ${own.devDependencies["ai"]}`, row.where)
    assert.deepStrictEqual(codes(row[1]), ["ai"], row.where)
  })

  it("of Troupe's package are its own", () => {
    const found = said(/troupe-(\d+\.\d+\.\d+)\.tgz/g, pages)
    assert.isNotEmpty(found)
    for (const { text, where } of found) assert.strictEqual(text, own.version, where)
  })
})
