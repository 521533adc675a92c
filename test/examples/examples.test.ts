import { assert, describe, it } from "@effect/vitest"
import { readdirSync, readFileSync } from "node:fs"
import { run } from "./process.ts"

/** The comment at the end of an example that says what it prints. */
const expected = (source: string): string | undefined => {
  const [, output] = source.split("\n// Output:\n")
  return output?.replace(/^\/\/ ?/gm, "")
}

const examples = readdirSync("examples").filter((name) => name.endsWith(".ts"))

describe.concurrent("examples", () => {
  it("are there", () => {
    assert.includeMembers(examples, ["weather.ts", "approval.ts", "subagent.ts", "streaming.ts", "guarded-desk.ts"])
  })

  for (const name of examples) {
    it(`${name} prints what it says`, async () => {
      const path = `examples/${name}`
      const { code, stderr, stdout } = await run(path)
      assert.strictEqual(stderr, "")
      assert.strictEqual(stdout, expected(readFileSync(path, "utf8")))
      assert.strictEqual(code, 0)
    })
  }
})
