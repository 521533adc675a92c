/** What `docs/testing.md` says of its tests when a line of the program changes: which of them fail, by running them. */
import { assert, beforeAll, describe, it } from "@effect/vitest"
import { execFile } from "node:child_process"
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { basename, dirname, join } from "node:path"
import { root } from "../../scripts/examples.ts"
import { read } from "./tables.ts"

const page = "docs/testing.md"

/** Changes of the program, by name: what is replaced, and by what. */
const changes = {
  noApproval: [",\n    needsApproval: true", ""],
  instructions: ["You help customers of a lamp shop. Be brief.", "You help customers."]
} as const

/** The project's own configuration, for tests that aren't the project's own. */
const config = `import own from "../vitest.config.ts"
const typecheck = { enabled: false }
const test = { ...own.test, include: ["*/*.test.ts"], maxWorkers: 1, outputFile: "report.json", reporters: ["json"], typecheck }
export default { ...own, test }
`

interface Report {
  readonly testResults: ReadonlyArray<{
    readonly name: string
    readonly assertionResults: ReadonlyArray<{ readonly title: string; readonly status: string }>
  }>
}

/** Runs the tests of the page on a copy of the program for each change. */
const report = async (): Promise<Report> => {
  const directory = mkdtempSync(join(root, ".examples-"))
  try {
    for (const [change, [text, by]] of Object.entries(changes)) {
      cpSync(join(root, "examples/testing/src"), join(directory, change), { recursive: true })
      const program = join(directory, change, "desk.ts")
      const parts = readFileSync(program, "utf8").split(text)
      assert.lengthOf(parts, 2, `examples/testing/src/desk.ts has "${text}" once`)
      writeFileSync(program, parts.join(by))
    }
    writeFileSync(join(directory, "vitest.config.ts"), config)
    const vitest = join(root, "node_modules/vitest/vitest.mjs")
    // It exits with 1, because tests fail. Without a report nothing can be read below.
    await new Promise<void>((resolve) => {
      execFile(process.execPath, [vitest, "run"], { cwd: directory }, () => resolve())
    })
    return JSON.parse(readFileSync(join(directory, "report.json"), "utf8"))
  } finally {
    rmSync(directory, { recursive: true })
  }
}

describe(page, () => {
  let failed: (change: keyof typeof changes) => ReadonlyArray<string>

  beforeAll(async () => {
    const { testResults } = await report()
    failed = (change) => {
      const all = testResults.filter(({ name }) => basename(dirname(name)) === change)
        .flatMap(({ assertionResults }) => assertionResults)
      assert.isAbove(all.length, 8)
      return all.flatMap(({ status, title }) => status === "passed" ? [] : [title])
    }
  }, 120_000)

  it("says how many tests fail without an approval, and that the story of the denied refund doesn't", () => {
    const text = read(page)
    const [said = "", number] =
      /Without `needsApproval` (\w+) of them do\. The story of the denied refund doesn't/.exec(text) ?? []
    const where = `${page}:${text.slice(0, text.indexOf(said)).split("\n").length}`
    const titles = failed("noApproval")
    assert.strictEqual(number, ["no", "one", "two", "three", "four", "five", "six"][titles.length], where)
    assert.notInclude(titles, "a denied refund isn't run, and the model reads why", where)
  })

  it("says that with other instructions the recording fails", () => {
    assert.include(read(page), "With other instructions the recording fails.")
    assert.deepStrictEqual(failed("instructions"), ["the prompt still leads the model to a refund"])
  })
})
