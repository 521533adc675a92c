import { assert, describe, it } from "@effect/vitest"
import { existsSync, globSync, readFileSync } from "node:fs"
import { dirname, join, relative } from "node:path"
import { root } from "../../scripts/examples.ts"
import { prose } from "./mentions.ts"

const files = ["README.md", "CONTRIBUTING.md", "AGENTS.md", ...globSync("docs/**/*.md", { cwd: root }).sort()]

/** The anchors of a page's headings, as GitHub makes them: a heading that stands twice has a number the second time. */
const anchors = (text: string): ReadonlySet<string> => {
  const found = new Set<string>()
  for (const line of prose(text)) {
    const heading = /^#+ +(.*?)[ #]*$/.exec(line)?.[1]
    if (heading === undefined) continue
    const slug = heading.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1").toLowerCase()
      .replace(/[^\p{L}\p{N}\p{M}_\- ]/gu, "").replaceAll(" ", "-")
    let anchor = slug
    for (let n = 1; found.has(anchor); n++) anchor = `${slug}-${n}`
    found.add(anchor)
  }
  return found
}

interface Link {
  readonly line: number
  readonly target: string
}

/** The targets of a page's links and images that aren't elsewhere on the web, inline or by reference. */
const links = (text: string): ReadonlyArray<Link> =>
  prose(text).flatMap((content, i) =>
    Array.from(
      content.replace(/`[^`]*`/g, (code) => " ".repeat(code.length)).matchAll(
        /\]\(<?([^)\s>]+)|^\s*\[[^\]]+\]:\s*(\S+)/g
      ),
      (match) => ({ line: i + 1, target: match[1] ?? match[2] ?? "" })
    )
  ).filter(({ target }) => !/^[a-z][a-z+.-]*:/i.test(target))

/** Says what is wrong with a link of a file, if anything is. */
const problem = (file: string, { target }: Link): string | undefined => {
  const [path = "", anchor] = target.split("#")
  const to = path === "" ? file : relative(root, join(root, dirname(file), decodeURIComponent(path)))
  if (to.startsWith("..")) return `${target} leads out of the repository`
  if (!existsSync(join(root, to))) return `${target} doesn't exist`
  if (anchor === undefined) return undefined
  return to.endsWith(".md") && anchors(readFileSync(join(root, to), "utf8")).has(anchor)
    ? undefined
    : `${target}: ${to} has no heading #${anchor}`
}

/** Checks whether a file of the repository is in the package. */
const isPacked = (file: string): boolean => {
  const { files: packed }: { files: ReadonlyArray<string> } = JSON.parse(
    readFileSync(join(root, "package.json"), "utf8")
  )
  return [...packed, "README.md", "LICENSE", "package.json"].some((one) => file === one || file.startsWith(`${one}/`))
}

describe("links", () => {
  it.each(files)("of %s lead to something that exists", (file) => {
    assert.deepStrictEqual(
      links(readFileSync(join(root, file), "utf8")).flatMap((link) => {
        const found = problem(file, link)
        return found === undefined ? [] : [`${file}:${link.line} ${found}`]
      }),
      []
    )
  })

  it("of the package's pages lead to files of the package", () => {
    const pages = files.filter(isPacked)
    assert.includeMembers(pages, ["README.md", "AGENTS.md", "docs/start.md"])
    assert.deepStrictEqual(
      pages.flatMap((file) =>
        links(readFileSync(join(root, file), "utf8")).flatMap(({ line, target }) => {
          const [path = ""] = target.split("#")
          const to = path === "" ? file : relative(root, join(root, dirname(file), decodeURIComponent(path)))
          return isPacked(to) ? [] : [`${file}:${line} ${target} isn't in the package`]
        })
      ),
      []
    )
  })

  it("are also named as files of an installed package, because npm's website can't follow them", () => {
    const named = Array.from(
      readFileSync(join(root, "README.md"), "utf8").matchAll(/`node_modules\/troupe\/([^`]+)`/g),
      ([, path]) => path!
    )
    assert.include(named, "docs/start.md")
    for (const path of named) assert.isTrue(isPacked(path) && existsSync(join(root, path)), path)
  })

  it("are found inline and by reference, but not in code", () => {
    assert.deepStrictEqual(
      links([
        "[a](b.md#c) and ![d](e.png), `[f](g)`",
        "```md",
        "[h](i)",
        "```",
        "[j]: k.md",
        "[l](https://m.example) [n](#o)"
      ].join("\n")),
      [
        { line: 1, target: "b.md#c" },
        { line: 1, target: "e.png" },
        { line: 5, target: "k.md" },
        { line: 6, target: "#o" }
      ]
    )
  })

  it("lead to headings by the anchors that GitHub gives them", () => {
    assert.deepStrictEqual(
      Array.from(
        anchors("# A `run`, and the next one\n## What's new?\n```\n# no heading\n```\n## [What's](x) new\n### Ü-1")
      ),
      ["a-run-and-the-next-one", "whats-new", "whats-new-1", "ü-1"]
    )
  })

  it("that lead nowhere are told", () => {
    assert.strictEqual(problem("docs/state.md", { line: 1, target: "../README.md#install" }), undefined)
    assert.strictEqual(problem("docs/state.md", { line: 1, target: "#status" }), undefined)
    for (const target of ["missing.md", "../README.md#missing", "#missing", "../../elsewhere"]) {
      assert.isString(problem("docs/state.md", { line: 1, target }), target)
    }
  })
})
