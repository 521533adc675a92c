/** Decision 23: the doc comment of each `resume` says what it does after a failure, because one word stands for all of them. */
import { assert, describe, it } from "@effect/vitest"
import { globSync } from "node:fs"
import { root } from "../../scripts/examples.ts"
import { read } from "./tables.ts"

/** The doc comment that stands right before a declaration, or nothing. */
const commentBefore = (source: string, at: number): string => {
  const before = source.slice(0, at).trimEnd()
  return before.endsWith("*/") ? before.slice(before.lastIndexOf("/**")) : ""
}

/** What users call `resume`: functions in a category, and members of what a public module makes. */
const operations = globSync("src/**/*.ts", { cwd: root }).sort().flatMap((file) => {
  const source = read(file)
  return [...source.matchAll(/^(export const|  readonly) resume\b/gm)].flatMap(({ 1: kind, index }) => {
    const comment = commentBefore(source, index)
    const isPublic = kind === "export const" ? comment.includes("@category") : /^src\/\w+\/[A-Z]\w+\.ts$/.test(file)
    return isPublic ? [{ file, comment }] : []
  })
})

describe("resume", () => {
  it("is public in these modules", () => {
    assert.deepStrictEqual(operations.map(({ file }) => file), [
      "src/agent/Session.ts",
      "src/agent/run/RunAgent.ts",
      "src/cluster/Client.ts",
      "src/handoff/dialogue/RunDialogue.ts",
      "src/handoff/plan/RunPlan.ts"
    ])
  })

  it.each(operations)("mentions a failure in $file", ({ comment }) => {
    assert.match(comment, /\bfail(ed|ure)\b/i)
  })
})
