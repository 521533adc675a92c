import { assert, describe, it } from "@effect/vitest"
import { linesRun } from "../../scripts/claims.ts"
import { path, write } from "../../scripts/examples.ts"
import { typeErrors } from "../../scripts/typeErrors.ts"

const { examples, problems } = write()

describe("documentation", () => {
  it("has examples that can be run", () => {
    assert.deepStrictEqual(problems.map(({ file, line, message }) => `${file}:${line} ${message}`), [])
  })

  it("has examples that type-check", { timeout: 120_000 }, () => {
    assert.deepStrictEqual(
      typeErrors("tsconfig.examples.json").map((error) => error.replace(/^\.examples\/(.+)\/\d+\.ts:/, "$1:")),
      []
    )
  })

  it.each(examples.map((example) => [`${example.file}:${example.line}`, example.title, example] as const))(
    "holds at %s: %s",
    { timeout: 20_000 },
    async (_where, _title, example) => {
      await import(/* @vite-ignore */ `../../${path(example)}`)
      const ran = linesRun(example.file)
      assert.deepStrictEqual(
        example.claims.filter((line) => !ran.has(line)).map((line) => `${example.file}:${line} was never reached`),
        []
      )
    }
  )
})
