import { assert, describe, it } from "@effect/vitest"
import { spawnSync } from "node:child_process"
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join, resolve } from "node:path"

const root = resolve(import.meta.dirname, "../..")

/** The rules that the project's linter reports for a tree of files, by file. */
const lint = (files: Readonly<Record<string, string>>): Readonly<Record<string, ReadonlyArray<string>>> => {
  const directory = mkdtempSync(join(tmpdir(), "troupe-lint-"))
  try {
    cpSync(join(root, ".oxlintrc.json"), join(directory, ".oxlintrc.json"))
    for (const [path, source] of Object.entries(files)) {
      mkdirSync(dirname(join(directory, path)), { recursive: true })
      writeFileSync(join(directory, path), source)
    }
    const bin = join(root, "node_modules/oxlint/bin/oxlint")
    const { stderr, stdout } = spawnSync(process.execPath, [bin, "--format", "json"], {
      cwd: directory,
      encoding: "utf8"
    })
    assert.isTrue(stdout.startsWith("{"), stdout + stderr)
    const report: { diagnostics: ReadonlyArray<{ code: string; filename: string }> } = JSON.parse(stdout)
    return Object.fromEntries(
      Object.keys(files).map((path) => [
        path,
        [...new Set(report.diagnostics.filter((found) => found.filename === path).map((found) => found.code))].sort()
      ])
    )
  } finally {
    rmSync(directory, { recursive: true })
  }
}

describe("the linter", () => {
  it("has nothing to say about a tree that keeps every rule", () => {
    const found = lint({
      "src/domain/Status.ts": `import * as Schema from "effect/Schema"\nexport const Status = Schema.String\n`,
      "src/agent/Agent.ts": [
        `import * as LanguageModel from "effect/ai/LanguageModel"`,
        `import type { Status } from "../domain/Status.ts"`,
        `export const model = LanguageModel.LanguageModel`,
        `export type AgentStatus = typeof Status`
      ].join("\n"),
      "test/agent/Agent.test.ts": `import { Effect } from "effect"\nconsole.log(process.env["CI"], Effect.void)\n`
    })
    assert.deepStrictEqual(Object.values(found).flat(), [])
  })

  it("catches a break of every rule", () => {
    const expected: Readonly<Record<string, readonly [source: string, rule: string]>> = {
      "barrel.ts": [`export { Effect } from "effect"`, "eslint(no-restricted-imports)"],
      "barrelOfTypes.ts": [`export type { Effect } from "effect"`, "eslint(no-restricted-imports)"],
      "barrelBelow.ts": [`export * as Ai from "effect/ai"`, "eslint(no-restricted-imports)"],
      "barrelOnDemand.ts": [`export const ai = () => import("effect/ai")`, "eslint(no-restricted-imports)"],
      "extensionJs.ts": [`export * from "./any.js"`, "eslint(no-restricted-imports)"],
      "extensionNone.ts": [`export type { any } from "./any"`, "eslint(no-restricted-imports)"],
      "any.ts": [`export const any: any = 1`, "typescript(no-explicit-any)"],
      "console.ts": [`console.log("hello")`, "eslint(no-console)"],
      "process.ts": [`export const home = process.env["HOME"]`, "eslint(no-restricted-globals)"],
      "typeImport.ts": [`import { A } from "./any.ts"\nexport type B = A`, "typescript(consistent-type-imports)"],
      "inlineImport.ts": [`export type E = import("effect").Brand.Brand<"">`, "typescript(consistent-type-imports)"],
      "circleA.ts": [`export type { A } from "./circleB.ts"`, "import(no-cycle)"],
      "circleB.ts": [`import type { A } from "./circleA.ts"\nexport type B = A`, "import(no-cycle)"]
    }
    const found = lint(
      Object.fromEntries(Object.entries(expected).map(([name, [source]]) => [`src/domain/${name}`, `${source}\n`]))
    )
    assert.deepStrictEqual(
      found,
      Object.fromEntries(Object.entries(expected).map(([name, [, rule]]) => [`src/domain/${name}`, [rule]]))
    )
  })
})
